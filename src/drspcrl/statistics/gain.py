"""How much better a method is than its best rival: three formulas, fixed in advance.

All three rest on M, the mean of a method's return over the perturbed settings and the seeds of
one (algorithm, task) group. Ratios are never taken cell by cell: some returns are negative or
near zero.

Scores by (algorithm, task) group and method, reduced to what can be compared.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from drspcrl.errors import InputError
from drspcrl.statistics.estimate import (
    Estimate,
    draw_runs,
    finite_values,
    percentile_interval,
    resample,
)

Groups = Mapping[Any, Mapping[str, ArrayLike]]
"""(algorithm, task) → method → scores [runs, settings] (or [runs], already averaged)."""


def comparable(
    groups: Groups, method: str, rivals: Sequence[str] | None
) -> tuple[dict[Hashable, dict[str, np.ndarray]], dict[Hashable, str]]:
    """Each group's run means [runs] of the method and its rivals, and the groups left out."""
    if not any(method in methods for methods in groups.values()):
        raise InputError(f"no group has the method {method!r}; name one that has been run")
    kept, undefined = {}, {}
    for group, methods in groups.items():
        wanted = [m for m in methods if m == method or rivals is None or m in rivals]
        scores = {m: run_means(methods[m], f"{group} {m}") for m in wanted}
        if method not in scores:
            undefined[group] = f"no run of {method}"
        elif len(scores) < 2:
            undefined[group] = "no rival"
        else:
            kept[group] = scores
    return kept, undefined


def run_means(scores: ArrayLike, what: str) -> np.ndarray:
    """Each run's mean over its settings, [runs]."""
    array = finite_values(scores, what)
    if array.size == 0:
        raise InputError(f"{what} has no runs; leave the method out of the group")
    return array.reshape(len(array), -1).mean(axis=1)


def can_resample(groups: Sequence[Mapping[str, np.ndarray]]) -> bool:
    """Whether every method has at least two runs in every group."""
    return all(len(runs) > 1 for methods in groups for runs in methods.values())


