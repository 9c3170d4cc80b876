"""What the figures share: looks, words at the edge, and the dress of one panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.report.escape import plain
from drspcrl.report.figures.style import INK, brief, fit, shorten_axis
from drspcrl.report.names import Look
from drspcrl.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def fit_estimates(axis_limits: Any, estimates: Sequence[Estimate]) -> None:
    """Fit an axis to estimates."""
    ends = [end for e in estimates for end in (e.low, e.high)]
    fit(axis_limits, [e.value for e in estimates], ends)


def seed_range(counts: Sequence[int] | np.ndarray) -> str:
    """The seeds behind a figure: one number, or the least and the most."""
    present = sorted({int(n) for n in counts if n > 0})
    if not present:
        return "0"
    return str(present[0]) if len(present) == 1 else f"{present[0]}–{present[-1]}"
