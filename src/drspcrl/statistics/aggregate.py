"""Interquartile mean and performance profiles over tasks and runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from drspcrl.errors import InputError
from drspcrl.statistics.bootstrap import (
    REPLICATES,
    as_strata,
    can_resample,
    percentile_interval,
    resample,
)
from drspcrl.statistics.estimate import Estimate


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
