"""`make demo`: train a small population, try it under perturbations, leave a page to look at."""

import argparse
import shutil
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from drspcrl.cli.evaluate import Evaluate
from drspcrl.cli.report import Report
from drspcrl.cli.train import Train
from drspcrl.runfolder.runs import Run, read_runs
from drspcrl.statistics import mean_interval

METHODS = ("vanilla", "nominal", "fixed", "self_paced")
KINDS = ("none", "action", "observation", "environment")


def run(command: str, work) -> None:
    """Show a command as one would type it, and do it."""
    print(f"\n$ {command}", flush=True)
    work.run()


def summary(runs: tuple[Run, ...]) -> Table:
    """Mean return over the seeds of each method, by kind of perturbation, and the last ε."""
    table = Table(title="mean return over 2 seeds ± 95% interval; five levels of each perturbation")
    for name in ("method", "nominal", "action", "observation", "environment", "last ε"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for method in METHODS:
        own = [run for run in runs if run.method == method]
        cells = [_cell([_mean(run, kind) for run in own]) for kind in KINDS]
        ε = np.mean([run.metrics["epsilon"][-1] for run in own])
        table.add_row(method, *cells, f"{ε:.2f}")
    return table


def _mean(run: Run, kind: str) -> float:
    """Mean return of a run over the levels of one kind of perturbation."""
    episodes = run.evaluations["paper"]
    return float(np.nanmean(episodes.returns[episodes.perturbation == kind]))


def _cell(values: list[float]) -> str:
    found = mean_interval(values)
    return f"{found.value:,.0f} ± {found.half_width:,.0f}"


def main() -> None:
    """Train, evaluate, report, sum up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("demo-output"))
    given = parser.parse_args()
    started, runs = time.perf_counter(), given.out / "runs"
    shutil.rmtree(runs, ignore_errors=True)  # of an earlier demo
    what = f"--env Hopper --algorithm ppo --methods {' '.join(METHODS)} --seeds 0 1"
    what += " --uncertainty transitions"
    run(
        f"drspcrl train {what} --steps {given.steps} --out {runs}",
        Train(
            *("Hopper", "ppo", runs),
            methods=METHODS,
            seeds=(0, 1),
            steps=given.steps,
            uncertainty="transitions",
        ),
    )
    run(
        f"drspcrl evaluate {runs} --episodes {given.episodes}",
        Evaluate(runs, episodes=given.episodes),
    )
    report = given.out / "report"
    run(f"drspcrl report {runs} --out {report}", Report(runs, report))
    print()
    Console().print(summary(read_runs(runs).runs))
    print(
        f"\nDone in {time.perf_counter() - started:.0f} s. So short a training shows how things "
        f"work, not which method is best.\nLook at {report / 'index.html'}"
    )


if __name__ == "__main__":
    main()
