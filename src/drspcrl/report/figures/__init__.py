"""Draw every figure of a report as PNG and SVG."""

from collections.abc import Mapping, Sequence

from drspcrl.report.curves import METRICS, Curves
from drspcrl.report.figures.ablation import ablation, families
from drspcrl.report.figures.paint import Paint
from drspcrl.report.figures.pooled import improvement, profiles
from drspcrl.report.figures.settings import frontier, robustness
from drspcrl.report.figures.training import training
from drspcrl.report.names import FOCUS, in_order, ordered_methods, slugs
from drspcrl.report.results import Results
from drspcrl.report.summary import Aggregates

__all__ = ["Paint", "draw_figures"]

_METRIC_FILES = {"episode_return": "training", "epsilon": "epsilon", "beta": "beta"}


def draw_figures(
    results: Mapping[str, Results],
    curves: Curves,
    aggregates: Mapping[str, Mapping[str, Aggregates]],
    tasks: Sequence[str],
    paint: Paint,
) -> list[str]:
    """Draw all figures that the runs have data for; returns their names without suffix.

    Args:
        results: Results by suite.
        curves: Training curves.
        aggregates: By suite and algorithm.
        tasks: All tasks, in order.
        paint: Looks, folder and footer.
    """
    made = _training_figures(curves, tasks, paint)
    for suite, suffix in suite_suffixes(list(results)).items():
        made += _evaluation_figures(results[suite], aggregates[suite], suffix, paint)
    return made


def suite_suffixes(suites: Sequence[str]) -> dict[str, str]:
    """What a suite adds to file names: nothing for the paper's or the only one."""
    names = slugs(suites)
    plain = "paper" if "paper" in suites else (suites[0] if suites else "")
    return {suite: "" if suite == plain else f"-{names[suite]}" for suite in suites}


def _training_figures(curves: Curves, tasks: Sequence[str], paint: Paint) -> list[str]:
    algorithms = in_order({algorithm for algorithm, _ in curves}, ("ppo", "sac", "ddpg", "td3"))
    files = slugs(algorithms)
    named = [(a, m, f"{_METRIC_FILES[m]}-{files[a]}") for a in algorithms for m in METRICS]
    return [name for a, m, name in named if training(curves, a, tasks, m, paint, name)]


def _evaluation_figures(
    results: Results, aggregates: Mapping[str, Aggregates], suffix: str, paint: Paint
) -> list[str]:
    made = []
    for algorithm, file in slugs(results.algorithms).items():
        for kind, draw in (("robustness", robustness), ("frontier", frontier)):
            name = f"{kind}-{file}{suffix}"
            if draw(results, algorithm, paint, name):
                made.append(name)
    found = families(results.methods())
    for family, file in zip(found, slugs(f.file for f in found).values(), strict=True):
        name = f"ablation-{file}{suffix}"
        if ablation(results, family, paint, name):
            made.append(name)
    if profiles(aggregates, paint, f"profiles{suffix}"):
        made.append(f"profiles{suffix}")
    methods = ordered_methods(results.methods())
    focus = FOCUS if FOCUS in methods else (methods[-1] if methods else FOCUS)
    if improvement(aggregates, focus, paint, f"improvement{suffix}"):
        made.append(f"improvement{suffix}")
    return made
