"""Scores by setting, from run folders or from the paper: one form, so one code reads both."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from drspcrl.data import PAPER_SEEDS, paper_results
from drspcrl.display import brief
from drspcrl.report.names import (
    PERTURBATION_LABELS,
    TASK_ORDER,
    algorithm_in,
    in_order,
    ordered_algorithms,
    ordered_methods,
)
from drspcrl.runfolder.runs import Run
from drspcrl.runfolder.tables import Evaluation
from drspcrl.statistics import Estimate, mean_interval, missing

Setting = tuple[str, float]
Group = tuple[str, str]
NOMINAL: Setting = ("none", 0.0)
WORST = "worst"
"""The one setting that a suite with the statistic `worst` becomes; its level counts settings."""


@dataclass(frozen=True)
class Results:
    """Everything a table or figure over settings needs.

    Attributes:
        settings: The perturbed settings, in order.
        cells: (algorithm, environment, method, setting) → mean over seeds with its interval.
        runs: (algorithm, environment) → method → [runs, settings], runs with all settings only.
        nominal: The same runs' unperturbed return, [runs]; nan where it was not evaluated.
        notes: What was left out of the comparison, in words.
        left_out: For each task one line about settings of the suite that it has nothing for.
        seeds: What each cell of runs is the mean of, in their order.
        floors: Mean return of random actions in tasks where it was measured with the runs.
        foreign: Methods that are policies trained elsewhere.
    """

    settings: tuple[Setting, ...]
    cells: Mapping[tuple[str, str, str, Setting], Estimate]
    runs: Mapping[Group, Mapping[str, np.ndarray]]
    nominal: Mapping[Group, Mapping[str, np.ndarray]]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    seeds: Mapping[tuple[str, str, str, Setting], tuple[float, ...]] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()

    @property
    def algorithms(self) -> list[str]:
        """Algorithms in the order of tables."""
        return ordered_algorithms(key[0] for key in self.cells)

    def environments(self, algorithm: str) -> list[str]:
        """Tasks that have a cell with this algorithm."""
        return in_order({key[1] for key in self.cells if key[0] == algorithm}, TASK_ORDER)

    def methods(self, algorithm: str | None = None, environment: str | None = None) -> list[str]:
        """Methods that have a cell, everywhere or with this algorithm and task."""
        return ordered_methods(
            key[2]
            for key in self.cells
            if algorithm in (None, key[0]) and environment in (None, key[1])
        )

    def cell(self, algorithm: str, environment: str, method: str, setting: Setting) -> Estimate:
        """One cell; missing (n = 0) where no run has it."""
        return self.cells.get((algorithm, environment, method, setting), missing("mean over seeds"))

    def has_nominal(self) -> bool:
        """Whether any cell is unperturbed."""
        return any(key[3] == NOMINAL for key in self.cells)


def ordered_settings(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings by perturbation, then by level."""
    settings = list(settings)
    order = in_order((name for name, _ in settings), PERTURBATION_LABELS)
    return tuple(sorted(set(settings), key=lambda s: (order.index(s[0]), s[1])))


def results_of_runs(runs: Iterable[Run], suite: str) -> Results:
    """Collect the evaluations of one suite."""
    runs = list(runs)
    notes: list[str] = []
    scores: dict[tuple[str, str, str], list[dict[Setting, float]]] = defaultdict(list)
    for run in runs:
        if suite in run.evaluations:
            means = setting_means(run.evaluations[suite], run.path.name, notes)
            scores[run.algorithm, run.environment, run.method].append(means)
    seen = {setting for tables in scores.values() for means in tables for setting in means}
    settings = ordered_settings(seen - {NOMINAL})
    seeds = {
        (*key, setting): tuple(means[setting] for means in tables if setting in means)
        for key, tables in scores.items()
        for setting in seen
        if any(setting in means for means in tables)
    }
    by_group, nominal = _complete_runs(scores, settings, notes)
    return Results(
        settings=settings,
        cells={key: mean_interval(values) for key, values in seeds.items()},
        runs=by_group,
        nominal=nominal,
        notes=tuple(dict.fromkeys(notes)),
        left_out=_left_out(runs, suite),
        seeds=seeds,
        floors=_floors(runs),
        foreign=frozenset(run.method for run in runs if run.foreign),
    )


def _floors(runs: Iterable[Run]) -> dict[str, float]:
    """The return of random actions in each task, from the evaluation that played them most."""
    found: dict[str, tuple[float, int]] = {}
    for run in runs:
        for evaluation in run.evaluations.values():
            played = evaluation.random_return
            if played is not None and played[1] > found.get(run.environment, (0.0, 0))[1]:
                found[run.environment] = played
    return {task: mean for task, (mean, _) in found.items()}


