"""Variants of one method that differ in a setting: what that setting does, learner by learner."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drspcrl.report.figures.settings import errorbar, levels_of
from drspcrl.report.figures.style import (
    PANEL,
    Paint,
    Point,
    Sheet,
    dress,
    fit_points,
    interval_words,
    legend_handles,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
