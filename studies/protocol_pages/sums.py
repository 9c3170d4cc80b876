"""The sums behind the pages: gains over parts of the settings, and a bootstrap for the others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import nan

import numpy as np
from scipy.special import polygamma

from drspcrl.report.results import Group, Results
from drspcrl.statistics import Estimate, gain_by_chance, headline_gain, missing
from drspcrl.statistics.chance import exchanged, known_to_differ
from drspcrl.statistics.estimate import percentile_interval, resample
from drspcrl.statistics.gain import (
    GAIN_REPLICATES,
    count_runs,
    gains_over_the_best,
    mean_where_defined,
)

Scores = Mapping[Group, Mapping[str, np.ndarray]]
"""(algorithm, task) → method → [runs, settings]."""
Means = Mapping[Group, Mapping[str, np.ndarray]]
"""(algorithm, task) → method → [replicates, settings]."""

REPLICATES = 2000


def part(
    results: Results,
    methods: Collection[str],
    *,
    groups: Collection[Group] | None = None,
    kinds: Collection[str] | None = None,
    levels: Collection[float] | None = None,
) -> dict[Group, dict[str, np.ndarray]]:
    """Scores of these methods in some settings, in the groups that have all of them."""
    columns = [
        i
        for i, (kind, level) in enumerate(results.settings)
        if (kinds is None or kind in kinds) and (levels is None or level in levels)
    ]
    picked = {
        group: {m: scores[:, columns] for m, scores in found.items() if m in methods}
        for group, found in results.runs.items()
        if (groups is None or group in groups) and set(methods) <= set(found)
    }
    return picked if columns else {}


def gain(scores: Scores, method: str) -> Estimate:
    """G of a method over the best of the others.

    It is nan with n = 0 where there is no group, and nan with the number of runs where there are
    but G is defined in none, the best rival's mean not being positive.
    """
    if not scores:
        return Estimate(nan, nan, nan, 0, "G")
    found = headline_gain(scores, method).estimate
    return found if found.n else replace(found, n=count_runs(list(scores.values())))


def chance_of(scores: Scores, method: str) -> Estimate:
    """What G would be if the methods with a nominal model were one and the same."""
    return gain_by_chance(scores, method) if scores else missing("G by chance")


def bootstrap(scores: Scores, statistic: Callable[[Means], np.ndarray]) -> Estimate:
    """A statistic of means over seeds, with a bootstrap over seeds within each (group, method).

    Args:
        scores: What the runs returned; there is no interval where a method has a single run.
        statistic: From means [replicates, settings] of every group and method to [replicates].
    """
    name = "bootstrap over seeds"
    arrays = [runs for methods in scores.values() for runs in methods.values()]
    if not arrays:
        return Estimate(nan, nan, nan, 0, name)
    value, runs = float(statistic(means_of(scores))[0]), sum(map(len, arrays))
    if min(map(len, arrays)) < 2:
        return Estimate(value, nan, nan, runs, name)
    random = np.random.default_rng(0)
    drawn = statistic(
        {
            group: {m: resample(x, REPLICATES, random).mean(axis=1) for m, x in methods.items()}
            for group, methods in scores.items()
        }
    )
    _, low, high = _middle(drawn)
    return Estimate(value, low, high, runs, name)


def by_chance(
    scores: Scores,
    statistic: Callable[[Means], np.ndarray],
    differs: Callable[[str], bool] = known_to_differ,
) -> Estimate:
    """The same statistic with the runs of each group exchanged among its methods.

    Args:
        scores: What the runs returned.
        statistic: As for `bootstrap`.
        differs: Which methods keep their runs.
    """
    if not scores:
        return missing("exchanged runs")
    random, means = np.random.default_rng(0), {}
    for group, found in scores.items():
        keep = [m for m in found if differs(m)]
        dealt = exchanged(found, GAIN_REPLICATES, random, keep=keep)
        means[group] = {m: x.mean(axis=1) for m, x in dealt.items()}
    drawn = statistic(means)
    return Estimate(*_middle(drawn), count_runs(list(scores.values())), "exchanged runs")


def _middle(drawn: np.ndarray) -> tuple[float, float, float]:
    """Mean and central 95% of the replicates that are defined."""
    defined = drawn[np.isfinite(drawn)]
    if not len(defined):
        return nan, nan, nan
    low, high = percentile_interval(defined, 0.95)
    return float(defined.mean()), float(low), float(high)


def means_of(scores: Scores) -> Means:
    """Means over seeds, as one replicate."""
    return {
        group: {m: runs.mean(axis=0)[None] for m, runs in methods.items()}
        for group, methods in scores.items()
    }


def share_in_top(means: Means, method: str, places: int) -> np.ndarray:
    """Share of the cells (group and setting) where at most places − 1 methods do better."""
    won = []
    for methods in means.values():
        others = [mean for name, mean in methods.items() if name != method]
        won.append(np.sum([mean > methods[method] for mean in others], axis=0) < places)
    return np.concatenate(won, axis=1).mean(axis=1)


def growth(means: Means, method: str, low: Sequence[int], high: Sequence[int]) -> np.ndarray:
    """G over the columns of high levels less G over those of low ones."""
    at_low, at_high = (
        {g: {m: x[:, columns] for m, x in methods.items()} for g, methods in means.items()}
        for columns in (low, high)
    )
    return mean_gain(at_high, method) - mean_gain(at_low, method)


def mean_gain(means: Means, method: str) -> np.ndarray:
    """G in every replicate."""
    gains = [
        gains_over_the_best({m: mean.mean(axis=1) for m, mean in methods.items()}, method)
        for methods in means.values()
    ]
    return mean_where_defined(np.stack(gains))


def fall(means: Means) -> np.ndarray:
    """(M of the best method − M of the worst) / M of the best, mean over groups."""
    falls = []
    for methods in means.values():
        M = np.array([mean.mean(axis=1) for mean in methods.values()])
        best = M.max(axis=0)
        falls.append((best - M.min(axis=0)) / np.where(best > 0, best, nan))
    return mean_where_defined(np.stack(falls))


def growth_per_decade(means: Sequence[np.ndarray], epsilons: Sequence[float]) -> np.ndarray:
    """What returns gain for ten times the ε, as a share of their mean over all ε.

    Args:
        means: Mean returns at each ε, [replicates] each.
        epsilons: Those ε.
    """
    returns = np.stack(means)
    return slope_per_decade(returns, epsilons) / returns.mean(axis=0)


def slope_per_decade(values: np.ndarray, epsilons: Sequence[float]) -> np.ndarray:
    """Least squares slope over log₁₀ ε, [radii, replicates] → [replicates]."""
    x = np.log10(epsilons) - np.mean(np.log10(epsilons))
    return x @ values / (x @ x)


def narrowing(scores: Scores, method: str, rival: str) -> Estimate:
    """1 less the method's standard deviation over seeds, as a share of the rival's.

    Deviations are averaged over the settings of a group; over groups the shares have a geometric
    mean, so that twice as wide and half as wide cancel. With as many seeds on either side this is
    the share by which intervals are narrower. A bootstrap of five seeds cannot tell how sure a
    deviation is, so the interval is that of normal samples, whose log deviation has the variance
    ψ′((n − 1)/2)/4; the settings of a run are taken as wholly dependent, which is cautious.
    """
    logs, variances, runs = [], [], 0
    for methods in scores.values():
        pair = methods[method], methods[rival]
        own, other = (x.std(axis=0, ddof=1).mean() for x in pair)
        if min(own, other) > 0:
            logs.append(np.log(own / other))
            variances.append(sum(polygamma(1, (len(x) - 1) / 2) / 4 for x in pair))
            runs += sum(map(len, pair))
    name = "log ratio of standard deviations, normal theory"
    if not logs:
        return Estimate(nan, nan, nan, 0, name)
    middle, half = np.mean(logs), 1.96 * np.sqrt(np.sum(variances)) / len(logs)
    value, low, high = (float(1 - np.exp(x)) for x in (middle, middle + half, middle - half))
    return Estimate(value, low, high, runs, name)
