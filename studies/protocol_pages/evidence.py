"""What there is: the runs of the protocol that were kept, and the paper's tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drspcrl.experiments.grid import load_grid
from drspcrl.experiments.population import Population
from drspcrl.report.names import algorithm_label
from drspcrl.report.results import Group, Results, results_of_paper, results_of_runs
from drspcrl.runfolder.runs import Run, Skipped, find_runs, read_runs
from drspcrl.runfolder.tables import DEFAULT_SUITE

FOCUS = "self_paced"
RIVALS = ("vanilla", "fixed", "linear", "domain_randomization", "accel", "space")
"""The paper's six other methods."""
SEVEN = (FOCUS, *RIVALS)
KINDS = ("action", "observation", "environment")


@dataclass(frozen=True)
class Evidence:
    """Everything the pages are made from.

    Attributes:
        runs: The runs that were kept and are of the protocol's length.
        results: Their evaluations.
        paper: The paper's tables in the same form.
        plan: The groups of the grid `protocol`, in its order.
        left_out: Folders that are not counted, each with the reason.
    """

    runs: tuple[Run, ...]
    results: Results
    paper: Results
    plan: tuple[Population, ...]
    left_out: tuple[Skipped, ...]

    @property
    def groups(self) -> list[Group]:
        """The protocol's groups, then any other that was measured or that the paper has."""
        planned = [(one.algorithm, one.env) for one in self.plan]
        return list(dict.fromkeys([*planned, *self.results.runs, *self.paper.runs]))

    @property
    def synthetic(self) -> bool:
        """Whether any run is made up."""
        return any(run.synthetic for run in self.runs)

    def seeds(self, group: Group, method: str) -> int:
        """Evaluated runs of a method in a group."""
        return len(self.results.runs.get(group, {}).get(method, ()))

    def complete(self, groups: Iterable[Group], methods: Sequence[str]) -> bool:
        """Whether these methods have all the protocol's seeds in these groups."""
        wanted = len(self.plan[0].seeds)
        return all(self.seeds(group, method) >= wanted for group in groups for method in methods)


def read_evidence(root: Path) -> Evidence:
    """Read the digests below a folder, which may not be there yet."""
    plan = load_grid("protocol").populations
    found = read_runs(root) if root.is_dir() and next(find_runs(root), None) else None
    runs, left_out = [], list(found.skipped) if found else []
    for run in found.runs if found else ():
        steps = run.config.get("steps", plan[0].steps)
        if steps == plan[0].steps:
            runs.append(run)
        else:
            left_out.append(Skipped(run.path, f"it has {steps} steps, not {plan[0].steps:,}"))
    results = results_of_runs(runs, DEFAULT_SUITE)
    return Evidence(tuple(runs), results, results_of_paper(), plan, tuple(left_out))


def group_title(group: Group) -> str:
    """A group in words."""
    return f"{algorithm_label(group[0])}, {group[1]}"
