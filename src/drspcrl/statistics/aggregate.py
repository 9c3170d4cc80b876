"""Scores over tasks and runs: interquartile mean, profiles, P(improvement), ranks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from drspcrl.errors import InputError
from drspcrl.statistics.estimate import (
    REPLICATES,
    Estimate,
    as_strata,
    can_resample,
    percentile_interval,
    resample,
)


def interquartile_mean(
    strata: Sequence[ArrayLike],
    *,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Mean of the middle half of all scores, with a stratified bootstrap interval.

    A quarter of the scores, rounded down, is cut at either end (Agarwal et al. 2021).

    Args:
        strata: For each task an array [runs] or [runs, settings]; a run's settings are drawn
            together, because they come from one training run.
        replicates: Bootstrap replicates.
        confidence: The interval's coverage.
        seed: Seed of the bootstrap.
    """
    tasks = as_strata(strata)
    value = float(_middle_half(_pool([task[None] for task in tasks]))[0])
    runs = sum(len(task) for task in tasks)
    name = f"interquartile mean, stratified bootstrap {confidence:.0%} interval over seeds"
    if not can_resample(tasks):
        return Estimate(value, nan, nan, runs, name)
    random = np.random.default_rng(seed)
    pooled = _pool([resample(task, replicates, random) for task in tasks])
    low, high = percentile_interval(_middle_half(pooled), confidence)
    return Estimate(value, float(low), float(high), runs, name)


@dataclass(frozen=True)
class Profile:
    """A performance profile: the share of scores above each threshold.

    Attributes:
        thresholds: [points].
        share: Share of scores strictly above the threshold, [points].
        low: Lower end of the pointwise interval; nan where none can be given.
        high: Upper end.
        n: Runs it rests on.
        method: How it was made.
    """

    thresholds: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    method: str


def performance_profile(
    strata: Sequence[ArrayLike],
    thresholds: ArrayLike,
    *,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Profile:
    """Share of scores above τ for each threshold τ, with pointwise bootstrap intervals.

    Args:
        strata: As for `interquartile_mean`; scores of different tasks must share a scale.
        thresholds: Increasing values of τ, [points].
        replicates: Bootstrap replicates.
        confidence: Coverage at each point.
        seed: Seed of the bootstrap.
    """
    tasks = as_strata(strata)
    taus = np.asarray(thresholds, np.float64)
    if taus.ndim != 1 or (np.diff(taus) <= 0).any():
        raise InputError("thresholds must be a list of increasing values, one per point")
    share = _share_above(_pool([task[None] for task in tasks]), taus)[0]
    low = high = np.full_like(share, nan)
    if can_resample(tasks):
        random = np.random.default_rng(seed)
        pooled = _pool([resample(task, replicates, random) for task in tasks])
        low, high = map(np.asarray, percentile_interval(_share_above(pooled, taus), confidence))
    name = f"score distribution, stratified bootstrap {confidence:.0%} band over seeds"
    return Profile(taus, share, low, high, sum(len(task) for task in tasks), name)


def _pool(replicated: Sequence[np.ndarray]) -> np.ndarray:
    """Join the tasks' scores, [replicates, runs, ...] each, to [replicates, scores]."""
    return np.concatenate([task.reshape(len(task), -1) for task in replicated], axis=1)


def _middle_half(scores: np.ndarray) -> np.ndarray:
    return np.asarray(stats.trim_mean(scores, 0.25, axis=1))


def _share_above(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """[replicates, scores] → [replicates, thresholds]; one threshold at a time bounds memory."""
    return np.stack([(scores > tau).mean(axis=1) for tau in thresholds], axis=1)


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


@dataclass(frozen=True)
class Wins:
    """Cells in which a method is best or in the top two.

    Attributes:
        best: Cells where no other method has a higher mean.
        top_two: Cells where at most one other method has a higher mean.
        n: Cells compared: those that the method and at least one other have.
        method: How it was counted.
    """

    best: int
    top_two: int
    n: int
    method: str = "cells by rank of the mean over seeds"


def ranks(means: Mapping[str, float]) -> dict[str, int]:
    """Rank of each method's mean, 1 the best; equal means share a rank, missing ones have none."""
    present = {name: mean for name, mean in means.items() if isfinite(mean)}
    return {
        name: 1 + sum(other > mean for other in present.values()) for name, mean in present.items()
    }


def count_wins(cells: Iterable[Mapping[str, float]], method: str = "self_paced") -> Wins:
    """Count the cells where `method` is best and where it is in the top two.

    Args:
        cells: For each cell the mean of every method in it; nan where it is missing.
        method: The method to count for.
    """
    cells = list(cells)
    if not any(method in cell for cell in cells):
        raise InputError(f"no cell has the method {method!r}; name one that the table has")
    ranked = [ranks(cell) for cell in cells]
    own = [cell[method] for cell in ranked if method in cell and len(cell) > 1]
    return Wins(sum(rank == 1 for rank in own), sum(rank <= 2 for rank in own), len(own))
