"""What random actions get in a task: the zero of scores, where nothing that ships tells it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import gymnasium
import numpy as np
from scipy.special import ndtr

from drspcrl.data import random_returns
from drspcrl.display import brief
from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy
from drspcrl.evaluation.evaluator import evaluate
from drspcrl.evaluation.suite import Suite
from drspcrl.evaluation.table import EvaluationTable

_FEWEST, _MOST = 20, 100  # episodes


def with_random_return(
    table: EvaluationTable, env: str | Callable[[], gymnasium.Env], threads: int = 0
) -> EvaluationTable:
    """The table, with the return of random actions noted where the task is not the paper's."""
    found = random_return(env, int(table.info["episodes"]), threads)
    return table if found is None else replace(table, info={**table.info, "random_return": found})


def random_return(
    env: str | Callable[[], gymnasium.Env], episodes: int, threads: int = 0
) -> dict[str, Any] | None:
    """Play uniformly random actions in the unperturbed task.

    Args:
        env: The task.
        episodes: As many as each setting has; at least 20 and at most 100 are played.
        threads: Threads to simulate on.

    Returns:
        `mean`, `episodes` and `seed`; `undefined` with the reason where they cannot be played;
        None for a task whose random return ships with the package.
    """
    if isinstance(env, str) and env.removesuffix("-v5") in random_returns():
        return None
    count = min(max(episodes, _FEWEST), _MOST)
    try:
        table = evaluate(
            cast(Policy, _Uniform(env)), env, Suite("random", [None]), count, 0,
            deterministic=False, threads=threads, show=None,
        )  # fmt: skip
    except Exception as error:  # an own simulator may fail where random actions lead it
        return {"undefined": brief(f"{type(error).__name__}: {error}")}
    played = table.returns[np.isfinite(table.returns)]
    if not len(played):
        return {"undefined": "every episode of random actions diverged"}
    return {"mean": float(np.mean(played)), "episodes": len(played), "seed": 0}


class _Uniform:
    """Actions that are uniform between the task's bounds."""

    def __init__(self, env: str | Callable[[], gymnasium.Env]):
        batch = make(env, threads=1)
        try:
            space = batch.action_space
            self._low, self._span = space.low, space.high - space.low
        finally:
            batch.close()
        if not np.isfinite(self._span).all():
            raise InputError("the task's actions have no bounds")

    def __call__(self, observations: np.ndarray, *, deterministic: bool, generator: Any) -> Any:
        del deterministic
        uniform = ndtr(generator.standard_normal((len(observations), *self._low.shape)))
        return (self._low + self._span * uniform).astype(self._low.dtype)
