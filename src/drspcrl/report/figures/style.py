"""One style for every figure: sizes, grid, legend, panels, footer, saving."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drspcrl.report.escape import plain
from drspcrl.report.few import FEW, drawn
from drspcrl.report.names import FOCUS, Look, method_label
from drspcrl.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, GRID, WARNING = "#1f2430", "#6b7280", "#e5e7eb", "#b42318"
PANEL = (2.9, 2.15)  # inches; two of them fill a column of a paper and stay readable

_RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    # Names may hold dollar signs; none of them is mathematics.
    "text.parse_math": False,
    "axes.edgecolor": "#9aa1ac",
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "drspcrl",
}


class Sheet:
    """A grid of panels with title and legend above and a footer below.

    All places are given in inches: that costs nothing, where Matplotlib's layout engines measure
    every label of every panel again and again.

    Attributes:
        figure: The Matplotlib figure.
        panels: The axes, row by row.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        handles: Sequence[Any],
        *,
        size: tuple[float, float] = PANEL,
        left: float = 0.58,
        bottom: float = 0.43,
        footer: float = 0.32,
        note: str = "",
    ) -> None:
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        size = max(size[0], 4.2 / columns), size[1]
        self._handles, self._note = handles, plain(note) if note else ""
        self._width = size[0] * columns + 0.08
        self._per_row = max(1, int(self._width / 1.2))
        # A wide sheet has room for the note beside the title, a narrow one gives it a line.
        self._note_line = 0.2 if note and self._width < 6.5 else 0.0
        top = 0.36 + self._note_line + 0.17 * -(-len(handles) // self._per_row)
        self._height = top + size[1] * rows + footer
        panel = size[0] - left - 0.1, size[1] - bottom - 0.32
        with rc_context(_RC):
            self.figure: Figure = Figure(figsize=(self._width, self._height))
            self.panels: list[list[Axes]] = [
                [
                    self.figure.add_axes(
                        (
                            (column * size[0] + left) / self._width,
                            (footer + (rows - 1 - row) * size[1] + bottom) / self._height,
                            panel[0] / self._width,
                            panel[1] / self._height,
                        )
                    )
                    for column in range(columns)
                ]
                for row in range(rows)
            ]

    def finish(self, footer: Sequence[str], title: str) -> "Figure":
        """Add title, legend and footer lines."""
        from matplotlib import rc_context

        edge, inch = 0.07 / self._width, 1 / self._height
        high = 1 - (0.08 + self._note_line) * inch
        with rc_context(_RC):
            words = self.figure.text
            words(edge, high, plain(title), va="top", size=11, weight="bold", color=INK)
            for line, text in enumerate(filter(None, reversed(footer))):
                words(edge, (0.05 + 0.11 * line) * inch, plain(text), size=6.2, color=SOFT)
            if self._note:
                side = (edge, "left") if self._note_line else (1 - edge, "right")
                place = {"x": side[0], "ha": side[1], "y": 1 - 0.08 * inch, "va": "top"}
                words(s=self._note, size=8, weight="bold", color=WARNING, **place)
            if self._handles:
                self.figure.legend(
                    handles=self._handles, loc="upper left", ncols=self._per_row, fontsize=8,
                    bbox_to_anchor=(edge, high - 0.22 * inch), borderaxespad=0, handlelength=1.9,
                    columnspacing=1.3, handletextpad=0.5, labelspacing=0.35,
                )  # fmt: skip
        return self.figure


def save(figure: "Figure", target: Path) -> None:
    """Write `target.png` and `target.svg`.

    Each is drawn once; `savefig` would draw it twice.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes: no reason to fail.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.set_dpi(200)
        FigureCanvasAgg(figure).print_png(target.with_suffix(".png"), metadata={"Software": ""})
        FigureCanvasSVG(figure).print_svg(target.with_suffix(".svg"), metadata={"Date": None})


def line_style(method: str, look: Look) -> dict[str, Any]:
    """Matplotlib's arguments for the line of one method."""
    focus = method == FOCUS
    dash = tuple(float(part) for part in look.dash.split())
    return {
        "color": look.light,
        "linewidth": 2.1 if focus else 1.35,
        "linestyle": (0, dash) if dash else "solid",
        "zorder": 3 if focus else 2,
    }


def marker_style(method: str, look: Look) -> dict[str, Any]:
    """Matplotlib's arguments for the marker of one method."""
    size = {"*": 8.5, "P": 6.5, "X": 6.0}.get(look.marker, 5.0)
    return {
        "marker": look.marker,
        "markersize": size,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "color": look.light,
    }


def legend_handles(looks: Mapping[str, Look], *, markers: bool, lines: bool = True) -> list[Any]:
    """One entry for each method, drawn as in the panels."""
    from matplotlib.lines import Line2D

    handles = []
    for method, look in looks.items():
        style = line_style(method, look)
        style |= marker_style(method, look) if markers else {}
        if not lines:
            style["linestyle"] = "none"
        handles.append(Line2D([], [], label=brief(method_label(method)), **style))
    return handles


def brief(text: str) -> str:
    """A name that fits its place."""
    text = plain(text)
    return text if len(text) <= 16 else f"{text[:15]}…"


def short_number(value: float, _: object = None) -> str:
    """Axis label: 12k for 12,000, 1.5M for 1,500,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def shorten_axis(axis: Any) -> None:
    """Few, short tick labels."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(short_number))


def fit(axis_limits: Any, values: Sequence[float], ends: Sequence[float]) -> None:
    """Set limits so that all values and all ends of intervals are inside.

    A cut interval would be another one than the table's.
    """
    reach = [x for x in (*values, *ends) if isfinite(x)]
    if not reach:
        return
    low, high = min(reach), max(reach)
    spread = high - low or abs(high) or 1.0
    axis_limits(low - 0.06 * spread, high + 0.06 * spread)


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
