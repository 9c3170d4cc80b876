"""The six kinds of figure, each from results alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.report.curves import Curve, Curves
from drspcrl.report.escape import plain
from drspcrl.report.figures.style import (
    INK,
    PANEL,
    SOFT,
    Sheet,
    brief,
    fit,
    legend_handles,
    line_style,
    marker_style,
    shorten_axis,
)
from drspcrl.report.names import (
    Look,
    algorithm_label,
    method_label,
    perturbation_label,
)
from drspcrl.report.results import NOMINAL, Results
from drspcrl.report.summary import Aggregates, group_means
from drspcrl.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRIC_LABELS = {
    "episode_return": ("Training return", "return"),
    "epsilon": ("Robustness budget ε", "ε"),
    "beta": ("Dual variable β", "β"),
}


@dataclass(frozen=True)
class Paint:
    """What every figure shares: looks, where it goes, and the words at its edge."""

    looks: Mapping[str, Look]
    folder: Path
    command: str
    note: str

    def some(self, methods: Sequence[str]) -> dict[str, Look]:
        """The looks of these methods, in the order of the legend."""
        return {method: look for method, look in self.looks.items() if method in methods}

    def footer(self, words: str) -> tuple[str, str]:
        """How the figure was made, and by which command."""
        return words, self.command


def training(
    curves: Curves, algorithm: str, tasks: Sequence[str], metric: str, paint: Paint, name: str
) -> bool:
    """Curves of one metric with their bands, a panel for each task."""
    tasks = [t for t in tasks if any(metric in m for m in curves.get((algorithm, t), {}).values())]
    if not tasks:
        return False
    found = [curves[algorithm, task] for task in tasks]
    drawn = [m for m in paint.looks if any(metric in group.get(m, {}) for group in found)]
    columns = min(4, len(tasks))
    handles = legend_handles(paint.some(drawn), markers=False)
    sheet = Sheet(-(-len(tasks) // columns), columns, handles, note=paint.note)
    flat = [axes for row in sheet.panels for axes in row]
    for axes, task, group in zip(flat, tasks, found, strict=False):
        for method in drawn:
            if metric in group.get(method, {}):
                _band_line(axes, group[method][metric], method, paint.looks[method])
        shown = [by[metric] for by in group.values() if metric in by]
        means = np.concatenate([c.mean for c in shown])
        halves = np.concatenate([c.half_width for c in shown])
        # ε and β are never negative, whatever a symmetric interval says.
        least = -np.inf if metric == "episode_return" else 0.0
        ends = np.maximum([means - halves, means + halves], least)
        fit(axes.set_ylim, list(means), list(ends.ravel()))
        _dress(axes, task, "environment steps", METRIC_LABELS[metric][1])
    _hide(flat[len(tasks) :])
    counts = [c[metric].n for group in found for c in group.values() if metric in c]
    seeds = _seed_range(np.concatenate(counts))
    footer = paint.footer(f"mean over seeds (n = {seeds}), Student t 95% band")
    title = f"{METRIC_LABELS[metric][0]}, {algorithm_label(algorithm)}"
    sheet.finish(footer, title, paint.folder / name)
    return True


def _band_line(axes: "Axes", curve: Curve, method: str, look: Look) -> None:
    low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
    axes.fill_between(curve.steps, low, high, color=look.light, alpha=0.14, linewidth=0)
    axes.plot(curve.steps, curve.mean, **line_style(method, look))


def robustness(results: Results, algorithm: str, paint: Paint, name: str) -> bool:
    """Return against the level of each perturbation: tasks down, perturbations across."""
    tasks = results.environments(algorithm)
    kinds = list(dict.fromkeys(setting[0] for setting in results.settings))
    if not tasks or not kinds:
        return False
    handles = legend_handles(paint.some(results.methods(algorithm)), markers=True)
    size = (PANEL[0], 1.85)
    sheet = Sheet(
        len(tasks), len(kinds), handles, size=size, bottom=0.28, footer=0.5, note=paint.note
    )
    counts = []
    for row, task in zip(sheet.panels, tasks, strict=True):
        for axes, kind in zip(row, kinds, strict=True):
            drawn = []
            for method, look in paint.some(results.methods(algorithm, task)).items():
                points = _levels(results, algorithm, task, method, kind)
                if points:
                    levels, estimates = zip(*points, strict=True)
                    drawn += estimates
                    _errorbar(axes, levels, estimates, method, look)
            counts += [estimate.n for estimate in drawn]
            _fit_estimates(axes.set_ylim, drawn)
            bottom, left = task == tasks[-1], kind == kinds[0]
            x, y = perturbation_label(kind) if bottom else "", "return" if left else ""
            _dress(axes, task if left else "", x, y, short_x=False)
    title = f"Return under perturbation, {algorithm_label(algorithm)}"
    footer = f"mean over seeds (n = {_seed_range(counts)}), Student t 95% bars; 0 is unperturbed"
    sheet.finish(paint.footer(footer), title, paint.folder / name)
    return True


def profiles(by_algorithm: Mapping[str, Aggregates], paint: Paint, name: str) -> bool:
    """Share of scores above each threshold, a panel for each algorithm."""
    shown = {a: x for a, x in by_algorithm.items() if x.profiles}
    if not shown:
        return False
    methods = [m for aggregate in shown.values() for m in aggregate.profiles]
    handles = legend_handles(paint.some(methods), markers=False)
    sheet = Sheet(1, len(shown), handles, size=(3.3, 2.7), note=paint.note)
    for axes, (algorithm, aggregate) in zip(sheet.panels[0], shown.items(), strict=True):
        for method, look in paint.some(list(aggregate.profiles)).items():
            profile = aggregate.profiles[method]
            band = (profile.thresholds, profile.low, profile.high)
            axes.fill_between(*band, color=look.light, alpha=0.14, linewidth=0)
            axes.plot(profile.thresholds, profile.share, **line_style(method, look))
        axes.set_ylim(-0.02, 1.02)
        unit = "normalised return τ" if "normalised" in aggregate.scale else "return τ"
        _dress(axes, algorithm_label(algorithm), unit, "share of scores > τ", short_y=False)
    scale = next(iter(shown.values())).scale
    footer = f"{scale}; stratified bootstrap 95% bands"
    target = paint.folder / name
    sheet.finish(paint.footer(footer), "Performance profiles", target)
    return True


def improvement(
    by_algorithm: Mapping[str, Aggregates], method: str, paint: Paint, name: str
) -> bool:
    """Probability that a run of `method` beats one of each rival, a panel for each algorithm."""
    shown = {
        algorithm: {b: won for (a, b), won in x.improvement.items() if a == method}
        for algorithm, x in by_algorithm.items()
    }
    shown = {algorithm: rivals for algorithm, rivals in shown.items() if rivals}
    if not shown:
        return False
    most = max(len(rivals) for rivals in shown.values())
    sheet = Sheet(1, len(shown), [], size=(3.3, 0.85 + 0.26 * most), left=1.05, note=paint.note)
    for axes, (algorithm, rivals) in zip(sheet.panels[0], shown.items(), strict=True):
        names = [m for m in reversed(list(paint.looks)) if m in rivals]
        for place, rival in enumerate(names):
            won, look = rivals[rival], paint.looks[rival]
            axes.plot([won.low, won.high], [place, place], color=look.light, lw=2.6, alpha=0.45)
            axes.plot([won.value], [place], **marker_style(rival, look))
        axes.axvline(0.5, color=SOFT, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
        axes.set_yticks(range(len(names)), [brief(method_label(m)) for m in names])
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlim(-0.02, 1.02)
        axes.grid(visible=False, axis="y")
        label = f"P({method_label(method)} > rival)"
        _dress(axes, algorithm_label(algorithm), label, "", short_x=False, short_y=False)
    title = f"Probability of improvement of {method_label(method)}"
    footer = paint.footer("mean over tasks and settings; stratified bootstrap 95% over seeds")
    sheet.finish(footer, title, paint.folder / name)
    return True


def frontier(results: Results, algorithm: str, paint: Paint, name: str) -> bool:
    """Return under perturbation against unperturbed return: up and right is better."""
    means = group_means(results)
    tasks = [
        task
        for task in results.environments(algorithm)
        if any((algorithm, task, m, NOMINAL) in results.cells for m in paint.looks)
        and (algorithm, task) in results.runs
    ]
    if not tasks:
        return False
    columns = min(4, len(tasks))
    handles = legend_handles(paint.some(results.methods(algorithm)), markers=True, lines=False)
    sheet = Sheet(
        -(-len(tasks) // columns), columns, handles, size=(PANEL[0], 2.6), note=paint.note
    )
    flat = [axes for row in sheet.panels for axes in row]
    for axes, task in zip(flat, tasks, strict=False):
        across, up = [], []
        for method, look in paint.some(results.methods(algorithm, task)).items():
            x = results.cell(algorithm, task, method, NOMINAL)
            y = means.get((algorithm, task, method))
            if y is None or x.n == 0:
                continue
            axes.plot([x.low, x.high], [y.value] * 2, color=look.light, lw=1.2, alpha=0.55)
            axes.plot([x.value] * 2, [y.low, y.high], color=look.light, lw=1.2, alpha=0.55)
            axes.plot([x.value], [y.value], **marker_style(method, look), zorder=4)
            across.append(x)
            up.append(y)
        _fit_estimates(axes.set_xlim, across)
        _fit_estimates(axes.set_ylim, up)
        _dress(axes, task, "unperturbed return", "mean over all settings (M)")
    _hide(flat[len(tasks) :])
    title = f"Robustness against performance, {algorithm_label(algorithm)}"
    footer = paint.footer("mean over seeds, Student t 95% bars")
    sheet.finish(footer, title, paint.folder / name)
    return True


def _levels(results: Results, algorithm: str, task: str, method: str, kind: str) -> list:
    settings = [NOMINAL, *(s for s in results.settings if s[0] == kind)]
    cells = [(s[1], results.cell(algorithm, task, method, s)) for s in settings]
    return [(level, estimate) for level, estimate in cells if estimate.n]


def _errorbar(axes: "Axes", levels, estimates, method: str, look: Look) -> None:
    values = [e.value for e in estimates]
    half = [e.half_width if e.has_interval else 0.0 for e in estimates]
    axes.errorbar(
        levels, values, yerr=half, elinewidth=0.8, capsize=0,
        **(line_style(method, look) | marker_style(method, look)),
    )  # fmt: skip


def _fit_estimates(axis_limits: Any, estimates: Sequence[Estimate]) -> None:
    ends = [end for e in estimates for end in (e.low, e.high)]
    fit(axis_limits, [e.value for e in estimates], ends)


def _dress(
    axes: "Axes", title: str, x: str, y: str, *, short_x: bool = True, short_y: bool = True
) -> None:
    heading = brief(title) if title else ""
    axes.set_title(heading, loc="left", size=9.5, weight="bold", color=INK)
    axes.set_xlabel(plain(x) if x else "")
    axes.set_ylabel(plain(y) if y else "")
    if short_x:
        shorten_axis(axes.xaxis)
    if short_y:
        shorten_axis(axes.yaxis)


def _hide(panels: Sequence["Axes"]) -> None:
    for axes in panels:
        axes.set_visible(False)


def _seed_range(counts: Sequence[int] | np.ndarray) -> str:
    present = sorted({int(n) for n in counts if n > 0})
    if not present:
        return "0"
    return str(present[0]) if len(present) == 1 else f"{present[0]}–{present[-1]}"
