"""The two pictures of `drspcrl solve`, and one of a family of worlds."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from drspcrl.curricula.base import to_coordinate
from drspcrl.divergences import Divergence
from drspcrl.files import write_durably
from drspcrl.tabular.fixed_points import FixedPoint
from drspcrl.tabular.frontier import FrontierPoint
from drspcrl.tabular.mdp import Array
from drspcrl.tabular.self_paced import Training

# Colours of Okabe and Ito, told apart by colour-blind readers; markers tell them apart in grey.
# Fixed is drawn broad and pale below self-paced: the two often coincide, and both must show.
STYLES: dict[str, dict[str, Any]] = {
    "nominal": {
        "color": "#555555",
        "marker": "s",
        "linestyle": "--",
        "linewidth": 1.8,
        "markersize": 5,
        "label": "nominal training (ε = 0)",
    },
    "fixed": {
        "color": "#E69F00",
        "marker": "^",
        "linewidth": 6,
        "markersize": 12,
        "alpha": 0.55,
        "label": "fixed training (at ε)",
    },
    "self_paced": {
        "color": "#0072B2",
        "marker": "o",
        "linewidth": 2.2,
        "markersize": 5.5,
        "label": "self-paced training (up to ε)",
    },
}
_INK, _GRID = "#222222", "#DDDDDD"
_OPTIMUM = {"color": _INK, "linestyle": ":", "linewidth": 1.6, "label": "robust optimum for ε"}


def draw_frontier(
    points: Sequence[FrontierPoint], divergence: Divergence, title: str, path: Path
) -> None:
    """Nominal and worst-case return against ε, for the optimum and the three trainings."""
    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, field, name in [
        (panels[0], "nominal_return", "In the nominal model"),
        (panels[1], "worst_case_return", "In the worst case of radius ε"),
    ]:
        for method, style in [*STYLES.items(), ("optimal", _OPTIMUM)]:
            line = [point for point in points if point.method == method]
            axes.plot(
                [p.radius for p in line], [getattr(p, field) for p in line], clip_on=False, **style
            )
        _radius_axis(axes, divergence, max(point.radius for point in points))
        _finish(axes, name, f"radius ε of the ball{_spacing(divergence)}")
    panels[0].set_ylabel("discounted return", fontsize=11)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.suptitle(title, fontsize=14, color=_INK, weight="bold")
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    _save(figure, path)


def draw_curriculum(
    run: Training, divergence: Divergence, budget: float, title: str, path: Path
) -> None:
    """ε and E[β*] over the iterations of the self-paced run with the full budget."""
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    color, steps = STYLES["self_paced"]["color"], np.arange(len(run.radii))
    above.axhline(budget, color=_INK, linewidth=1.2, linestyle="--")
    above.plot(steps, run.radii, color=color, linewidth=2.4)
    _radius_axis(above, divergence, budget, "y")
    for text, place, side in [
        ("budget", (0, budget), "left"),
        (f"ε = {run.radii[-1]:.3g}", (steps[-1], run.radii[-1]), "right"),
    ]:
        # Below the line near the top, above it near the bottom, so that nothing is crossed out.
        lift = -15 if place[1] > 0.2 * budget else 6
        above.annotate(text, place, (0, lift), textcoords="offset points", ha=side, fontsize=11)
    _finish(above, "How far the curriculum has gone", "", f"radius ε{_spacing(divergence)}")
    finite = np.isfinite(run.multipliers)
    shown = run.multipliers[finite]
    below.plot(steps[:-1][finite], shown, color=color, linewidth=2.4)
    if shown.size and shown.max() > 30 * shown.min() > 0:
        below.set_yscale("log")
    else:
        below.set_ylim(bottom=0)
    _finish(below, "What more robustness would cost", "iteration", "mean multiplier β*")
    figure.suptitle(title, fontsize=14, color=_INK, weight="bold")
    _save(figure, path)


class WorldPicture(NamedTuple):
    """What the picture of a family of worlds shows.

    Attributes:
        radii: ρ from 0 to the budget, [n].
        returns: J(π, ρ) of each policy by name (`nominal`, `fixed`, `self_paced`), and under
            `optimal` that of the best policy for each ρ; [n] each.
        prices: of the best policy for each ρ, [n].
        pacing: α.
        points: where the rule rests.
        runs: ρ over updates, of the rule from several starts; the first one is from 0.
    """

    radii: Array
    returns: Mapping[str, Array]
    prices: Array
    pacing: float
    points: Sequence[FixedPoint]
    runs: Sequence[Array]


_WORLD_LABELS = {
    "nominal": "best at ρ = 0 (plain)",
    "fixed": "best at the budget (fixed)",
    "self_paced": "where the self-paced rule ends",
}


def draw_worlds(picture: WorldPicture, title: str, path: Path) -> None:
    """Returns against ρ, price against pull, and the rule's way to its fixed points."""
    figure = Figure(figsize=(12.6, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _world_returns(left, picture)
    _price_and_pull(middle, picture)
    _ways_of_the_rule(right, picture)
    of_left, of_middle = left.get_legend_handles_labels(), middle.get_legend_handles_labels()
    handles, labels = (a + b for a, b in zip(of_left, of_middle, strict=True))
    below = {"loc": "outside lower center", "ncols": 4, "frameon": False, "fontsize": 10}
    figure.legend(handles, labels, **below)
    figure.suptitle(title, fontsize=14, color=_INK, weight="bold")
    _save(figure, path, dpi=110)


def _world_returns(axes: Axes, picture: WorldPicture) -> None:
    ρ, best = picture.radii, picture.returns["optimal"]
    for name, label in _WORLD_LABELS.items():
        style = {**STYLES[name], "label": label, "markevery": max(1, len(ρ) // 10)}
        axes.plot(ρ, picture.returns[name], **style)
    axes.plot(ρ, best, **{**_OPTIMUM, "label": "best for each ρ"})
    _mark_points(axes, picture, best, labelled=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    _finish(axes, "Worlds at radius ρ", "radius ρ", "mean discounted return")


def _price_and_pull(axes: Axes, picture: WorldPicture) -> None:
    ρ = picture.radii
    pull = 2 * picture.pacing * (ρ[-1] - ρ)
    axes.plot(ρ, picture.prices, color=_INK, linewidth=2, label="price of the best policy")
    axes.plot(ρ, pull, color="#009E73", linewidth=2, linestyle="--", label="pull 2α(ρ_b − ρ)")
    _mark_points(axes, picture, pull, labelled=True)
    _finish(axes, "Where the price meets the pull", "radius ρ")


def _ways_of_the_rule(axes: Axes, picture: WorldPicture) -> None:
    color = STYLES["self_paced"]["color"]
    for number, run in enumerate(picture.runs):
        axes.plot(run, color=color, linewidth=2.2, alpha=0.45 if number else 1.0)
    for point in picture.points:
        dashes = "-" if point.stable else ":"
        axes.axhline(point.radius, color="#999999", linewidth=1, linestyle=dashes, zorder=0)
    _finish(axes, "The rule from several starts", "update", "radius ρ")


def _mark_points(axes: Axes, picture: WorldPicture, line: Array, labelled: bool) -> None:
    """Fixed points on a line: filled where the rule comes to rest, hollow where it leaves."""
    for stable, name in [(True, "stable fixed point"), (False, "unstable fixed point")]:
        radii = [point.radius for point in picture.points if point.stable == stable]
        axes.scatter(
            radii,
            np.interp(radii, picture.radii, line),
            s=70,
            zorder=5,
            clip_on=False,
            edgecolors="#D55E00",
            facecolors="#D55E00" if stable else "white",
            label=name if labelled else None,
        )


def _radius_axis(axes: Axes, divergence: Divergence, top: float, side: str = "x") -> None:
    """Radii from 0 to `top` along one side, spaced by the divergence's coordinate."""
    rooted = divergence.scale == "sqrt"
    ticks = np.linspace(0, to_coordinate(divergence.scale, top), 6)
    radii = np.square(ticks) if rooted else ticks
    names = [f"{radius:.3g}" for radius in radii]
    set_scale, set_ticks, set_limits = (
        (axes.set_xscale, axes.set_xticks, axes.set_xlim)
        if side == "x"
        else (axes.set_yscale, axes.set_yticks, axes.set_ylim)
    )
    if rooted:
        set_scale("function", functions=(_root, np.square))
    set_ticks(radii, names)
    set_limits(0, top * 1.03)


def _root(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0.0))  # matplotlib asks slightly below 0 for margins


def _spacing(divergence: Divergence) -> str:
    return " (spaced by √ε)" if divergence.scale == "sqrt" else ""


def _finish(axes: Axes, title: str, below: str, beside: str = "") -> None:
    axes.set_title(title, fontsize=12, color=_INK, loc="left")
    axes.set_xlabel(below, fontsize=11)
    axes.set_ylabel(beside, fontsize=11)
    axes.tick_params(labelsize=10, color=_GRID)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")


def _save(figure: Figure, path: Path, dpi: int = 160) -> None:
    content = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(content, dpi=dpi, format="png")
    write_durably(path, content.getvalue())