def _left_out(runs: Iterable[Run], suite: str) -> tuple[str, ...]:
    why: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        if suite in run.evaluations:
            for label, reason in run.evaluations[suite].left_out.items():
                labels = why.setdefault(run.environment, {}).setdefault(reason, [])
                labels += [label] if label not in labels else []
    return tuple(
        brief(f"{task}: " + "; ".join(f"{', '.join(names)} ({r})" for r, names in reasons.items()))
        for task, reasons in why.items()
    )


def setting_means(evaluation: Evaluation, name: str, notes: list[str]) -> dict[Setting, float]:
    """Mean return of each setting; episodes whose simulation diverged are left out and noted."""
    finite = np.isfinite(evaluation.returns)
    if not finite.all():
        notes.append(f"{name}: {np.sum(~finite)} episodes diverged and are left out")
    names, which = np.unique(evaluation.perturbation[finite], return_inverse=True)
    keys = np.column_stack([which, evaluation.level[finite]])
    settings, rows, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    sums = np.bincount(rows.ravel(), evaluation.returns[finite], minlength=len(settings))
    means = {
        (str(names[int(index)]), round(float(level), 9)): float(total / count)
        for (index, level), total, count in zip(settings, sums, counts, strict=True)
    }
    return _worst_alone(means) if evaluation.statistic == "worst" else means


def _worst_alone(means: dict[Setting, float]) -> dict[Setting, float]:
    """Of a suite whose worst counts, the nominal return and the worst of the others."""
    perturbed = [mean for setting, mean in means.items() if setting != NOMINAL]
    worst = {(WORST, float(len(perturbed))): min(perturbed)} if perturbed else {}
    return {setting: mean for setting, mean in means.items() if setting == NOMINAL} | worst


def _complete_runs(
    scores: Mapping[tuple[str, str, str], list[dict[Setting, float]]],
    settings: tuple[Setting, ...],
    notes: list[str],
) -> tuple[dict[Group, dict[str, np.ndarray]], dict[Group, dict[str, np.ndarray]]]:
    """Runs that have every setting: only they can enter a mean over settings."""
    runs: dict[Group, dict[str, np.ndarray]] = defaultdict(dict)
    nominal: dict[Group, dict[str, np.ndarray]] = defaultdict(dict)
    for (algorithm, environment, method), tables in scores.items():
        whole = [means for means in tables if all(setting in means for setting in settings)]
        if len(whole) < len(tables):
            notes.append(
                f"{environment} {algorithm} {method}: {len(tables) - len(whole)} of {len(tables)} "
                "runs lack settings and are left out of means over settings"
            )
        if whole and settings:
            group = algorithm, environment
            runs[group][method] = np.array([[means[s] for s in settings] for means in whole])
            nominal[group][method] = np.array([means.get(NOMINAL, np.nan) for means in whole])
    return dict(runs), dict(nominal)


def results_of_paper(both_forms: bool = False) -> Results:
    """The paper's tables: published means and intervals, one row [1, settings] per method.

    Args:
        both_forms: whether learners are named with their form of uncertainty, here transitions.
    """
    published = "published mean and 95% interval"

    def named(algorithm: str) -> str:
        return algorithm_in(algorithm, "transitions") if both_forms else algorithm

    cells = {
        (named(c.algorithm), c.environment, c.method, (c.perturbation, c.level)): Estimate(
            c.mean, c.mean - c.ci95, c.mean + c.ci95, PAPER_SEEDS, published
        )
        for c in paper_results()
    }
    settings = ordered_settings(key[3] for key in cells)
    runs: dict[Group, dict[str, np.ndarray]] = defaultdict(dict)
    for algorithm, environment, method, _ in cells:
        row = [cells[algorithm, environment, method, setting].value for setting in settings]
        runs[algorithm, environment][method] = np.array([row])
    return Results(settings, cells, dict(runs), {})


def restricted(results: Results, other: Results) -> Results:
    """The part of the results whose groups, methods and settings the other has too."""
    settings = tuple(s for s in results.settings if s in other.settings)
    columns = [results.settings.index(s) for s in settings]
    shared = {
        (*group, method)
        for group, methods in results.runs.items()
        for method in methods
        if method in other.runs.get(group, {})
    }

    def keep(by_group: Mapping[Group, Mapping[str, np.ndarray]], pick: Any) -> dict:
        kept = {
            group: {m: x[pick] for m, x in methods.items() if (*group, m) in shared}
            for group, methods in by_group.items()
        }
        return {group: methods for group, methods in kept.items() if methods}

    cells = {
        key: cell
        for key, cell in results.cells.items()
        if key[:3] in shared and (key[3] in settings or key[3] == NOMINAL)
    }
    runs = keep(results.runs, np.s_[:, columns])
    return replace(
        results, settings=settings, cells=cells, runs=runs, nominal=keep(results.nominal, np.s_[:])
    )
