"""What a batched environment needs from a simulator: many episodes, without any bookkeeping."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box

from drspcrl.errors import InputError

if TYPE_CHECKING:
    from drspcrl.physics.parameters import Physics


class Fault(NamedTuple):
    """What a user's environment gave that is no finite number.

    Attributes:
        reading: which number, e.g. `observation[2] = nan`.
        starting: whether it came from `reset`, not from `step`.
    """

    reading: str
    starting: bool


class SimulationStep(NamedTuple):
    """The outcome of one step of all simulations, before any reset."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    diverged: np.ndarray


class Simulation(ABC):
    """Many simulations of one task.

    Arrays that methods return are the caller's own, to keep and to change.

    Attributes:
        num_envs: number of simulations.
        observation_space: space of one observation.
        action_space: space of one action.
        can_restore: whether `state` and `restore` work.
        physics: handle on the physics parameters, None where the task has none.
        time_limit: steps after which an episode is over at the latest, None if unknown.
        world_parameters: what a user's environment declares of its worlds.
    """

    num_envs: int
    observation_space: Box
    action_space: Box
    can_restore: bool = True
    physics: "Physics | None" = None
    time_limit: int | None = None
    world_parameters: Sequence[Any] = ()

    @abstractmethod
    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """Start the random streams of some simulations again."""

    @abstractmethod
    def start(self, ids: np.ndarray) -> np.ndarray:
        """Begin an episode in some simulations; returns their first observations."""

    @abstractmethod
    def advance(self, actions: np.ndarray) -> SimulationStep:
        """Take one step in every simulation."""

    def set_world(self, i: int, values: Mapping[str, float]) -> None:
        """Give one simulation other values of its own world parameters, for its coming episodes.

        Raises:
            InputError: the task takes none.
        """
        raise InputError(
            f"this task takes no world parameters of its own ({', '.join(values)}); give the "
            "environment a method set_world(values)"
        )

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides the future, as plain arrays."""

    @abstractmethod
    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a `state()`, bit for bit."""

    def take_faults(self) -> dict[int, Fault]:
        """Readings of a user's simulations that were no finite numbers, since they were last taken.

        Returns:
            The first of each such simulation, by its number. A simulator of this package says
            `diverged` instead, and has none.
        """
        return {}

    def close(self) -> None:
        """Release what the simulator holds."""
        return
