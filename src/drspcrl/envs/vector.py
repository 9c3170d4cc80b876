"""Any other Gymnasium environment with Box spaces, through Gymnasium's own vector environments."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from drspcrl.envs import snapshot
from drspcrl.envs.own import Factory, Guarded
from drspcrl.envs.simulation import Fault, Simulation, SimulationStep
from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import time_limit_of
from drspcrl.physics.parameters import physics_of

_LARGEST = float(np.finfo(np.float32).max)  # learners compute in single precision


class VectorSimulation(Simulation):
    """`num_envs` Gymnasium environments, in this process or in one process each.

    Gymnasium's automatic resets are off: `BatchEnv` resets an environment in the step its episode
    ends (as `AutoresetMode.SAME_STEP` does), after the episode's physics and seeds are set.

    Args:
        factory: makes one environment.
        num_envs: number of environments.
        processes: use one process for each.
        name: what to call the environment in errors.
    """

    def __init__(
        self, factory: Factory, num_envs: int, processes: bool = False, name: str = "of a function"
    ):
        self.num_envs = num_envs
        self.observation_space, self.action_space = _checked_spaces(factory, name)
        self._faults: dict[int, Fault] = {}
        manual = AutoresetMode.DISABLED
        makers = [partial(Guarded, factory, name, i) for i in range(num_envs)]
        self._vector: Any = (
            # A fork of a process with threads (JAX's, ours) may hang; a spawned one does not.
            AsyncVectorEnv(makers, context="spawn", autoreset_mode=manual)
            if processes
            else SyncVectorEnv(makers, autoreset_mode=manual)
        )
        self._seeds: list[int | None] = [None] * num_envs
        # What is in other processes is out of reach.
        self._envs: Sequence[Guarded] = () if processes else self._vector.envs
        self.physics = None if processes else physics_of([env.unwrapped for env in self._envs])
        self.time_limit = time_limit_of(self._envs[0]) if self._envs else None
        self.world_parameters = self._envs[0].declared_parameters() if self._envs else ()
        self.can_restore = bool(self._envs) and all(map(snapshot.can_be_saved, self._envs))

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """See `Simulation`; the seeds are used at the next start."""
        for i, sequence in zip(ids, sequences, strict=True):
            entropy = sequence.entropy
            plain = isinstance(entropy, int) and not sequence.spawn_key
            self._seeds[i] = entropy if plain else int(sequence.generate_state(1)[0])

    def start(self, ids: np.ndarray) -> np.ndarray:
        """See `Simulation`."""
        mask = np.isin(np.arange(self.num_envs), ids)
        seeds = [seed if now else None for seed, now in zip(self._seeds, mask, strict=True)]
        observations, _ = self._vector.reset(seed=seeds, options={"reset_mask": mask})
        for i in ids:
            self._seeds[i] = None
        if self.physics is not None:
            self.physics.verify()
        self._note(ids, observations[ids], None)
        return observations[ids]

    def advance(self, actions: np.ndarray) -> SimulationStep:
        """See `Simulation`."""
        given = actions.astype(self.action_space.dtype)
        observation, reward, terminated, truncated, _ = self._vector.step(given)
        self._note(np.arange(self.num_envs), observation, reward)
        return SimulationStep(
            observation, reward, terminated, truncated, np.zeros(self.num_envs, bool)
        )

    def _note(self, ids: np.ndarray, observations: np.ndarray, rewards: np.ndarray | None) -> None:
        """Note the first reading of each environment that is no number a learner could use."""
        readings = [] if rewards is None else [("reward", rewards)]
        for what, values in (*readings, ("observation", observations)):
            wrong = ~(np.abs(values) <= _LARGEST)
            if wrong.any():
                rows = np.flatnonzero(wrong.reshape(len(ids), -1).any(axis=1))
                for row in rows:
                    place = tuple(np.argwhere(wrong[row])[0].tolist())
                    where = f"[{', '.join(map(str, place))}]" if place else ""
                    reading = f"{what}{where} = {values[(row, *place)]:g}"
                    self._faults.setdefault(int(ids[row]), Fault(reading, rewards is None))

    def take_faults(self) -> dict[int, Fault]:
        """See `Simulation`."""
        taken, self._faults = self._faults, {}
        return taken

    def set_world(self, i: int, values: Mapping[str, float]) -> None:
        """See `Simulation`."""
        self._envs[i].get_wrapper_attr("set_world")(values)

    def state(self) -> dict[str, np.ndarray]:
        """See `Simulation`.

        Raises:
            InputError: an environment has no `get_state` and `set_state`, or wrong ones.
        """
        self._check_restorable()
        saved = []
        for env in self._envs:
            with env.blamed("failed in get_state()"):
                saved.append(snapshot.save(env))
        sizes = np.array([len(content) for content in saved])
        own = np.zeros((self.num_envs, sizes.max()), np.uint8)
        for row, content in zip(own, saved, strict=True):
            row[: len(content)] = np.frombuffer(content, np.uint8)
        physics = self.physics.state() if self.physics else {}
        return {"own": own, "own_size": sizes} | {f"physics/{k}": v for k, v in physics.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Simulation`."""
        self._check_restorable()
        for env, row, size in zip(self._envs, state["own"], state["own_size"], strict=True):
            with env.blamed("failed in set_state()"):
                snapshot.put_back(env, row[:size].tobytes())
        if self.physics:
            layers = {k: v for k, v in state.items() if k.startswith("physics/")}
            self.physics.restore({k.removeprefix("physics/"): v for k, v in layers.items()})

    def _check_restorable(self) -> None:
        if not self.can_restore:
            raise InputError(
                "this Gymnasium environment cannot save its state; give it get_state() and "
                "set_state(state), and wrappers that carry something over as well"
            )

    def close(self) -> None:
        """See `Simulation`."""
        self._vector.close()


def _checked_spaces(factory: Factory, name: str) -> tuple[Box, Box]:
    env = Guarded(factory, name)
    observation, action = env.observation_space, env.action_space
    env.close()
    remedies = {
        "observation": "flatten it with gymnasium.wrappers.FlattenObservation",
        "action": "only continuous actions are learned here",
    }
    for which, space in (("observation", observation), ("action", action)):
        if not isinstance(space, Box):
            raise InputError(f"the {which} space is {space}, not a Box; {remedies[which]}")
        if 0 in space.shape:
            raise InputError(
                f"the {which} space {space} is empty; there must be at least one {which}, so give "
                "it a shape such as (1,)"
            )
    assert isinstance(observation, Box)
    assert isinstance(action, Box)
    if not (np.all(np.isfinite(action.low)) and np.all(np.isfinite(action.high))):
        raise InputError(
            f"the action space {action} is unbounded; give it bounds, e.g. with "
            "gymnasium.wrappers.TransformAction(env, lambda a: a, Box(-1, 1, shape))"
        )
    return observation, action
