"""Probability that one method's run beats another's."""

from collections.abc import Sequence
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from drspcrl.errors import InputError
from drspcrl.statistics.bootstrap import (
    REPLICATES,
    as_strata,
    can_resample,
    percentile_interval,
    resample,
)
from drspcrl.statistics.estimate import Estimate


def probability_of_improvement(
    method: Sequence[ArrayLike],
    rival: Sequence[ArrayLike],
    *,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Mean over tasks of `P(X > Y) + ½ P(X = Y)`, X a run of the method, Y one of the rival.

    Args:
        method: For each task the method's scores, [runs] or [runs, settings]; each setting counts
            as a task of its own, and a run's settings are drawn together.
        rival: The rival's scores for the same tasks, in the same order.
        replicates: Bootstrap replicates; both sides are drawn again independently.
        confidence: The interval's coverage.
        seed: Seed of the bootstrap.
    """
    ours, theirs = as_strata(method, "method"), as_strata(rival, "rival")
    if [task.shape[1:] for task in ours] != [task.shape[1:] for task in theirs]:
        raise InputError(
            "method and rival have different tasks or settings; give both sides the same ones"
        )
    value = float(_mean_wins([t[None] for t in ours], [t[None] for t in theirs])[0])
    runs = sum(len(task) for task in [*ours, *theirs])
    name = f"probability of improvement, stratified bootstrap {confidence:.0%} interval over seeds"
    if not can_resample([*ours, *theirs]):
        return Estimate(value, nan, nan, runs, name)
    random = np.random.default_rng(seed)
    wins = _mean_wins(
        [resample(task, replicates, random) for task in ours],
        [resample(task, replicates, random) for task in theirs],
    )
    low, high = percentile_interval(wins, confidence)
    return Estimate(value, float(low), float(high), runs, name)


def _mean_wins(ours: list[np.ndarray], theirs: list[np.ndarray]) -> np.ndarray:
    """[replicates, runs, settings...] per task and side → [replicates]."""
    tasks = [_wins(x, y) for x, y in zip(ours, theirs, strict=True)]
    return np.concatenate(tasks, axis=1).mean(axis=1)


def _wins(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Share of pairs won, a tie counting half: [replicates, settings]."""
    difference = np.sign(ours[:, :, None] - theirs[:, None])
    share = (1 + difference.mean(axis=(1, 2))) / 2
    return share.reshape(len(share), -1)
