"""From a name to a batched environment."""

from collections.abc import Callable, Sequence

import gymnasium

from drspcrl import named
from drspcrl.envs.batch import BatchEnv
from drspcrl.envs.simulation import Simulation
from drspcrl.errors import InputError
from drspcrl.perturbations.setting import Setting
from drspcrl.physics.streams import Seed


def task_names() -> tuple[str, ...]:
    """The tasks that run on the thread pool; any other is an environment in Gymnasium's way."""
    from drspcrl.envs.simulator import TASKS

    return tuple(TASKS)


def make(
    name: str | Callable[[], gymnasium.Env],
    num_envs: int = 1,
    seed: Seed = 0,
    threads: int = 0,
    perturbations: Setting | Sequence[Setting] = None,
    processes: bool = False,
) -> BatchEnv:
    """Make a batched environment.

    Args:
        name: `Hopper`, `HalfCheetah`, `Walker2d`, `Humanoid` (or `Hopper-v5`, …), a probe task
            (`probe/constant`, …), any other Gymnasium id with Box spaces, `module:Id` or
            `module:function` for one's own, or a function or class that makes an environment.
        num_envs: number of environments.
        seed: environment i draws from child i of this seed, whatever `num_envs` is.
        threads: threads to simulate on, 0 for all usable cores; results do not depend on it.
        perturbations: one setting for all environments, or a list with one for each; a setting is
            None, a `Perturbation`, or a tuple of them, the first being the innermost.
        processes: run an environment that is not simulated on threads in one process each.

    Raises:
        InputError: an unknown name, spaces that do not fit, numbers out of range.
    """
    if num_envs < 1 or threads < 0:
        raise InputError(
            f"num_envs is {num_envs}, threads {threads}; need num_envs ≥ 1, threads ≥ 0"
        )
    return BatchEnv(_simulation(name, num_envs, threads, processes), seed, perturbations)


def _simulation(
    name: str | Callable[[], gymnasium.Env], num_envs: int, threads: int, processes: bool
) -> Simulation:
    from drspcrl.envs.own import factory_of
    from drspcrl.envs.probe import PROBES
    from drspcrl.envs.simulator import TASKS, MujocoSimulation
    from drspcrl.envs.vector import VectorSimulation

    if not isinstance(name, str):
        own = named.name_of(name) or getattr(name, "__qualname__", type(name).__qualname__)
        return VectorSimulation(name, num_envs, processes, own)
    if name.removesuffix("-v5") in TASKS:
        return MujocoSimulation(TASKS[name.removesuffix("-v5")], num_envs, threads)
    if name in PROBES:
        return PROBES[name](num_envs)
    return VectorSimulation(factory_of(name), num_envs, processes, name)
