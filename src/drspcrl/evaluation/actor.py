"""A policy as the evaluation sees it: observations in, actions out, always in blocks of one shape.

A matrix product of 60 rows may differ from one of 64 in the last bit, and a trajectory soon in
every bit. So a policy is always called with BLOCK observations, of which some may be zeros; an
episode then does not depend on how many are played at once (see `queue` for its place in the
block). A policy that is compiled for one shape is compiled once.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, Protocol

import numpy as np

from drspcrl.errors import InputError
from drspcrl.evaluation.noise import BlockNoise

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
        self._policy: Any = policy
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

    def __call__(
        self, block: int, observations: np.ndarray, began: np.ndarray, noise: BlockNoise
    ) -> Any:
        """What the policy answers.

        Args:
            block: Which simulations these are; a policy with memory keeps one for each block.
            observations: [BLOCK, …].
            began: Which rows are at the first step of an episode, bool[BLOCK].
            noise: Where a policy that samples gets its noise from.
        """
        if not self._predicts and self._deterministic:
            return self._policy(observations)
        if not self._predicts:
            return self._policy(observations, deterministic=False, generator=noise)
        memory = self._memory.get(block)
        kept = {} if memory is None else {"state": memory, "episode_start": began}
        actions, self._memory[block] = self._policy.predict(
            observations, deterministic=self._deterministic, **kept
        )
        return actions


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
