"""Draw every figure of a report as PNG and SVG."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drspcrl.report.collected import Made
from drspcrl.report.curves import Curves
from drspcrl.report.figures.methods import ablation, families, improvement, profiles
from drspcrl.report.figures.settings import frontier, means, robustness
from drspcrl.report.figures.style import Paint, save
from drspcrl.report.figures.training import METRIC_LABELS, training
from drspcrl.report.names import (
    FOCUS,
    algorithm_label,
    method_label,
    ordered_algorithms,
    ordered_methods,
    slugs,
)
from drspcrl.report.results import Results
from drspcrl.report.summary import Aggregates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Paint", "draw_figures"]

_METRIC_FILES = {
    "episode_return": "training",
    "epsilon": "epsilon",
    "beta": "beta",
    "price": "price",
}
_ENDINGS = ("png", "svg")
_BY_LEARNER = {
    "robustness": (robustness, "Return under perturbation"),
    "frontier": (frontier, "Robustness against performance"),
    "means": (means, "Methods side by side"),
}


def draw_figures(
    results: Mapping[str, Results],
    curves: Curves,
    aggregates: Mapping[str, Mapping[str, Aggregates]],
    tasks: Sequence[str],
    paint: Paint,
    folder: Path,
) -> list[Made]:
    """Draw all figures that the runs have data for; returns what was made.

    Args:
        results: Results by suite.
        curves: Training curves.
        aggregates: By suite and algorithm.
        tasks: All tasks, in order.
        paint: Looks and footer.
        folder: Where they are written.
    """
    made = []
    for one, figure in _figures(results, curves, aggregates, tasks, paint):
        if figure is not None:
            save(figure, folder / one.name)
            made.append(one)
    return made


def suite_suffixes(suites: Sequence[str]) -> dict[str, str]:
    """What a suite adds to file names: nothing for the paper's or the only one."""
    names = slugs(suites)
    plain = "paper" if "paper" in suites else (suites[0] if suites else "")
    return {suite: "" if suite == plain else f"-{names[suite]}" for suite in suites}


Drawn = Iterator[tuple[Made, "Figure | None"]]


def _figures(
    results: Mapping[str, Results],
    curves: Curves,
    aggregates: Mapping[str, Mapping[str, Aggregates]],
    tasks: Sequence[str],
    paint: Paint,
) -> Drawn:
    algorithms = ordered_algorithms(algorithm for algorithm, _ in curves)
    for algorithm, file in slugs(algorithms).items():
        for metric, kind in _METRIC_FILES.items():
            title = f"{METRIC_LABELS[metric][0]}, {algorithm_label(algorithm)}"
            figure = training(curves, algorithm, tasks, metric, paint)
            yield Made("figures", f"{kind}-{file}", kind, title, _ENDINGS, algorithm), figure
    for suite, suffix in suite_suffixes(list(results)).items():
        yield from _of_learners(results[suite], suite, suffix, paint)
        yield from _of_variants(results[suite], suite, suffix, paint)
        yield from _pooled(results[suite], aggregates[suite], suite, suffix, paint)


def _of_learners(results: Results, suite: str, suffix: str, paint: Paint) -> Drawn:
    for algorithm, file in slugs(results.algorithms).items():
        for kind, (draw, words) in _BY_LEARNER.items():
            title = f"{words}, {algorithm_label(algorithm)}"
            one = Made("figures", f"{kind}-{file}{suffix}", kind, title, _ENDINGS, algorithm, suite)
            yield one, draw(results, algorithm, paint)


def _of_variants(results: Results, suite: str, suffix: str, paint: Paint) -> Drawn:
    found = families(results.methods())
    for family, file in zip(found, slugs(f.file for f in found).values(), strict=True):
        title = f"{method_label(family.method)}: what {', '.join(family.names)} does"
        name = f"ablation-{file}{suffix}"
        one = Made("figures", name, "ablation", title, _ENDINGS, None, suite)
        yield one, ablation(results, family, paint)


def _pooled(
    results: Results, aggregates: Mapping[str, Aggregates], suite: str, suffix: str, paint: Paint
) -> Drawn:
    methods = ordered_methods(results.methods())
    focus = FOCUS if FOCUS in methods else (methods[-1] if methods else FOCUS)
    drawn = {
        "profiles": ("Performance profiles", profiles(aggregates, paint)),
        "improvement": (
            f"Probability of improvement of {method_label(focus)}",
            improvement(aggregates, focus, paint),
        ),
    }
    for kind, (title, figure) in drawn.items():
        yield Made("figures", f"{kind}{suffix}", kind, title, _ENDINGS, None, suite), figure
