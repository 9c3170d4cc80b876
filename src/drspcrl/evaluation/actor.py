"""A policy as the evaluation sees it: observations in, checked actions out, in blocks of one shape.

A matrix product of 60 rows may differ from one of 64 in the last bit, and a trajectory soon in
every bit. So a policy is always called with BLOCK observations, of which some may be zeros; an
episode then does not depend on how many are played at once (see `rollout.Queue` for its place in
the block). A policy that is compiled for one shape is compiled once. One that samples its actions
has a random stream for every episode.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from inspect import signature
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Box

from drspcrl.errors import InputError
from drspcrl.physics.streams import Draws, as_sequence, child

# Relative to the width of the range: rounding of float32 when a policy rescales its actions.
_TOLERANCE = 1e-5


class ActionError(InputError):
    """Actions that no simulation should get.

    Args:
        message: What is wrong.
        row: The first row it is wrong in, of those that were asked for.
    """

    def __init__(self, message: str, row: int = 0):
        super().__init__(message)
        self.row = row


def checked(answer: Any, rows: np.ndarray, size: int, space: Box, clip: bool) -> np.ndarray:
    """The actions of some rows of a policy's answer, within their range.

    Values that leave the range by less than rounding are put back into it.

    Args:
        answer: What the policy returned for `size` observations.
        rows: The rows that count; the others are padding, or belong to another policy.
        size: How many observations it was given.
        space: The action space.
        clip: Whether to put every value back into its range, however far outside it is.

    Raises:
        ActionError: Actions of another shape, not numbers, not finite, or out of range.
    """
    try:
        actions = np.asarray(answer, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ActionError(f"the policy's actions are no array of numbers: {reason}") from None
    if actions.shape != (size, *space.shape):
        raise ActionError(
            f"the policy gave actions of shape {actions.shape} for {size} observations; it must "
            f"give {(size, *space.shape)}, one row for each"
        )
    chosen = actions[rows]
    _refuse(chosen, ~np.isfinite(chosen), "is not finite; look for it in the policy")
    if not clip:
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        slack = _TOLERANCE * (high - low)
        outside = (chosen < low - slack) | (chosen > high + slack)
        if outside.any():
            allowed = f"{_range(space)}; let the policy stay inside, or clip with clip=True"
            _refuse(chosen, outside, f"is out of range, {allowed}")
    return np.clip(chosen.astype(space.dtype), space.low, space.high)


def _refuse(actions: np.ndarray, wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        row, *component = (int(i) for i in np.argwhere(wrong)[0])
        value = actions[(row, *component)]
        where = ", ".join(map(str, component))
        raise ActionError(f"the policy's action component {where} is {value:g}, which {why}", row)


def _range(space: Box) -> str:
    lows, highs = np.unique(space.low), np.unique(space.high)
    if len(lows) == len(highs) == 1:
        return f"[{lows[0]:g}, {highs[0]:g}]"
    return f"[{space.low.tolist()}, {space.high.tolist()}]"


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


BLOCK = 64
"""Observations in one call of a policy."""


class Predictor(Protocol):
    """What Stable-Baselines3's models and everything in their manner offer."""

    def predict(self, observation: Any, *, deterministic: bool) -> tuple[Any, Any]:
        """Actions, and the state of a policy with memory."""
        ...


Policy = Callable[[np.ndarray], Any] | Predictor
"""A function of observations [n, …] that gives actions [n, …], or an object with `predict`."""


class Actor:
    """One policy.

    Args:
        policy: A function of observations, or an object with Stable-Baselines3's `predict`.
        deterministic: What the policy is asked for.

    Raises:
        InputError: Something that cannot be called, a torch module, or randomness asked of a
            function that has no way to be asked.
    """

    def __init__(self, policy: Policy, deterministic: bool = True):
        self.policy: Any = policy
        self._predicts = _predicts(policy)
        self._deterministic = deterministic
        self._memory: dict[int, Any] = {}
        if self._predicts:
            return
        if not callable(policy):
            raise InputError(
                f"the policy is {_kind(policy)}; give a function from observations to actions, or "
                "an object with predict(observations, deterministic=True)"
            )
        if _is_torch_module(policy):
            raise InputError(
                "the policy is a torch module, which takes tensors; give lambda o: "
                "module(torch.as_tensor(o, dtype=torch.float32)).numpy(force=True)"
            )
        if not deterministic and not _samples(policy):
            raise InputError(
                "deterministic=False is for policies that take it, in predict(observations, "
                "deterministic=…) or as policy(observations, deterministic=…, generator=…)"
            )

    def asked(self, block: int, observations: np.ndarray, began: np.ndarray) -> Any:
        """What the policy would answer, deterministically and without remembering it.

        Args:
            block: which simulations these are.
            observations: [BLOCK, …].
            began: which rows are at the first step of an episode, bool[BLOCK].
        """
        if not self._predicts:
            return self.policy(observations)
        kept = self._kept(block, began)
        return self.policy.predict(observations, deterministic=True, **kept)[0]

    def __call__(
        self, block: int, observations: np.ndarray, began: np.ndarray, noise: BlockNoise
    ) -> Any:
        """What the policy answers.

        Args:
            block: Which simulations these are; a policy with memory keeps one for each block.
            observations: [BLOCK, …].
            began: Which rows are at the first step of an episode, bool[BLOCK].
            noise: Where a policy that samples gets its noise from.

        Raises:
            InputError: it ended the program, which would pass for success.
        """
        try:
            return self._answer(block, observations, began, noise)
        except SystemExit as error:
            raise InputError(
                f"the policy ended the program with SystemExit({error.code!r}); let it return "
                "actions, or raise an error"
            ) from error

    def _answer(
        self, block: int, observations: np.ndarray, began: np.ndarray, noise: BlockNoise
    ) -> Any:
        if not self._predicts and self._deterministic:
            return self.policy(observations)
        if not self._predicts:
            return self.policy(observations, deterministic=False, generator=noise)
        kept = self._kept(block, began)
        actions, self._memory[block] = self.policy.predict(
            observations, deterministic=self._deterministic, **kept
        )
        return actions

    def _kept(self, block: int, began: np.ndarray) -> dict[str, Any]:
        memory = self._memory.get(block)
        return {} if memory is None else {"state": memory, "episode_start": began}


def _predicts(policy: Any) -> bool:
    """Whether it has Stable-Baselines3's `predict`; elsewhere the name means other things."""
    predict = getattr(policy, "predict", None)
    try:
        return callable(predict) and "deterministic" in signature(predict).parameters
    except (TypeError, ValueError):
        return False


def _samples(policy: Any) -> bool:
    try:
        return {"deterministic", "generator"} <= set(signature(policy).parameters)
    except (TypeError, ValueError):  # some callables made in C have no signature
        return False


def _is_torch_module(policy: Any) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type(policy).__mro__)


def _kind(policy: Any) -> str:
    return "None" if policy is None else f"of type {type(policy).__name__}"


def one_thread_each() -> Callable[[], AbstractContextManager[object]]:
    """A context in which NumPy's and torch's matrix products run in the calling thread.

    The products of one block are far too small to share, and threads that wait for each other
    slow the simulations down several times. It also makes them independent of the thread count.
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()  # looks for the libraries once; limiting is then quick
    return lambda: controller.limit(limits=1)
