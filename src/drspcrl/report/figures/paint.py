"""What the figures share: looks, words at the edge, and the dress of one panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drspcrl.report.escape import plain
from drspcrl.report.few import FEW, drawn
from drspcrl.report.figures.style import INK, brief, fit, shorten_axis
from drspcrl.report.names import Look
from drspcrl.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Paint:
    """What every figure shares: looks, and the words at its edge."""

    looks: Mapping[str, Look]
    command: str = ""
    note: str = ""

    def some(self, methods: Sequence[str]) -> dict[str, Look]:
        """The looks of these methods, in the order of the legend."""
        return {method: look for method, look in self.looks.items() if method in methods}

    def footer(self, words: str) -> tuple[str, str]:
        """How the figure was made, and by which command."""
        return words, self.command


def dress(
    axes: "Axes", title: str, x: str, y: str, *, short_x: bool = True, short_y: bool = True
) -> None:
    """Titles, labels and short ticks of one panel."""
    heading = brief(title) if title else ""
    axes.set_title(heading, loc="left", size=9.5, weight="bold", color=INK)
    axes.set_xlabel(plain(x) if x else "")
    axes.set_ylabel(plain(y) if y else "")
    if short_x:
        shorten_axis(axes.xaxis)
    if short_y:
        shorten_axis(axes.yaxis)


def hide(panels: Sequence["Axes"]) -> None:
    """Leave the places empty that no task needs."""
    for axes in panels:
        axes.set_visible(False)


class Point(NamedTuple):
    """An estimate, and the seeds that are drawn in place of its interval where they are few."""

    estimate: Estimate
    seeds: Sequence[float]

    @property
    def ends(self) -> Sequence[float]:
        """How far it reaches on the figure."""
        estimate = self.estimate
        return (estimate.low, estimate.high) if drawn(estimate) else self.seeds


def fit_points(axis_limits: Any, points: Sequence[Point]) -> None:
    """Fit an axis to estimates with what is drawn around them."""
    fit(axis_limits, [p.estimate.value for p in points], [end for p in points for end in p.ends])


def interval_words(counts: Sequence[int] | np.ndarray, whole: str) -> str:
    """What is drawn around means of so many seeds, for the foot of a figure."""
    present = [n for n in counts if n > 0]
    if not present or min(present) >= FEW:
        return whole
    if max(present) < FEW:
        return f"every seed drawn (fewer than {FEW})"
    return f"{whole}; every seed drawn where fewer than {FEW}"


def seed_range(counts: Sequence[int] | np.ndarray) -> str:
    """The seeds behind a figure: one number, or the least and the most."""
    present = sorted({int(n) for n in counts if n > 0})
    if not present:
        return "0"
    return str(present[0]) if len(present) == 1 else f"{present[0]}–{present[-1]}"
