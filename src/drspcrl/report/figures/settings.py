"""Figures over the evaluated settings: robustness curves and the frontier."""

from typing import TYPE_CHECKING

from drspcrl.report.figures.paint import Paint, dress, fit_estimates, hide, seed_range
from drspcrl.report.figures.style import PANEL, Sheet, legend_handles, line_style, marker_style
from drspcrl.report.names import Look, algorithm_label, perturbation_label
from drspcrl.report.results import NOMINAL, Results
from drspcrl.report.summary import group_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
                points = levels_of(results, algorithm, task, method, kind)
                if points:
                    levels, estimates = zip(*points, strict=True)
                    drawn += estimates
                    errorbar(axes, levels, estimates, method, look)
            counts += [estimate.n for estimate in drawn]
            fit_estimates(axes.set_ylim, drawn)
            bottom, left = task == tasks[-1], kind == kinds[0]
            x, y = perturbation_label(kind) if bottom else "", "return" if left else ""
            dress(axes, task if left else "", x, y, short_x=False)
    title = f"Return under perturbation, {algorithm_label(algorithm)}"
    footer = f"mean over seeds (n = {seed_range(counts)}), Student t 95% bars; 0 is unperturbed"
    sheet.finish(paint.footer(footer), title, paint.folder / name)
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
        fit_estimates(axes.set_xlim, across)
        fit_estimates(axes.set_ylim, up)
        dress(axes, task, "unperturbed return", "mean over all settings (M)")
    hide(flat[len(tasks) :])
    title = f"Robustness against performance, {algorithm_label(algorithm)}"
    footer = paint.footer("mean over seeds, Student t 95% bars")
    sheet.finish(footer, title, paint.folder / name)
    return True


def levels_of(results: Results, algorithm: str, task: str, method: str, kind: str) -> list:
    """The levels of one perturbation that a method was evaluated at, with their estimates."""
    settings = [NOMINAL, *(s for s in results.settings if s[0] == kind)]
    cells = [(s[1], results.cell(algorithm, task, method, s)) for s in settings]
    return [(level, estimate) for level, estimate in cells if estimate.n]


def errorbar(axes: "Axes", levels, estimates, method: str, look: Look) -> None:
    """Draw the estimates of one method."""
    values = [e.value for e in estimates]
    half = [e.half_width if e.has_interval else 0.0 for e in estimates]
    axes.errorbar(
        levels, values, yerr=half, elinewidth=0.8, capsize=0,
        **(line_style(method, look) | marker_style(method, look)),
    )  # fmt: skip
