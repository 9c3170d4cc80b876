"""Leave out tables that can be read and yet not be shown, so that one does not stop a report."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from drspcrl.display import shown
from drspcrl.runfolder.runs import DEFAULT_SUITE, Evaluation, Run, RunSet, Skipped

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
