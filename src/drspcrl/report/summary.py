"""The sums over settings: gains, wins, aggregates, probability of improvement, profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from drspcrl.data import random_returns
from drspcrl.report.few import are_few, gain_without_interval, without_interval
from drspcrl.report.names import FOCUS, ordered_methods
from drspcrl.report.results import Group, Results
from drspcrl.statistics import (
    NOT_POSITIVE,
    Estimate,
    Gain,
    Profile,
    Wins,
    count_wins,
    gain_by_chance,
    headline_gain,
    interquartile_mean,
    mean_interval,
    missing,
    normalised_difference,
    performance_profile,
    pooled_ratio,
    probability_of_improvement,
)

PROFILE_POINTS = 81


@dataclass(frozen=True)
class Headline:
    """How a method compares with its best rivals, over everything and by algorithm.

    `chance` is what the gain would be if the methods with a nominal model were the same; missing
    where there are no single runs to exchange, as in published tables. `above_random` says that
    returns are counted from those of random actions, because a best rival's is not positive;
    `few` that there are too few seeds for intervals.
    """

    method: str
    rivals: tuple[str, ...]
    gain: Gain
    chance: Estimate
    pooled: Gain
    normalised: Gain
    wins: Mapping[str, Wins]
    above_random: bool = False
    few: bool = False


def headline(
    results: Results, method: str = FOCUS, rivals: Sequence[str] | None = None
) -> Headline | None:
    """The headline comparison; None where the method or every rival is missing."""
    others = [m for m in results.methods() if m != method and (rivals is None or m in rivals)]
    if rivals is None:
        # Policies from elsewhere were not trained side by side; alone they are better than none.
        others = [m for m in others if m not in results.foreign] or others
    if not others or not any(method in methods for methods in results.runs.values()):
        return None
    gain, runs = headline_gain(results.runs, method, rivals=others), results.runs
    if counted := _above_random(results) if NOT_POSITIVE in gain.undefined.values() else None:
        gain, runs = headline_gain(counted, method, rivals=others), counted
    few = _few_seeds(results, [method, *others])
    chance = missing("G by chance")
    if gain.estimate.has_interval and not few:
        chance = gain_by_chance(runs, method, rivals=others)
    nominal, floors = _vanilla_nominal(results), _floors(results)
    gains = (
        gain,
        pooled_ratio(runs, method, rivals=others),
        normalised_difference(results.runs, nominal, floors, method, rivals=others),
    )
    gain, pooled, normalised = map(gain_without_interval, gains) if few else gains
    wins = _wins(results, method, others)
    above = counted is not None
    return Headline(method, tuple(others), gain, chance, pooled, normalised, wins, above, few)


def _above_random(results: Results) -> dict[Group, dict[str, np.ndarray]] | None:
    """Returns less those of random actions; None where these are not known in every group."""
    floors = _floors(results)
    if set(floors) != set(results.runs):
        return None
    return {
        group: {method: scores - floors[group] for method, scores in methods.items()}
        for group, methods in results.runs.items()
    }


def _few_seeds(results: Results, methods: Sequence[str]) -> bool:
    """Whether runs were too few for intervals; published means have none to count."""
    return bool(results.seeds) and are_few(
        len(scores)
        for group in results.runs.values()
        for m, scores in group.items()
        if m in methods
    )


def _wins(results: Results, method: str, rivals: Sequence[str]) -> dict[str, Wins]:
    counted = {}
    for algorithm in results.algorithms:
        cells = [
            {m: results.cell(algorithm, task, m, s).value for m in [method, *rivals]}
            for task in results.environments(algorithm)
            for s in results.settings
        ]
        counted[algorithm] = count_wins(cells, method)
    return counted


def _vanilla_nominal(results: Results) -> dict[Group, np.ndarray]:
    """Vanilla's nominal returns where every one of its runs has one."""
    found = {
        group: methods["vanilla"]
        for group, methods in results.nominal.items()
        if "vanilla" in methods
    }
    return {group: values for group, values in found.items() if np.isfinite(values).all()}


def _floors(results: Results) -> dict[Group, float]:
    shipped = random_returns()
    known = {**results.floors, **shipped, **{f"{task}-v5": x for task, x in shipped.items()}}
    return {group: known[group[1]] for group in results.runs if group[1] in known}


