"""Figures over the evaluated settings: robustness curves and the frontier."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.report.few import drawn
from drspcrl.report.figures.style import (
    PANEL,
    Paint,
    Point,
    Sheet,
    brief,
    dress,
    fit_points,
    hide,
    interval_words,
    legend_handles,
    line_style,
    marker_style,
    seed_range,
)
from drspcrl.report.names import Look, algorithm_label, method_label, perturbation_label
from drspcrl.report.results import NOMINAL, Results
from drspcrl.report.summary import group_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def robustness(results: Results, algorithm: str, paint: Paint) -> "Figure | None":
    """Return against the level of each perturbation: tasks down, perturbations across."""
    tasks = results.environments(algorithm)
    kinds = list(dict.fromkeys(setting[0] for setting in results.settings))
    if not tasks or not kinds:
        return None
    handles = legend_handles(paint.some(results.methods(algorithm)), markers=True)
    size = (PANEL[0], 1.85)
    sheet = Sheet(
        len(tasks), len(kinds), handles, size=size, bottom=0.28, footer=0.5, note=paint.note
    )
    counts = []
    for row, task in zip(sheet.panels, tasks, strict=True):
        for axes, kind in zip(row, kinds, strict=True):
            shown = []
            for method, look in paint.some(results.methods(algorithm, task)).items():
                points = levels_of(results, algorithm, task, method, kind)
                errorbar(axes, points, method, look)
                shown += [point for _, point in points]
            counts += [point.estimate.n for point in shown]
            fit_points(axes.set_ylim, shown)
            bottom, left = task == tasks[-1], kind == kinds[0]
            x, y = perturbation_label(kind) if bottom else "", "return" if left else ""
            dress(axes, task if left else "", x, y, short_x=False)
    title = f"Return under perturbation, {algorithm_label(algorithm)}"
    bars = interval_words(counts, "Student t 95% bars")
    footer = f"mean over seeds (n = {seed_range(counts)}), {bars}; 0 is unperturbed"
    return sheet.finish(paint.footer(footer), title)


def frontier(results: Results, algorithm: str, paint: Paint) -> "Figure | None":
    """Return under perturbation against unperturbed return: up and right is better."""
    found = group_means(results)
    tasks = [
        task
        for task in results.environments(algorithm)
        if any((algorithm, task, m, NOMINAL) in results.cells for m in paint.looks)
        and (algorithm, task) in results.runs
    ]
    if not tasks:
        return None
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
            y = found.get((algorithm, task, method))
            if y is None or x.n == 0:
                continue
            seeds = frontier_seeds(results, (algorithm, task), method)
            across.append(Point(x, seeds[0]))
            up.append(Point(y, seeds[1]))
            _cross(axes, across[-1], up[-1], method, look)
        fit_points(axes.set_xlim, across)
        fit_points(axes.set_ylim, up)
        dress(axes, task, "unperturbed return", "mean over all settings (M)")
    hide(flat[len(tasks) :])
    title = f"Robustness against performance, {algorithm_label(algorithm)}"
    counts = [results.cell(algorithm, task, m, NOMINAL).n for task in tasks for m in paint.looks]
    footer = paint.footer(f"mean over seeds, {interval_words(counts, 'Student t 95% bars')}")
    return sheet.finish(footer, title)


def means(results: Results, algorithm: str, paint: Paint) -> "Figure | None":
    """The mean over all perturbed settings, methods side by side: a panel for each task."""
    found = group_means(results)
    tasks = [task for task in results.environments(algorithm) if (algorithm, task) in results.runs]
    if not tasks:
        return None
    columns = min(4, len(tasks))
    most = max(len(results.runs[algorithm, task]) for task in tasks)
    size = (3.3, 0.85 + 0.26 * most)
    sheet = Sheet(-(-len(tasks) // columns), columns, [], size=size, left=1.05, note=paint.note)
    flat = [axes for row in sheet.panels for axes in row]
    counts = []
    for axes, task in zip(flat, tasks, strict=False):
        runs = results.runs[algorithm, task]
        names = [m for m in reversed(list(paint.looks)) if m in runs]
        points = [
            Point(found[algorithm, task, name], runs[name].mean(axis=1).tolist()) for name in names
        ]
        for place, (name, point) in enumerate(zip(names, points, strict=True)):
            _row(axes, place, point, name, paint.looks[name])
        counts += [point.estimate.n for point in points]
        fit_points(axes.set_xlim, points)
        axes.set_yticks(range(len(names)), [brief(method_label(m)) for m in names])
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(visible=False, axis="y")
        dress(axes, task, "mean over all settings (M)", "", short_y=False)
    hide(flat[len(tasks) :])
    bars = interval_words(counts, "Student t 95% bars")
    footer = paint.footer(f"mean over seeds (n = {seed_range(counts)}), {bars}")
    return sheet.finish(footer, f"Methods side by side, {algorithm_label(algorithm)}")


def _row(axes: "Axes", place: int, point: Point, method: str, look: Look) -> None:
    """An estimate on a line of its own."""
    estimate = point.estimate
    if drawn(estimate):
        ends = [estimate.low, estimate.high]
        axes.plot(ends, [place, place], color=look.light, lw=2.6, alpha=0.45)
    else:
        _dots(axes, point.seeds, [place] * len(point.seeds), look)
    axes.plot([estimate.value], [place], **marker_style(method, look))


def _cross(axes: "Axes", x: Point, y: Point, method: str, look: Look) -> None:
    """Two estimates of one method, one across and one up."""
    across, up = x.estimate, y.estimate
    line = {"color": look.light, "lw": 1.2, "alpha": 0.55}
    if drawn(across) and drawn(up):
        axes.plot([across.low, across.high], [up.value] * 2, **line)
        axes.plot([across.value] * 2, [up.low, up.high], **line)
    else:
        _dots(axes, x.seeds, y.seeds, look)
    axes.plot([across.value], [up.value], **marker_style(method, look), zorder=4)


def _dots(axes: "Axes", x: Sequence[float], y: Sequence[float], look: Look) -> None:
    """Seeds, one by one."""
    axes.plot(x, y, linestyle="none", marker="o", ms=3.2, mew=0, color=look.light, alpha=0.5)


def frontier_seeds(
    results: Results, group: tuple[str, str], method: str
) -> tuple[list[float], list[float]]:
    """Each run's unperturbed return and its mean over all settings, where it has both."""
    nominal = results.nominal.get(group, {}).get(method, np.zeros(0))
    scores = results.runs.get(group, {}).get(method, np.zeros((0, 1)))
    both = np.isfinite(nominal)
    return nominal[both].tolist(), scores[both].mean(axis=1).tolist()


def levels_of(
    results: Results, algorithm: str, task: str, method: str, kind: str
) -> list[tuple[float, Point]]:
    """The levels of one perturbation that a method was evaluated at, with their estimates."""
    settings = [NOMINAL, *(s for s in results.settings if s[0] == kind)]
    keys = [(algorithm, task, method, setting) for setting in settings]
    points = [(k[3][1], Point(results.cell(*k), results.seeds.get(k, ()))) for k in keys]
    return [(level, point) for level, point in points if point.estimate.n]


def errorbar(axes: "Axes", points: Sequence[tuple[float, Point]], method: str, look: Look) -> None:
    """Draw the estimates of one method by level."""
    if not points:
        return
    levels = [level for level, _ in points]
    estimates = [point.estimate for _, point in points]
    half = [e.half_width if drawn(e) else 0.0 for e in estimates]
    axes.errorbar(
        levels, [e.value for e in estimates], yerr=half, elinewidth=0.8, capsize=0,
        **(line_style(method, look) | marker_style(method, look)),
    )  # fmt: skip
    for level, point in points:
        if not drawn(point.estimate):
            _dots(axes, [level] * len(point.seeds), point.seeds, look)
