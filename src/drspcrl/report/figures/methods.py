"""Figures over the methods of an algorithm: profiles, probability of improvement, ablations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.report.few import FEW
from drspcrl.report.figures.settings import errorbar, levels_of
from drspcrl.report.figures.style import (
    PANEL,
    SOFT,
    Paint,
    Point,
    Sheet,
    brief,
    dress,
    fit_points,
    interval_words,
    legend_handles,
    line_style,
    marker_style,
    seed_range,
)
from drspcrl.report.names import (
    SETTING_SYMBOLS,
    Look,
    algorithm_label,
    as_variant,
    method_label,
    ordered_methods,
    perturbation_label,
    written_changes,
)
from drspcrl.report.results import Results
from drspcrl.report.summary import Aggregates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    footer = f"{scale}; {_interval_words(any(np.isfinite(band).all() for band in bands), 'bands')}"
    return sheet.finish(paint.footer(footer), "Performance profiles")


def _interval_words(intervals: bool, what: str) -> str:
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
    footer = f"mean over tasks and settings; {_interval_words(whole, 'intervals over seeds')}"
    return sheet.finish(paint.footer(footer), title)


# From light to dark, all readable on white: the order of the values is the order of the lines.
_RAMP = ("#f0a04b", "#e0703f", "#c6425a", "#963484", "#5f3a96", "#2f3b7d", "#10243e")
_MARKERS = "sD^vPXh"
_REFERENCE = "vanilla"


@dataclass(frozen=True)
class Family:
    """Variants of one method that change the same settings.

    Attributes:
        method: the method.
        names: the settings, by name.
        members: labels of the variants, in the order of their values.
    """

    method: str
    names: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def file(self) -> str:
        """A file name, once made safe."""
        return f"{self.method} {' '.join(self.names)}"


def families(methods: Iterable[str]) -> list[Family]:
    """All families with at least two members."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for method in ordered_methods(methods):
        variant = as_variant(method)
        if variant is not None:
            found.setdefault((variant.method, tuple(sorted(variant.changes))), []).append(method)
    return [Family(*key, tuple(members)) for key, members in found.items() if len(members) > 1]


def ablation(results: Results, family: Family, paint: Paint) -> "Figure | None":
    """Return against the level of each perturbation: learners and tasks down, a line a value."""
    rows = [
        (algorithm, task)
        for algorithm in results.algorithms
        for task in results.environments(algorithm)
        if len(set(results.methods(algorithm, task)) & set(family.members)) > 1
    ]
    kinds = list(dict.fromkeys(setting[0] for setting in results.settings))
    if not rows or not kinds:
        return None
    drawn = _looks(family, paint)
    handles = legend_handles({_words(m): look for m, look in drawn.items()}, markers=True)
    sheet = Sheet(
        len(rows), len(kinds), handles, size=(PANEL[0], 1.85), bottom=0.28, footer=0.5,
        note=paint.note,
    )  # fmt: skip
    counts = []
    for panels, row in zip(sheet.panels, rows, strict=True):
        for axes, kind in zip(panels, kinds, strict=True):
            shown = _draw(axes, results, row, kind, drawn)
            counts += [point.estimate.n for point in shown]
            bottom, left = row == rows[-1], kind == kinds[0]
            x, y = perturbation_label(kind) if bottom else "", "return" if left else ""
            title = f"{algorithm_label(row[0])}, {row[1]}" if left else ""
            dress(axes, title, x, y, short_x=False)
    symbols = ", ".join(SETTING_SYMBOLS.get(name, name) for name in family.names)
    bars = interval_words(counts, "Student t 95% bars")
    footer = f"mean over seeds (n = {seed_range(counts)}), {bars}; 0 is unperturbed"
    title = f"{method_label(family.method)}: what {symbols} does"
    return sheet.finish(paint.footer(footer), title)


def _draw(
    axes: "Axes", results: Results, row: tuple[str, str], kind: str, looks: dict[str, Look]
) -> list[Point]:
    shown: list[Point] = []
    for method, look in looks.items():
        points = levels_of(results, *row, method, kind)
        errorbar(axes, points, method, look)
        shown += [point for _, point in points]
    fit_points(axes.set_ylim, shown)
    return shown


def _looks(family: Family, paint: Paint) -> dict[str, Look]:
    looks = {m: look for m, look in paint.looks.items() if m == _REFERENCE}
    last = max(1, len(family.members) - 1)
    for place, method in enumerate(family.members):
        colour = _RAMP[round(place * (len(_RAMP) - 1) / last)]
        looks[method] = Look(colour, colour, "", _MARKERS[place % len(_MARKERS)])
    return looks


def _words(method: str) -> str:
    variant = as_variant(method)
    return ", ".join(written_changes(variant)) if variant is not None else method