def count_runs(groups: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Runs over all groups and methods."""
    return sum(len(runs) for methods in groups for runs in methods.values())


GAIN_REPLICATES = 10_000
NOT_POSITIVE = "the unit of the gain is not positive"
"""Why a gain is undefined whose best rival, or unit, is not above zero."""


@dataclass(frozen=True)
class GroupGain:
    """One group's comparison: the method's M, its best rival, and the gain over it."""

    mean: float
    rival: str
    rival_mean: float
    gain: float


@dataclass(frozen=True)
class Gain:
    """A gain with its parts.

    Attributes:
        estimate: The gain, its bootstrap interval, the number of runs, and the formula's name.
        groups: The groups it is the mean of.
        undefined: Groups left out, each with the reason.
        rival: The rival, where one rival serves for all groups (the pooled ratio).
    """

    estimate: Estimate
    groups: Mapping[Any, GroupGain]
    undefined: Mapping[Any, str]
    rival: str | None = None


def headline_gain(
    groups: Groups,
    method: str = "self_paced",
    *,
    rivals: Sequence[str] | None = None,
    replicates: int = GAIN_REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Gain:
    """`G`, the mean over groups of `(M_method − max_B M_B) / max_B M_B`.

    A group is undefined where its best rival's M is not positive. The bootstrap draws the seeds
    of every (group, method) again and chooses the best rival again in each replicate; a replicate
    leaves out the groups that are undefined in it.

    Args:
        groups: Scores of every method in every (algorithm, task) group.
        method: The method whose gain is asked for.
        rivals: The methods it is compared with; all others unless told.
        replicates: Bootstrap replicates.
        confidence: The interval's coverage.
        seed: Seed of the bootstrap.
    """
    scale = dict.fromkeys(groups, None)
    name = "headline gain G: mean over groups of the gain over the best rival"
    return _mean_gain(groups, method, rivals, scale, name, replicates, confidence, seed)


def normalised_difference(
    groups: Groups,
    nominal: Mapping[Any, ArrayLike],
    random_return: Mapping[Any, float],
    method: str = "self_paced",
    *,
    rivals: Sequence[str] | None = None,
    replicates: int = GAIN_REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Gain:
    """Mean over groups of `(M_method − max_B M_B) / (vanilla's nominal return − random)`.

    Args:
        groups: As for `headline_gain`.
        nominal: Vanilla's unperturbed return in each group, one value for each of its runs in
            `groups` and in the same order.
        random_return: Mean return of uniformly random actions in each group.
        method: The method whose gain is asked for.
        rivals: The methods it is compared with; all others unless told.
        replicates: Bootstrap replicates; vanilla's nominal returns are drawn again too.
        confidence: The interval's coverage.
        seed: Seed of the bootstrap.
    """
    scale: dict[Hashable, np.ndarray | str | None] = {}
    for group in groups:
        if group not in nominal:
            scale[group] = "no nominal return of vanilla"
        elif group not in random_return:
            scale[group] = "the return of random actions is not known"
        else:
            scale[group] = _unit(groups[group], nominal[group], random_return[group], group)
    name = "normalised difference: mean over groups, in units of vanilla nominal − random"
    return _mean_gain(groups, method, rivals, scale, name, replicates, confidence, seed)


def pooled_ratio(
    groups: Groups,
    method: str = "self_paced",
    *,
    rivals: Sequence[str] | None = None,
    replicates: int = GAIN_REPLICATES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Gain:
    """Ratio of the means over all groups, minus one, against the rival with the highest such mean.

    Only rivals that every group has can be pooled; large returns weigh most.

    Args:
        groups: As for `headline_gain`.
        method: The method whose gain is asked for.
        rivals: The methods it is compared with; all others unless told.
        replicates: Bootstrap replicates, each choosing its best rival again.
        confidence: The interval's coverage.
        seed: Seed of the bootstrap.
    """
    runs, undefined = comparable(groups, method, rivals)
    name = "pooled ratio: mean over all groups against the best rival's"
    everywhere = [set(methods) for methods in runs.values()]
    names = sorted(set.intersection(*everywhere) - {method}) if everywhere else []
    if not names:
        return Gain(Estimate(nan, nan, nan, 0, name), {}, undefined)
    pooled = [{m: scores[m] for m in [method, *names]} for scores in runs.values()]
    means = {m: float(np.mean([scores[m].mean() for scores in pooled])) for m in [method, *names]}
    whole = _group_gain({m: np.array([mean]) for m, mean in means.items()}, method, None)
    if np.isnan(whole.gain):
        return Gain(Estimate(nan, nan, nan, 0, name), {}, {**undefined, "all groups": NOT_POSITIVE})
    low = high = nan
    if can_resample(pooled):
        draws = np.random.default_rng(seed)
        drawn = {
            m: np.sum([resample(g[m], replicates, draws).mean(axis=1) for g in pooled], axis=0)
            for m in means
        }
        low, high = _interval(gains_over_the_best(drawn, method), confidence)
    estimate = Estimate(whole.gain, low, high, count_runs(pooled), name)
    return Gain(estimate, {"all groups": whole}, undefined, whole.rival)


def _mean_gain(
    groups: Groups,
    method: str,
    rivals: Sequence[str] | None,
    scale: Mapping[Hashable, np.ndarray | str | None],
    name: str,
    replicates: int,
    confidence: float,
    seed: int,
) -> Gain:
    """Mean over groups of (M_method − M_B)/unit; a scale of None makes M_B itself the unit."""
    runs, undefined = comparable(groups, method, rivals)
    draws = np.random.default_rng(seed)
    parts: dict[Hashable, GroupGain] = {}
    used, replicated = [], []
    for group, scores in runs.items():
        unit = scale[group]
        if isinstance(unit, str):
            undefined[group] = unit
            continue
        part = _group_gain(scores, method, unit)
        if np.isnan(part.gain):
            undefined[group] = NOT_POSITIVE
            continue
        parts[group] = part
        used.append(scores if unit is None else {**scores, "vanilla nominal": unit})
        replicated.append(_group_replicates(scores, method, unit, replicates, draws))
    if not parts:
        return Gain(Estimate(nan, nan, nan, 0, name), parts, undefined)
    value = float(np.mean([part.gain for part in parts.values()]))
    low = high = nan
    if can_resample(used):
        low, high = _interval(mean_where_defined(np.stack(replicated)), confidence)
    return Gain(
        Estimate(value, low, high, count_runs([runs[g] for g in parts]), name), parts, undefined
    )


def _group_gain(
    scores: Mapping[str, np.ndarray], method: str, unit: np.ndarray | None
) -> GroupGain:
    means = {name: float(values.mean()) for name, values in scores.items()}
    rival = max((name for name in means if name != method), key=means.__getitem__)
    denominator = means[rival] if unit is None else float(unit.mean())
    gain = _ratio(*map(np.asarray, (means[method], means[rival], denominator)))
    return GroupGain(means[method], rival, means[rival], float(gain))


def _group_replicates(
    scores: Mapping[str, np.ndarray],
    method: str,
    unit: np.ndarray | None,
    replicates: int,
    draws: np.random.Generator,
) -> np.ndarray:
    """The group's gain in every replicate, [replicates]."""
    drawn = {name: draw_runs(len(runs), replicates, draws) for name, runs in scores.items()}
    means = {name: runs[drawn[name]].mean(axis=1) for name, runs in scores.items()}
    if unit is None:
        return gains_over_the_best(means, method)
    best = _best(means, method)
    # Vanilla's nominal and perturbed returns come from the same runs, so they are drawn together.
    rows = drawn["vanilla"] if "vanilla" in drawn else draw_runs(len(unit), replicates, draws)
    return _ratio(means[method], best, unit[rows].mean(axis=1))


def gains_over_the_best(means: Mapping[str, np.ndarray], method: str) -> np.ndarray:
    """(M − M of the best rival) / M of the best rival, of means [replicates] by method."""
    best = _best(means, method)
    return _ratio(means[method], best, best)


def _best(means: Mapping[str, np.ndarray], method: str) -> np.ndarray:
    """The best rival's mean in every replicate, [replicates]."""
    return np.max([mean for name, mean in means.items() if name != method], axis=0)


def _unit(
    methods: Mapping[str, ArrayLike], nominal: ArrayLike, floor: float, group: Hashable
) -> np.ndarray:
    unit = finite_values(nominal, f"nominal of {group}") - floor
    if "vanilla" in methods and len(unit) != len(np.asarray(methods["vanilla"])):
        raise InputError(
            f"{group} has {len(unit)} nominal returns for "
            f"{len(np.asarray(methods['vanilla']))} runs of vanilla; give one for each run"
        )
    return unit


def _ratio(mean: np.ndarray, rival: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(mean − rival)/unit, nan where the unit is not positive."""
    return (mean - rival) / np.where(unit > 0, unit, np.nan)


def mean_where_defined(replicated: np.ndarray) -> np.ndarray:
    """Mean over groups, [groups, replicates] → [replicates], nan only where all are undefined."""
    defined = np.isfinite(replicated)
    count = defined.sum(axis=0)
    return np.where(defined, replicated, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)


def _interval(replicated: np.ndarray, confidence: float) -> tuple[float, float]:
    """Percentile interval over the replicates that are defined, nan where none is."""
    if not np.isfinite(replicated).any():
        return nan, nan
    low, high = percentile_interval(replicated[np.isfinite(replicated)], confidence)
    return float(low), float(high)
