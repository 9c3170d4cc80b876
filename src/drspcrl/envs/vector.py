"""Any other Gymnasium environment with Box spaces, through Gymnasium's own vector environments."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from drspcrl.envs.physics import physics_of
from drspcrl.envs.simulation import Simulation, Transition
from drspcrl.errors import InputError


class VectorSimulation(Simulation):
    """`num_envs` Gymnasium environments, in this process or in one process each.

    Gymnasium's automatic resets are off: `BatchEnv` resets an environment in the step its episode
    ends (as `AutoresetMode.SAME_STEP` does), after the episode's physics and seeds are set.

    Args:
        factory: makes one environment.
        num_envs: number of environments.
        processes: use one process for each.
    """

    can_restore = False

    def __init__(
        self, factory: Callable[[], gymnasium.Env], num_envs: int, processes: bool = False
    ):
        self.num_envs = num_envs
        self.observation_space, self.action_space = _checked_spaces(factory)
        manual = AutoresetMode.DISABLED
        self._vector: Any = (
            # A fork of a process with threads (JAX's, ours) may hang; a spawned one does not.
            AsyncVectorEnv([factory] * num_envs, context="spawn", autoreset_mode=manual)
            if processes
            else SyncVectorEnv([factory] * num_envs, autoreset_mode=manual)
        )
        self._seeds: list[int | None] = [None] * num_envs
        # Models in other processes are out of reach.
        self.physics = (
            None if processes else physics_of([env.unwrapped for env in self._vector.envs])
        )

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
        return observations[ids]

    def advance(self, actions: np.ndarray) -> Transition:
        """See `Simulation`."""
        given = actions.astype(self.action_space.dtype)
        observation, reward, terminated, truncated, _ = self._vector.step(given)
        return Transition(observation, reward, terminated, truncated, np.zeros(self.num_envs, bool))

    def state(self) -> dict[str, np.ndarray]:
        """Not possible: Gymnasium has no way to ask an environment for its state."""
        raise InputError("a general Gymnasium environment cannot save its state")

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Not possible, see `state`."""
        raise InputError("a general Gymnasium environment cannot restore its state")

    def close(self) -> None:
        """See `Simulation`."""
        self._vector.close()


def factory_of(name: str) -> Callable[[], gymnasium.Env]:
    """What makes the Gymnasium environment of this id."""
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            f"environment {name!r} is unknown ({reason}); give Hopper, HalfCheetah, Walker2d, "
            "Humanoid, a Gymnasium id, or a function that makes an environment"
        ) from None
    return lambda: gymnasium.make(name)


def _checked_spaces(factory: Callable[[], gymnasium.Env]) -> tuple[Box, Box]:
    try:
        env = factory()
    except gymnasium.error.Error as error:
        raise InputError(f"the environment could not be made: {error}") from None
    observation, action = env.observation_space, env.action_space
    env.close()
    remedies = {
        "observation": "flatten it with gymnasium.wrappers.FlattenObservation",
        "action": "only continuous actions are learned here",
    }
    for which, space in (("observation", observation), ("action", action)):
        if not isinstance(space, Box):
            raise InputError(f"the {which} space is {space}, not a Box; {remedies[which]}")
    assert isinstance(observation, Box)
    assert isinstance(action, Box)
    if not (np.all(np.isfinite(action.low)) and np.all(np.isfinite(action.high))):
        raise InputError(
            f"the action space {action} is unbounded; give it bounds, e.g. with "
            "gymnasium.wrappers.TransformAction(env, lambda a: a, Box(-1, 1, shape))"
        )
    return observation, action
