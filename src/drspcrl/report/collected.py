"""Everything a report shows, computed once and shared by tables, figures and page.

Evaluations that can be read but not shown are left out, so that one does not stop a report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.report.curves import METRICS, Curves, curves_of_runs
from drspcrl.report.names import (
    TASK_ORDER,
    algorithm_in,
    in_order,
    method_in,
    ordered_algorithms,
    ordered_methods,
)
from drspcrl.report.results import Results, restricted, results_of_paper, results_of_runs
from drspcrl.report.summary import Aggregates, Headline, aggregates, headline
from drspcrl.runfolder.runs import FOREIGN, Run, RunSet, Skipped, read_runs
from drspcrl.runfolder.tables import DEFAULT_SUITE, Evaluation

MOST_KINDS = 200
"""The most kinds of perturbation of a suite: each has a figure of its own."""
MOST_SETTINGS = 5_000
LARGEST = 1e100
"""The largest return, level or step; sums of squares of larger ones are infinite."""


def usable(found: RunSet) -> RunSet:
    """The same runs without tables that no report can show; each is named, with the reason."""
    runs, skipped = [], list(found.skipped)
    for run in found.runs:
        faults = {suite: _fault(evaluation) for suite, evaluation in run.evaluations.items()}
        for suite, reason in faults.items():
            if reason:
                skipped.append(Skipped(_file(run.path, suite), reason))
        kept = {suite: e for suite, e in run.evaluations.items() if not faults[suite]}
        run = replace(run, evaluations=kept)
        if reason := _fault_of_metrics(run):
            skipped.append(Skipped(run.path / "metrics.csv", reason))
            run = replace(run, metrics={})
        runs.append(run)
    return RunSet(tuple(runs), tuple(skipped))


def _fault(evaluation: Evaluation) -> str:
    """Why an evaluation cannot be shown; "" where it can."""
    level, returns = evaluation.level, evaluation.returns
    if wrong := _beyond(level):
        return f"it has the level {wrong}; run drspcrl evaluate with --overwrite"
    # A return that is not finite is an episode that diverged.
    if wrong := _beyond(returns[np.isfinite(returns)]):
        return f"it has the return {wrong}; run drspcrl evaluate with --overwrite"
    if (kinds := len(np.unique(evaluation.perturbation))) > MOST_KINDS:
        return f"it has {kinds:,} kinds of perturbation; a report shows at most {MOST_KINDS}"
    settings = len(set(zip(evaluation.perturbation.tolist(), level.tolist(), strict=True)))
    if settings > MOST_SETTINGS:
        return f"it has {settings:,} settings; a report shows at most {MOST_SETTINGS:,}"
    return ""


def _fault_of_metrics(run: Run) -> str:
    if "step" in run.metrics and (wrong := _beyond(run.metrics["step"])):
        return f"it has the step {wrong}; the run's curves are left out"
    for name, values in run.metrics.items():
        if wrong := _beyond(values[np.isfinite(values)]):
            return f"its column {shown(name)} has {wrong}; the run's curves are left out"
    return ""


def _beyond(values: np.ndarray) -> str:
    """The first value that is not finite or too large, in words; "" where there is none."""
    wrong = values[~(np.abs(values) <= LARGEST)]
    return f"{wrong[0]:g}" if len(wrong) else ""


def _file(folder: Path, suite: str) -> Path:
    return folder / ("evaluation.csv" if suite == DEFAULT_SUITE else f"evaluation-{suite}.csv")


@dataclass(frozen=True)
class Made:
    """One table or figure, in several formats.

    Attributes:
        folder: Where in the report it is.
        name: Its file's name without suffix.
        kind: `training`, `robustness`, `results`, …: which part of the page shows the same.
        title: What it is, in words.
        endings: Its formats.
        algorithm: The learner it is about, where it is about one.
        suite: The suite it is about, where it is about one.
    """

    folder: Literal["figures", "tables"]
    name: str
    kind: str
    title: str
    endings: tuple[str, ...]
    algorithm: str | None = None
    suite: str | None = None


@dataclass(frozen=True)
class Collected:
    """What the runs below one folder say.

    Attributes:
        found: The runs and the folders that were skipped.
        results: By suite, the paper's first.
        curves: Training curves.
        aggregates: By suite and algorithm.
        headlines: By suite and source ("ours", "paper, ...").
        paper: The paper's results where a comparison was asked for.
        command: The command that made the report.
        note: What whoever made it has to say, shown above everything else.
    """

    found: RunSet
    results: Mapping[str, Results]
    curves: Curves
    aggregates: Mapping[str, Mapping[str, Aggregates]]
    headlines: Mapping[str, Mapping[str, Headline]]
    paper: Results | None
    command: str
    note: str = ""

    @property
    def tasks(self) -> list[str]:
        """All tasks, in the order of tables."""
        return in_order({run.environment for run in self.found.runs}, TASK_ORDER)

    @property
    def algorithms(self) -> list[str]:
        """All algorithms, in the order of tables."""
        return ordered_algorithms(run.algorithm for run in self.found.runs)

    @property
    def methods(self) -> list[str]:
        """All methods, in the order of tables."""
        return ordered_methods(run.method for run in self.found.runs)

    @property
    def distinct(self) -> list[Run]:
        """Every run once; a policy from elsewhere stands beside each learner in `found`."""
        return list({run.path: run for run in self.found.runs}.values())

    @property
    def synthetic(self) -> int:
        """How many runs are made up."""
        return sum(run.synthetic for run in self.distinct)


def collect(source: Path, compare: str | None, command: str, note: str = "") -> Collected:
    """Read the runs below `source` and do all sums over them."""
    if compare not in (None, "paper"):
        raise InputError(f"cannot compare with {shown(compare)}; give 'paper' or leave it out")
    found = usable(read_runs(source, metrics=("step", *METRICS)))
    if not found.runs:
        why = f": {found.skipped[0].path}: {found.skipped[0].reason}" if found.skipped else ""
        raise InputError(
            f"no readable run folder at or below {source} ({len(found.skipped)} skipped{why}); "
            "give the folder that `drspcrl train --out` wrote"
        )
    both = has_both_forms(found.runs)
    found = replace(found, runs=as_reported(found.runs))
    suites = in_order({s for run in found.runs for s in run.evaluations}, (DEFAULT_SUITE,))
    results = {suite: results_of_runs(found.runs, suite) for suite in suites}
    paper = results_of_paper(both) if compare else None
    return Collected(
        found=found,
        results=results,
        curves=curves_of_runs(found.runs),
        aggregates={
            suite: {a: aggregates(r, a) for a in r.algorithms} for suite, r in results.items()
        },
        headlines={suite: _headlines(r, paper) for suite, r in results.items()},
        paper=paper,
        command=command,
        note=note,
    )


def has_both_forms(runs: Sequence[Run]) -> bool:
    """Whether some runs are of worlds and others of transitions."""
    return len({run.uncertainty for run in runs if not run.foreign}) > 1


def as_reported(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs as tables group and name them: what is of worlds apart from what is of transitions.

    Both may have a method of one name, and it is not the same method. Where both occur, the
    learner's name says which; in worlds two methods have other names. A policy from elsewhere
    stands beside every learner of its task.
    """
    both = has_both_forms(runs)

    def reported(run: Run) -> Run:
        form = run.uncertainty
        algorithm = algorithm_in(run.algorithm, form) if both else run.algorithm
        task = run.environment.removesuffix("-v5")
        task = task if task in TASK_ORDER else run.environment
        return replace(
            run, environment=task, algorithm=algorithm, method=method_in(run.method, form)
        )

    trained = [reported(run) for run in runs if not run.foreign]
    return (*trained, *_beside_learners([run for run in runs if run.foreign], trained))


def _beside_learners(foreign: Sequence[Run], trained: Sequence[Run]) -> list[Run]:
    """Policies from elsewhere once for each learner of their task, or in a group of their own."""
    learners: dict[str, dict[str, None]] = {}
    for run in trained:
        learners.setdefault(run.environment, {})[run.algorithm] = None
    return [
        replace(run, algorithm=learner)
        for run in foreign
        for learner in learners.get(run.environment, (FOREIGN,))
    ]


def _headlines(ours: Results, paper: Results | None) -> dict[str, Headline]:
    """Ours, and where the paper is compared, both sides over what they share."""
    sources: dict[str, Results] = {"ours": ours}
    if paper is not None:
        shared, paper_shared = restricted(ours, paper), restricted(paper, ours)
        if set(shared.cells) != set(ours.cells):
            sources["ours, shared with the paper"] = shared
        if set(paper_shared.cells) != set(paper.cells):
            sources["paper, shared with ours"] = paper_shared
        sources["paper"] = paper
    found = {source: headline(results) for source, results in sources.items() if results.runs}
    return {source: made for source, made in found.items() if made is not None}