def group_means(
    results: Results, perturbation: str | None = None
) -> dict[tuple[str, str, str], Estimate]:
    """M of every (algorithm, environment, method): over all settings or one perturbation's."""
    picked = [i for i, s in enumerate(results.settings) if perturbation in (None, s[0])]
    return {
        (*group, method): mean_interval(scores[:, picked].mean(axis=1))
        for group, methods in results.runs.items()
        for method, scores in methods.items()
    }


@dataclass(frozen=True)
class Aggregates:
    """Scores of one algorithm, pooled over its tasks and settings.

    Attributes:
        scale: What the scores of `interquartile` and `profiles` mean, in words.
        tasks: Tasks that each method's pooled scores come from.
        interquartile: Interquartile mean by method.
        profiles: Performance profile by method.
        improvement: (method, rival) → probability that the method's run beats the rival's.
        left_out: Tasks without a common scale, with the reason.
    """

    scale: str
    tasks: Mapping[str, tuple[str, ...]]
    interquartile: Mapping[str, Estimate]
    profiles: Mapping[str, Profile]
    improvement: Mapping[tuple[str, str], Estimate]
    left_out: Mapping[str, str]


def aggregates(results: Results, algorithm: str) -> Aggregates:
    """Interquartile means, profiles and probabilities of improvement for one algorithm."""
    raw = {task: runs for (name, task), runs in results.runs.items() if name == algorithm}
    scores, left_out = normalised_scores(results, algorithm)
    scale = "normalised return, 0 random actions, 1 vanilla unperturbed"
    if not scores and len(raw) == 1:  # one task needs no common scale
        (task,) = raw
        scores, scale, left_out = raw, f"return in {task}, because {left_out[task]}", {}
    methods = [m for m in results.methods(algorithm) if any(m in task for task in scores.values())]
    strata = {m: {t: task[m] for t, task in scores.items() if m in task} for m in methods}
    thresholds = _thresholds([x for tasks in strata.values() for x in tasks.values()])
    few = {m for m in methods if are_few(len(x) for x in strata[m].values())}
    means = {m: interquartile_mean(list(strata[m].values())) for m in methods}
    curves = {m: performance_profile(list(strata[m].values()), thresholds) for m in methods}
    return Aggregates(
        scale=scale,
        tasks={m: tuple(strata[m]) for m in methods},
        interquartile={m: without_interval(e) if m in few else e for m, e in means.items()},
        profiles={m: _without_band(p) if m in few else p for m, p in curves.items()},
        improvement=_improvements(raw),
        left_out=left_out,
    )


def _without_band(profile: Profile) -> Profile:
    nothing = np.full_like(profile.share, np.nan)
    return replace(profile, low=nothing, high=nothing)


def _improvements(
    tasks: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[tuple[str, str], Estimate]:
    """Every pair of methods over the tasks both have; ranks need no common scale."""
    methods = ordered_methods(m for runs in tasks.values() for m in runs)
    improvement = {}
    for one, other in combinations(methods, 2):
        shared = [runs for runs in tasks.values() if one in runs and other in runs]
        if shared:
            won = probability_of_improvement([r[one] for r in shared], [r[other] for r in shared])
            if are_few(len(runs[m]) for runs in shared for m in (one, other)):
                won = without_interval(won)
            improvement[one, other], improvement[other, one] = won, _reversed(won)
    return improvement


def normalised_scores(
    results: Results, algorithm: str
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, str]]:
    """Task → method → [runs, settings] with random actions at 0 and vanilla's nominal at 1."""
    floors, nominal = _floors(results), _vanilla_nominal(results)
    scores, left_out = {}, {}
    for (name, task), methods in results.runs.items():
        group = name, task
        if name != algorithm:
            continue
        if group not in floors:
            left_out[task] = "the return of random actions is not known"
        elif group not in nominal:
            left_out[task] = "vanilla has no unperturbed return"
        elif nominal[group].mean() <= floors[group]:
            left_out[task] = "vanilla is no better than random actions"
        else:
            unit = nominal[group].mean() - floors[group]
            scores[task] = {m: (x - floors[group]) / unit for m, x in methods.items()}
    return scores, left_out


def _thresholds(scores: list[np.ndarray]) -> np.ndarray:
    if not scores:
        return np.linspace(0, 1, PROFILE_POINTS)
    pooled = np.concatenate([x.ravel() for x in scores])
    low, high = min(0.0, float(pooled.min())), max(1.0, float(np.quantile(pooled, 0.995)))
    return np.linspace(low, high, PROFILE_POINTS)


def _reversed(won: Estimate) -> Estimate:
    return Estimate(1 - won.value, 1 - won.high, 1 - won.low, won.n, won.method)
