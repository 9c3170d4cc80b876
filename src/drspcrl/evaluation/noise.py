"""Randomness for policies that sample their actions: a stream of its own for every episode."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from drspcrl.errors import InputError
from drspcrl.physics.streams import Draws, as_sequence, child

# The perturbations of an episode draw from the children 0, 1, … of its seed.
_STREAM = 1_000_000


class EpisodeNoise:
    """Normal numbers for all simulations, each from the seed of the episode it is in.

    Args:
        simulations: How many.
        action_shape: Shape of one action.
    """

    def __init__(self, simulations: int, action_shape: tuple[int, ...]):
        self._shape = action_shape
        self._draws = Draws(simulations, int(np.prod(action_shape)), normal=True)

    def begin(self, simulations: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin."""
        self._draws.seed(simulations, [child(as_sequence(seed), _STREAM) for seed in seeds])

    def of(self, simulations: np.ndarray, slots: np.ndarray) -> "BlockNoise":
        """The next noise of some simulations, in the place of a generator, for one call.

        Args:
            simulations: Whose action is asked for.
            slots: The rows they have in the block that the policy is called with.
        """
        return BlockNoise(self._draws, simulations, slots, self._shape)


class BlockNoise:
    """Answers `standard_normal` as a `numpy.random.Generator` would, once."""

    def __init__(
        self, draws: Draws, simulations: np.ndarray, slots: np.ndarray, shape: tuple[int, ...]
    ):
        self._draws, self._simulations, self._slots, self._shape = draws, simulations, slots, shape

    def standard_normal(self, size: Any, dtype: Any = np.float64) -> np.ndarray:
        """Normal numbers [block, …] for one action each; rows not asked for get 0."""
        if tuple(size)[1:] != self._shape:
            raise InputError(
                f"the policy draws noise of shape {tuple(size)}; one number for each action "
                f"component is there, (n, {', '.join(map(str, self._shape))})"
            )
        noise = np.zeros(size, dtype)
        noise[self._slots] = self._draws.take(self._simulations).reshape(-1, *self._shape)
        return noise
