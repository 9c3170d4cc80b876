"""What one kind of perturbation does, for all environments that have it at once.

The same kernel serves a Gymnasium wrapper (one row) and a batched environment (one row per
environment), so the two are equal by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.physics.streams import Draws, child

if TYPE_CHECKING:
    from drspcrl.physics.parameters import Physics


class NotInTaskError(InputError):
    """A perturbation of something that the task has not.

    Attributes:
        why: what it has not, in a few words.
    """

    def __init__(self, message: str, why: str):
        super().__init__(message)
        self.why = why


@dataclass(frozen=True)
class Context:
    """What a kernel may know about the environments it acts in.

    Attributes:
        num_envs: how many there are.
        observation_space: space of one observation.
        action_space: space of one action.
        physics: handle on the physics parameters, None where the task has none.
        time_limit: steps after which an episode is over at the latest, None if unknown.
    """

    num_envs: int
    observation_space: Box
    action_space: Box
    physics: Physics | None
    time_limit: int | None = None


class Kernel:
    """One kind of perturbation with one choice of settings; levels differ by environment.

    Attributes:
        stream: which child of an environment's seed the kernel draws from.
        hooks: the moments it acts at, of `begin`, `action`, `force`, `observation`.
        nominal: the level that changes nothing.
        leaves_observation_space: whether observations may leave their bounds.
    """

    stream: ClassVar[int]
    hooks: ClassVar[frozenset[str]]
    nominal: ClassVar[float] = 0.0
    leaves_observation_space: ClassVar[bool] = False

    def __init__(self, context: Context, layer: str):
        self.context = context
        self.layer = layer
        self.levels = np.full(context.num_envs, self.nominal)
        self.draws: Draws | None = None

    @classmethod
    def check_level(cls, level: float) -> None:
        """Raise an `InputError` if the level is not one of this kind's."""
        raise NotImplementedError

    def check_task(self, level: float) -> None:
        """Raise an `InputError` if the level is not one for this task."""
        return

    def seed(
        self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence], occurrence: int
    ) -> None:
        """Start the streams of some environments again.

        Args:
            ids: environments.
            sequences: their seeds.
            occurrence: how many perturbations of the same kind are nested inside this one.
        """
        if self.draws is not None:
            self.draws.seed(
                ids, [child(sequence, self.stream, occurrence) for sequence in sequences]
            )

    def take(self, ids: np.ndarray) -> np.ndarray:
        """The next random vector of each of the environments `ids`."""
        assert self.draws is not None
        return self.draws.take(ids)

    def column(self, ids: np.ndarray, like: np.ndarray) -> np.ndarray:
        """The levels of `ids`, shaped to broadcast against rows of `like`."""
        return self.levels[ids].reshape(-1, *[1] * (like.ndim - 1))

    def begin(self, ids: np.ndarray) -> None:
        """An episode begins in the environments `ids`; their physics is about to be reset."""
        return

    def action(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """What the environments `ids` receive instead of `actions`."""
        return actions

    def force(self, ids: np.ndarray) -> None:
        """Push bodies during the coming step."""
        return

    def observation(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """What the agent receives instead of `observations`."""
        return observations

    def retire(self, ids: np.ndarray) -> None:
        """The environments `ids` no longer have this perturbation."""
        return

    def memory(self) -> dict[str, np.ndarray]:
        """The arrays that carry over from step to step, to be saved and written back in place."""
        return {}


def time_limit_of(env: gymnasium.Env) -> int | None:
    """Steps after which a `TimeLimit` around an environment ends an episode, None without one."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            return int(env._max_episode_steps)
        env = env.env
    return None


def check_range(what: str, level: float, low: float, high: float, *, closed: bool = True) -> None:
    """Raise an `InputError` unless `low ≤ level ≤ high` (or `< high`)."""
    number = isinstance(level, int | float | np.integer | np.floating)
    if not number or not (low <= level and (level <= high if closed else level < high)):
        bound = "unbounded" if np.isinf(high) else f"{high:g}{'' if closed else ' (excluded)'}"
        raise InputError(f"{what} level is {shown(level)}; it must lie between {low:g} and {bound}")


def needs_float(space: Box, what: str) -> None:
    """Raise an `InputError` unless observations are floating-point numbers."""
    if not np.issubdtype(space.dtype, np.floating):
        raise InputError(
            f"{what} needs floating-point observations, this environment has {space.dtype}; "
            "convert them in a wrapper inside of it"
        )


def needs_bounds(space: Box, what: str) -> None:
    """Raise an `InputError` unless the action space is bounded."""
    if not (np.all(np.isfinite(space.low)) and np.all(np.isfinite(space.high))):
        raise InputError(
            f"{what} needs a bounded action space, this environment has {space}; "
            "give it bounds with gymnasium.wrappers.RescaleAction or ClipAction inside of it"
        )


def needs_physics(physics: Physics | None, what: str) -> Physics:
    """The physics handle, or a `NotInTaskError` where the task has none."""
    if physics is None:
        raise NotInTaskError(
            f"{what} needs a MuJoCo model (env.unwrapped.model and .data) in this process; "
            "there is none, choose action or observation perturbations",
            "the task has no MuJoCo model",
        )
    return physics
