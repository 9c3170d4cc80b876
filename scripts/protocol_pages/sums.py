"""The sums behind the pages: gains over parts of the settings, and a bootstrap for the others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from drspcrl.report.results import Group, Results
from drspcrl.statistics import Estimate, headline_gain
from drspcrl.statistics.bootstrap import percentile_interval
from drspcrl.statistics.groups import count_runs

Scores = Mapping[Group, Mapping[str, np.ndarray]]
"""(algorithm, task) → method → [runs, ...]."""

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


def bootstrap(scores: Scores, statistic: Callable[[Scores], float]) -> Estimate:
    """A statistic with the interval of a bootstrap over seeds, within each (group, method).

    No interval where a method has a single run in a group.
    """
    arrays = [runs for methods in scores.values() for runs in methods.values()]
    runs = sum(map(len, arrays))
    if not arrays:
        return Estimate(nan, nan, nan, 0, "bootstrap over seeds")
    value, name = statistic(scores), "bootstrap over seeds"
    if min(map(len, arrays)) < 2:
        return Estimate(value, nan, nan, runs, name)
    random = np.random.default_rng(0)
    drawn = np.array([statistic(_again(scores, random)) for _ in range(REPLICATES)])
    finite = drawn[np.isfinite(drawn)]
    low, high = percentile_interval(finite, 0.95) if len(finite) else (nan, nan)
    return Estimate(value, float(low), float(high), runs, name)


def _again(scores: Scores, random: np.random.Generator) -> Scores:
    return {
        group: {m: runs[random.integers(len(runs), size=len(runs))] for m, runs in methods.items()}
        for group, methods in scores.items()
    }


def share_in_top(scores: Scores, method: str, places: int) -> float:
    """Share of the cells (group and setting) where at most places − 1 methods do better."""
    won = []
    for methods in scores.values():
        means = {name: runs.mean(axis=0) for name, runs in methods.items()}
        better = sum((mean > means[method]) for name, mean in means.items() if name != method)
        won.append(np.asarray(better) < places)
    return float(np.concatenate(won).mean())


def mean_gain(scores: Scores, method: str) -> float:
    """G without an interval, for a statistic that combines several."""
    gains = []
    for methods in scores.values():
        means = {name: float(runs.mean()) for name, runs in methods.items()}
        best = max(mean for name, mean in means.items() if name != method)
        gains.append((means[method] - best) / best if best > 0 else nan)
    return float(np.nanmean(gains)) if np.isfinite(gains).any() else nan


def growth(scores: Scores, method: str, low: Sequence[int], high: Sequence[int]) -> float:
    """G over the columns of high levels less G over those of low ones."""
    ends = [
        mean_gain({g: {m: x[:, columns] for m, x in found.items()} for g, found in scores.items()},
                  method)
        for columns in (high, low)
    ]  # fmt: skip
    return ends[0] - ends[1]


def narrowing(scores: Scores, method: str, rival: str) -> float:
    """1 less the method's standard deviation over seeds, as a share of the rival's.

    Deviations are averaged over the settings of a group; over groups the shares have a geometric
    mean, so that twice as wide and half as wide cancel. With as many seeds on either side this is
    the share by which intervals are narrower.
    """
    logs = []
    for methods in scores.values():
        spread = {m: methods[m].std(axis=0, ddof=1).mean() for m in (method, rival)}
        if min(spread.values()) > 0:
            logs.append(np.log(spread[method] / spread[rival]))
    return 1 - float(np.exp(np.mean(logs))) if logs else nan
