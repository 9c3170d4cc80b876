"""Curves of return, ε and β during training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.report.curves import Curve, Curves
from drspcrl.report.figures.style import (
    Paint,
    Sheet,
    dress,
    fit,
    hide,
    interval_words,
    legend_handles,
    line_style,
    seed_range,
)
from drspcrl.report.names import Look, algorithm_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRIC_LABELS = {
    "episode_return": ("Training return", "return"),
    "epsilon": ("Robustness budget ε", "ε"),
    "beta": ("Dual variable β", "β"),
    "price": ("Price of robustness", "price"),
}


def training(
    curves: Curves, algorithm: str, tasks: Sequence[str], metric: str, paint: Paint
) -> "Figure | None":
    """Curves of one metric with their bands, a panel for each task."""
    tasks = [t for t in tasks if any(metric in m for m in curves.get((algorithm, t), {}).values())]
    if not tasks:
        return None
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
        # ε, β and the price are never negative, whatever a symmetric interval says.
        least = -np.inf if metric == "episode_return" else 0.0
        ends = [np.ravel(c.seeds) if c.few else np.ravel(c.band) for c in shown]
        fit(axes.set_ylim, list(means), list(np.maximum(np.concatenate(ends), least)))
        dress(axes, task, "environment steps", METRIC_LABELS[metric][1])
    hide(flat[len(tasks) :])
    counts = [c[metric].n for group in found for c in group.values() if metric in c]
    seeds = np.concatenate(counts)
    words = interval_words([max(c) for c in counts], "Student t 95% band")
    footer = paint.footer(f"mean over seeds (n = {seed_range(seeds)}), {words}")
    return sheet.finish(footer, f"{METRIC_LABELS[metric][0]}, {algorithm_label(algorithm)}")


def _band_line(axes: "Axes", curve: Curve, method: str, look: Look) -> None:
    if curve.few and len(curve.seeds) > 1:
        for seed in curve.seeds:
            axes.plot(curve.steps, seed, color=look.light, linewidth=0.6, alpha=0.4)
    elif not curve.few:
        axes.fill_between(curve.steps, *curve.band, color=look.light, alpha=0.14, linewidth=0)
    axes.plot(curve.steps, curve.mean, **line_style(method, look))
