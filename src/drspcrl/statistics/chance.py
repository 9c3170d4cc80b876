"""What a comparison with the best of several rivals gives where there is nothing to compare.

The best of six means is above their mean by chance, so a method that is no better and no worse
than its rivals is behind the best of them: the level of no effect of G is below 0.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from drspcrl.statistics.estimate import Estimate, missing, percentile_interval
from drspcrl.statistics.gain import (
    GAIN_REPLICATES,
    Groups,
    comparable,
    count_runs,
    gains_over_the_best,
    mean_where_defined,
)

OUTSIDE = ("vanilla", "noise_training", "physics_randomization", "wr2l")
"""Methods that differ from the others by more than a curriculum: they have no nominal model."""


def known_to_differ(method: str) -> bool:
    """Whether a label is that of a method outside, or of a variant with settings of its own."""
    return ":" in method or method in OUTSIDE


def exchanged(
    scores: Mapping[str, np.ndarray],
    replicates: int,
    random: np.random.Generator,
    *,
    keep: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """Deal the runs of all methods again among them, each getting as many as it has.

    Args:
        scores: Method → [runs, ...].
        replicates: How often.
        random: Where the order comes from.
        keep: Methods whose runs stay theirs.

    Returns:
        Method → [replicates, runs, ...].
    """
    dealt = {m: np.broadcast_to(x, (replicates, *x.shape)) for m, x in scores.items() if m in keep}
    names = [m for m in scores if m not in keep]
    if not names:
        return dealt
    runs = np.concatenate([scores[m] for m in names])
    order = random.permuted(np.tile(np.arange(len(runs)), (replicates, 1)), axis=1)
    ends = np.cumsum([len(scores[m]) for m in names])
    for name, rows in zip(names, np.split(order, ends[:-1], axis=1), strict=True):
        dealt[name] = runs[rows]
    return dealt


def gain_by_chance(
    groups: Groups,
    method: str = "self_paced",
    *,
    rivals: Sequence[str] | None = None,
    keep: Collection[str] | None = None,
    replicates: int = GAIN_REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """What G would be if the method were the same as its rivals, by exchanging their runs.

    The mean of G over ways to deal a group's runs again among its methods, and the central range of
    it. A G inside that range is what one of several equal methods gets; one above it such a method
    gets in (1 − confidence)/2 of all cases, which does not yet make it better than the best rival.

    Args:
        groups: Scores of every method in every (algorithm, task) group, as for `headline_gain`.
        method: The method whose gain is asked for.
        rivals: The methods it is compared with; all others unless told.
        keep: Methods that stay as they are; those that are `known_to_differ` unless told.
        replicates: How often runs are dealt.
        confidence: The range's share of all ways.
        seed: Seed of the exchanges.

    Returns:
        The range; missing where the method has nobody to exchange runs with in any group.
    """
    name = "G by chance: runs exchanged among the methods of each group"
    runs, _ = comparable(groups, method, rivals)
    kept = {m for x in runs.values() for m in x if known_to_differ(m)} if keep is None else {*keep}
    if method in kept or not any({*scores} - {method, *kept} for scores in runs.values()):
        return missing(name)
    gains = _gains(list(runs.values()), method, kept, replicates, np.random.default_rng(seed))
    if not len(gains):
        return missing(name)
    low, high = percentile_interval(gains, confidence)
    count = count_runs(list(runs.values()))
    return Estimate(float(gains.mean()), float(low), float(high), count, name)


def _gains(
    groups: Sequence[Mapping[str, np.ndarray]],
    method: str,
    keep: Collection[str],
    replicates: int,
    random: np.random.Generator,
) -> np.ndarray:
    """G in every exchange in which it is defined."""
    drawn = []
    for scores in groups:
        dealt = exchanged(scores, replicates, random, keep=keep)
        drawn.append(gains_over_the_best({m: x.mean(axis=1) for m, x in dealt.items()}, method))
    gains = mean_where_defined(np.stack(drawn))
    return gains[np.isfinite(gains)]
