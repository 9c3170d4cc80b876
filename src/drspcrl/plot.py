"""Figures of runs for papers and notebooks, as Matplotlib figures.

    from drspcrl import plot

    figure = plot.learning_curves("runs", algorithm="sac", tasks=["Hopper"])
    figure.savefig("curves.pdf")

They are the report's figures: the same sums, looks and rules, such as that fewer than five seeds
are drawn one by one. Every function takes a folder with run folders, or what `read` made of one,
so that several figures read it once. Nothing here imports JAX, and Matplotlib only what it draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from drspcrl.errors import InputError
from drspcrl.report.collected import as_reported, usable
from drspcrl.report.curves import METRICS, curves_of_runs
from drspcrl.report.figures.methods import improvement as draw_improvement
from drspcrl.report.figures.methods import profiles as draw_profiles
from drspcrl.report.figures.settings import frontier as draw_frontier
from drspcrl.report.figures.settings import means, robustness
from drspcrl.report.figures.style import Paint
from drspcrl.report.figures.training import METRIC_LABELS, training
from drspcrl.report.names import (
    TASK_ORDER,
    in_order,
    looks,
    method_label,
    ordered_algorithms,
    ordered_methods,
)
from drspcrl.report.results import Results, results_of_runs
from drspcrl.report.summary import aggregates
from drspcrl.runfolder.runs import Run, read_runs
from drspcrl.runfolder.tables import DEFAULT_SUITE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Choice",
    "Runs",
    "SuiteChoice",
    "frontier",
    "improvement",
    "learning_curves",
    "levels",
    "methods",
    "price",
    "profiles",
    "radius",
    "read",
]

Metric = Literal["episode_return", "epsilon", "beta", "price"]


@dataclass(frozen=True)
class Runs:
    """The runs below a folder, as a report groups and names them.

    Attributes:
        folder: Where they were read.
        runs: Every run; a policy from elsewhere stands beside each learner of its task.
    """

    folder: Path
    runs: tuple[Run, ...]

    @property
    def algorithms(self) -> list[str]:
        """The learners; `sac:worlds` and `sac:transitions` where there are both forms."""
        return ordered_algorithms(run.algorithm for run in self.runs)

    @property
    def tasks(self) -> list[str]:
        """The tasks."""
        return in_order({run.environment for run in self.runs}, TASK_ORDER)

    @property
    def methods(self) -> list[str]:
        """The methods."""
        return ordered_methods(run.method for run in self.runs)

    @property
    def suites(self) -> list[str]:
        """The suites that some run was evaluated in."""
        return in_order({s for run in self.runs for s in run.evaluations}, (DEFAULT_SUITE,))


def read(folder: str | Path) -> Runs:
    """Read the runs at or below a folder, for several figures.

    Raises:
        InputError: there is none.
    """
    found = usable(read_runs(folder, metrics=("step", *METRICS)))
    if not found.runs:
        raise InputError(f"no readable run at or below {folder}; give a folder that train wrote")
    return Runs(Path(folder), as_reported(found.runs))


class Choice(TypedDict, total=False):
    """Which runs a figure shows.

    Attributes:
        algorithm: The learner; may be left out where there is one.
        tasks: The tasks; all unless given.
        methods: The methods, as in run folders; all unless given.
    """

    algorithm: str | None
    tasks: Sequence[str] | None
    methods: Sequence[str] | None


class SuiteChoice(Choice, total=False):
    """Which evaluations a figure shows.

    Attributes:
        suite: The suite; the paper's, or the first there is, unless given.
    """

    suite: str | None


def learning_curves(
    runs: str | Path | Runs, *, metric: Metric = "episode_return", **choice: Unpack[Choice]
) -> "Figure":
    """Episode return during training, or another metric, by method: a panel for each task.

    Args:
        runs: A folder with runs, or what `read` made of it.
        metric: `episode_return`, `epsilon`, `beta` or `price`.
        **choice: `algorithm`, `tasks` and `methods`, see `Choice`.

    Raises:
        InputError: There is no such learner, task or method, or none has this metric.
    """
    if metric not in METRIC_LABELS:
        raise InputError(f"metric is {metric!r}; choose one of {', '.join(METRIC_LABELS)}")
    chosen = _choose(runs, choice)
    paint = Paint(looks(chosen.methods))
    curves = curves_of_runs(chosen.runs)
    figure = training(curves, chosen.algorithms[0], chosen.tasks, metric, paint)
    return _drawn(figure, f"no training of these runs has the metric {metric}")


def radius(runs: str | Path | Runs, **choice: Unpack[Choice]) -> "Figure":
    """The radius ε during training; arguments as for `learning_curves`."""
    return learning_curves(runs, metric="epsilon", **choice)


def price(runs: str | Path | Runs, **choice: Unpack[Choice]) -> "Figure":
    """The price of robustness during training in worlds; arguments as for `learning_curves`."""
    return learning_curves(runs, metric="price", **choice)


def levels(runs: str | Path | Runs, **choice: Unpack[SuiteChoice]) -> "Figure":
    """Return by the level of each perturbation: tasks down, perturbations across.

    Args:
        runs: A folder with runs, or what `read` made of it.
        **choice: `algorithm`, `tasks`, `methods` and `suite`, see `SuiteChoice`.

    Raises:
        InputError: There is no such learner, task, method or suite.
    """
    results, paint, learner = _evaluated(runs, choice)
    return _drawn(robustness(results, learner, paint), "these runs have no perturbed setting")


def methods(runs: str | Path | Runs, **choice: Unpack[SuiteChoice]) -> "Figure":
    """Methods side by side: the mean over all perturbed settings; arguments as for `levels`."""
    results, paint, learner = _evaluated(runs, choice)
    return _drawn(means(results, learner, paint), "no run has every setting")


def frontier(runs: str | Path | Runs, **choice: Unpack[SuiteChoice]) -> "Figure":
    """Return under perturbation against unperturbed return; arguments as for `levels`."""
    results, paint, learner = _evaluated(runs, choice)
    figure = draw_frontier(results, learner, paint)
    return _drawn(figure, "no run has every setting and an unperturbed return")


def profiles(runs: str | Path | Runs, **choice: Unpack[SuiteChoice]) -> "Figure":
    """The share of normalised scores above each threshold; arguments as for `levels`."""
    results, paint, learner = _evaluated(runs, choice)
    figure = draw_profiles({learner: aggregates(results, learner)}, paint)
    return _drawn(figure, "no scores on a common scale: this needs vanilla's unperturbed return")


def improvement(
    runs: str | Path | Runs, method: str = "self_paced", **choice: Unpack[SuiteChoice]
) -> "Figure":
    """How probably a run of a method beats one of each other; arguments as for `levels`."""
    results, paint, learner = _evaluated(runs, choice)
    figure = draw_improvement({learner: aggregates(results, learner)}, method, paint)
    return _drawn(figure, f"{method_label(method)} has no other method to compare with")


def _evaluated(runs: str | Path | Runs, choice: SuiteChoice) -> tuple[Results, Paint, str]:
    chosen = _choose(runs, choice)
    suites, suite = chosen.suites, choice.get("suite")
    if not suites:
        raise InputError("these runs have not been evaluated; run drspcrl evaluate first")
    wanted = suites[0] if suite is None else _one("suite", suite, suites)
    results = results_of_runs(chosen.runs, wanted)
    return results, Paint(looks(chosen.methods)), chosen.algorithms[0]


def _choose(runs: str | Path | Runs, choice: Choice) -> Runs:
    """The runs of one learner that are asked for."""
    found = runs if isinstance(runs, Runs) else read(runs)
    algorithm = choice.get("algorithm")
    if algorithm is None and len(found.algorithms) > 1:
        raise InputError(f"there are several learners; say algorithm={found.algorithms[0]!r}, of "
                         f"{', '.join(found.algorithms)}")  # fmt: skip
    learner = found.algorithms[0] if algorithm is None else algorithm
    wanted_learner = _one("algorithm", learner, found.algorithms)
    of_learner = Runs(found.folder, tuple(r for r in found.runs if r.algorithm == wanted_learner))
    kept_tasks = _some("task", choice.get("tasks"), of_learner.tasks)
    kept_methods = _some("method", choice.get("methods"), of_learner.methods)
    kept = (r for r in of_learner.runs if r.environment in kept_tasks and r.method in kept_methods)
    return Runs(found.folder, tuple(kept))


def _some(what: str, wanted: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    if wanted is None:
        return known
    return [_one(what, one, known) for one in ([wanted] if isinstance(wanted, str) else wanted)]


def _one(what: str, wanted: str, known: Sequence[str]) -> str:
    if wanted not in known:
        raise InputError(f"{what} is {wanted!r}; choose of {', '.join(known)}")
    return wanted


def _drawn(figure: "Figure | None", why: str) -> "Figure":
    if figure is None:
        raise InputError(f"there is nothing to draw: {why}")
    return figure
