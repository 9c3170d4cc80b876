"""Figures over all tasks of an algorithm: performance profiles, probability of improvement."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.report.few import FEW
from drspcrl.report.figures.style import (
    SOFT,
    Paint,
    Sheet,
    brief,
    dress,
    legend_handles,
    line_style,
    marker_style,
)
from drspcrl.report.names import algorithm_label, method_label
from drspcrl.report.summary import Aggregates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def profiles(by_algorithm: Mapping[str, Aggregates], paint: Paint) -> "Figure | None":
    """Share of scores above each threshold, a panel for each algorithm."""
    shown = {a: x for a, x in by_algorithm.items() if x.profiles}
    if not shown:
        return None
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
        dress(axes, algorithm_label(algorithm), unit, "share of scores > τ", short_y=False)
    scale = next(iter(shown.values())).scale
    bands = [p.low for aggregate in shown.values() for p in aggregate.profiles.values()]
    footer = f"{scale}; {_words(any(np.isfinite(band).all() for band in bands), 'bands')}"
    return sheet.finish(paint.footer(footer), "Performance profiles")


def _words(intervals: bool, what: str) -> str:
    """What is drawn around pooled scores."""
    return f"stratified bootstrap 95% {what}" if intervals else f"fewer than {FEW} seeds: no {what}"


def improvement(
    by_algorithm: Mapping[str, Aggregates], method: str, paint: Paint
) -> "Figure | None":
    """Probability that a run of `method` beats one of each rival, a panel for each algorithm."""
    shown = {
        algorithm: {b: won for (a, b), won in x.improvement.items() if a == method}
        for algorithm, x in by_algorithm.items()
    }
    shown = {algorithm: rivals for algorithm, rivals in shown.items() if rivals}
    if not shown:
        return None
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
        dress(axes, algorithm_label(algorithm), label, "", short_x=False, short_y=False)
    title = f"Probability of improvement of {method_label(method)}"
    whole = any(won.has_interval for rivals in shown.values() for won in rivals.values())
    footer = f"mean over tasks and settings; {_words(whole, 'intervals over seeds')}"
    return sheet.finish(paint.footer(footer), title)
