"""The figure: how far each parameter may go alone, and what the worlds found consist of."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drspcrl.display import printable
from drspcrl.evaluation.stress.result import StressResult
from drspcrl.evaluation.stress.search import Side
from drspcrl.files import write_durably

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("stress.png", "stress.svg")
_INK, _SOFT, _HOLDS, _NEAR, _WORST = "#1f2430", "#6b7280", "#9fd0c7", "#b42318", "#475569"
_RC: Any = {
    "font.size": 8.5,
    "text.parse_math": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "drspcrl",
}


def draw(result: StressResult, folder: Path) -> None:
    """Write the figure as PNG and SVG, aside first and then renamed."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = result.space.size
    with rc_context(_RC):
        figure = Figure(figsize=(9.2, 1.5 + 0.26 * max(rows, 3)), layout="constrained")
        alone, found = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _alone(alone, result)
        _found(found, result)
        figure.legend(frameon=False, fontsize=7.5, loc="outside lower right", ncols=2)
        figure.suptitle(
            printable(_title(result)), x=0.01, ha="left", size=10, weight="bold", color=_INK
        )
        for name in NAMES:
            content, metadata = io.BytesIO(), {"Date": None} if name.endswith(".svg") else {}
            figure.savefig(content, format=name[-3:], dpi=150, metadata=metadata)
            write_durably(folder / name, content.getvalue())


def _title(result: StressResult) -> str:
    said = "no failing world found"
    if result.nearest is not None:
        verb = "seems to fail" if result.nearest.verdict == "holds" else "fails"
        said = f"{verb} {result.nearest.distance:.3g} tolerances away"
    within, worst = result.info["question"]["within"], result.worst.fresh.value
    return (
        f"{result.info['env']}: {said}; worst within {within:g}: return {worst:.4g} "
        f"(nominal {result.nominal.value:.4g})"
    )


def _alone(axes: "Axes", result: StressResult) -> None:
    """One bar per parameter from where it fails below to where it fails above."""
    for side in result.alone:
        end = side.furthest if side.crossing is None else side.crossing
        axes.barh(side.coordinate, side.sign * end, color=_HOLDS, height=0.62)
        _label(axes, result, side, end)
    axes.axvline(0.0, color=_INK, linewidth=0.8)
    axes.set_yticks(range(result.space.size), list(map(printable, result.space.names)))
    axes.invert_yaxis()
    reach = 1.02 * max(side.furthest for side in result.alone)
    axes.set_xlim(-1.45 * reach, 1.45 * reach)
    axes.set_xlabel("tolerances")
    axes.set_title("each alone, up to where it fails (→ holds as far as was looked)", loc="left",
                   size=9, color=_INK)  # fmt: skip


def _label(axes: "Axes", result: StressResult, side: Side, end: float) -> None:
    """The end of a bar in the user's unit."""
    value = f"{result.space.value(side.coordinate, side.sign * end):.3g}"
    if side.crossing is None:
        value = f"{value} →" if side.sign > 0 else f"← {value}"
    axes.annotate(
        value, (side.sign * end, side.coordinate), (3 * side.sign, 0), textcoords="offset points",
        va="center", ha="left" if side.sign > 0 else "right", size=7,
        color=_SOFT if side.crossing is None else _INK,
    )  # fmt: skip


def _found(axes: "Axes", result: StressResult) -> None:
    """What the nearest failing and the worst world consist of."""
    rows = range(result.space.size)
    shown = [("worst within the radius", result.worst, _WORST, 0.17)]
    if result.nearest is not None:
        shown.insert(0, ("nearest failing", result.nearest, _NEAR, -0.17))
    for name, found, colour, shift in shown:
        axes.barh([k + shift for k in rows], found.point, height=0.3, color=colour, label=name)
    axes.axvline(0.0, color=_INK, linewidth=0.8)
    axes.set_xlabel("tolerances")
    axes.set_title("all together", loc="left", size=9, color=_INK)
