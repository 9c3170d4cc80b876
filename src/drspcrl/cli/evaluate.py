"""The command `evaluate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from drspcrl.cli.say import say

if TYPE_CHECKING:
    from drspcrl.evaluation.folders import RunResult

POLICY_FILES = {"last": "policy.safetensors", "best": "policy-best.safetensors"}


@dataclass(frozen=True)
class Evaluate:
    """Evaluate every run below a folder under the perturbations of a suite.

    Writes evaluation.csv (for another suite than paper evaluation-SUITE.csv) into each run folder,
    and evaluation.json with what it was made with beside it.
    """

    dir: Annotated[Path, tyro.conf.Positional]
    """A run folder, or a folder with runs at any depth."""
    episodes: int = 100
    """Episodes for each setting."""
    suite: str = "paper"
    """paper, quick, noise, beyond, worst_case, or the path of a YAML file."""
    seed: int = 0
    """Where all randomness comes from; the same for every run."""
    policy: Literal["last", "best"] = "last"
    """The policy at the end of training, or the one that did best during it."""
    overwrite: bool = False
    """Evaluate again where a result is there already."""
    stochastic: bool = False
    """Sample actions as in training, instead of taking their mean."""
    threads: int = 0
    """Threads to simulate on, 0 for all usable cores; results do not depend on it."""
    jobs: int = 0
    """Processes to share runs and threads among, 0 for one per core; nor on this."""
    trust: tuple[str, ...] = ()
    """Environments of the runs whose module may be imported, as my_module:My-v0."""

    def run(self) -> None:
        """Evaluate; exit with code 1 if a run had to be left out, 2 if it was the only one."""
        from drspcrl.errors import InputError
        from drspcrl.evaluation import evaluate_runs, load_suite
        from drspcrl.policy import load_policy

        # What is typed here may import a module; what a folder or file says may not.
        suite = load_suite(self.suite, (*self.trust, self.suite))
        results = []
        for result in evaluate_runs(
            self.dir, load_policy, suite, self.episodes, self.seed,
            policy_file=POLICY_FILES[self.policy], overwrite=self.overwrite,
            deterministic=not self.stochastic, threads=self.threads, jobs=self.jobs,
            show="lines", trust=self.trust,
        ):  # fmt: skip
            say(_line(result))
            results.append(result)
        if len(results) == 1 and results[0].status == "skipped":
            raise InputError(f"{results[0].path} cannot be evaluated: {results[0].reason}")
        if len(results) == 1 and results[0].table is not None:
            for line in str(results[0].table).splitlines():
                say(line)
        else:
            for line in _left_out(results):
                say(line.rstrip("\n"))
        if any(result.status == "skipped" for result in results):
            raise SystemExit(1)


def _left_out(results: "list[RunResult]") -> list[str]:
    """One line for each task that has not what some settings of the suite need."""
    tables = [result.table for result in results if result.table is not None]
    lines = (f"{table.info['env']}: {table.left_out}\n" for table in tables if table.left_out)
    return list(dict.fromkeys(lines))


def _line(result: "RunResult") -> str:
    """One line about one run."""
    line = f"{result.status} {result.path}"
    if result.reason:
        line += f": {result.reason}"
    if result.status != "evaluated" or result.table is None:
        return line
    settings = result.table.summary()
    nominal = [s.mean for s in settings if s.perturbation == "none"]
    perturbed = [s.mean for s in settings if s.perturbation != "none"]
    lost = [f"{s.diverged} at {s.perturbation}={s.level:g}" for s in settings if s.diverged]
    parts = [f"nominal {nominal[0]:.1f}"] if nominal else []
    if perturbed:
        parts.append(f"perturbed {sum(perturbed) / len(perturbed):.1f} ({len(perturbed)} settings)")
    if lost:
        parts.append(f"episodes that diverged and are left out: {', '.join(lost)}")
    return f"{line}: {', '.join(parts)}"
