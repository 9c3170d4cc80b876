"""What a comparison with the best of several rivals gives where there is nothing to compare.

The best of six means is above their mean by chance, so a method that is no better and no worse
than its rivals is behind the best of them: the level of no effect of G is below 0.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from drspcrl.statistics.bootstrap import percentile_interval
from drspcrl.statistics.estimate import Estimate, missing
from drspcrl.statistics.gain import GAIN_REPLICATES, gains_over_the_best, mean_where_defined
from drspcrl.statistics.groups import Groups, comparable, count_runs

OUTSIDE = ("vanilla", "noise_training", "physics_randomization", "wr2l")
"""Methods that differ from the others by more than a curriculum: they have no nominal model."""


def exchanged(
    scores: Mapping[str, np.ndarray],
    replicates: int,
    random: np.random.Generator,
    *,
    keep: Collection[str] = OUTSIDE,
) -> dict[str, np.ndarray]:
    """Deal the runs of all methods anew among them, each getting as many as it has.

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
    keep: Collection[str] = OUTSIDE,
    replicates: int = GAIN_REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """What G would be if the names of the methods meant nothing, by exchanging their runs.

    The mean of G over all ways to deal a group's runs anew among its methods, and the central
    range of it. A G above that range is no chance, one inside it is what one of several equal
    methods gets.

    Args:
        groups: Scores of every method in every (algorithm, task) group, as for `headline_gain`.
        method: The method whose gain is asked for.
        rivals: The methods it is compared with; all others unless told.
        keep: Methods that keep their runs, because they are known to differ.
        replicates: How often runs are dealt.
        confidence: The range's share of all ways.
        seed: Seed of the exchanges.

    Returns:
        The range; missing where the method has nobody to exchange runs with.
    """
    name = "G by chance: runs exchanged among the methods of each group"
    runs, _ = comparable(groups, method, rivals)
    runs = {g: x for g, x in runs.items() if method not in keep and {*x} - {method, *keep}}
    if not runs:
        return missing(name)
    random = np.random.default_rng(seed)
    drawn = []
    for scores in runs.values():
        dealt = exchanged(scores, replicates, random, keep=keep)
        drawn.append(gains_over_the_best({m: x.mean(axis=1) for m, x in dealt.items()}, method))
    gains = mean_where_defined(np.stack(drawn))
    defined = gains[np.isfinite(gains)]
    if not len(defined):
        return missing(name)
    low, high = percentile_interval(defined, confidence)
    return Estimate(
        float(defined.mean()), float(low), float(high), count_runs(list(runs.values())), name
    )
