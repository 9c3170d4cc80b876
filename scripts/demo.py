"""`make demo`: train a small population, try it under perturbations, leave a page to look at.

Why this task, these levels and this length: docs/studies/demo.md.
"""

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

TASK, METHODS = "InvertedPendulum-v5", ("vanilla", "self_paced")
SUITE = Path(__file__).with_name("demo_suite.yaml")
KINDS = ("none", "action", "observation", "environment")


def show(command: str, work: Train | Evaluate | Report) -> None:
    """Show a command as one would type it, and do it."""
    print(f"\n$ {command}", flush=True)
    work.run()


def mean_return(run: Run, *kinds: str) -> float:
    """Mean return of a run over the levels of these kinds of perturbation."""
    episodes = run.evaluations[SUITE.stem]
    return float(np.nanmean(episodes.returns[np.isin(episodes.perturbation, kinds)]))


def summary(runs: tuple[Run, ...]) -> Table:
    """Mean return of each method by kind of perturbation; over all of them, with its seeds."""
    table = Table(title="mean return")
    for name in ("method", "unperturbed", "action", "sensors", "physics", "perturbed (seeds)"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for method in METHODS:
        own = [run for run in runs if run.method == method]
        means = (np.mean([mean_return(run, kind) for run in own]) for kind in KINDS)
        seeds = [mean_return(run, *KINDS[1:]) for run in own]
        last = f"{np.mean(seeds):,.0f} ({min(seeds):,.0f} to {max(seeds):,.0f})"
        table.add_row(method, *(f"{mean:,.0f}" for mean in means), last)
    return table


def finding(plain: list[float], robust: list[float]) -> str:
    """What was seen, in one sentence, whichever way it went.

    Args:
        plain: Mean return over all perturbed settings of each seed of vanilla.
        robust: The same of self_paced.
    """
    gain = np.mean(robust) / np.mean(plain) - 1
    means = f"{np.mean(robust):,.0f} against {np.mean(plain):,.0f} ({gain:+.0%})"
    if np.mean(robust) <= np.mean(plain):
        return f"Self-paced is not ahead of vanilla here: mean return {means}"
    pairs = [ours > theirs for ours in robust for theirs in plain]
    how = "every seed above every seed" if all(pairs) else f"{np.mean(pairs):.0%} of pairs of seeds"
    return f"Self-paced is ahead of vanilla: mean return {means}, {how}"


def main() -> None:
    """Train, evaluate, say what was seen, report."""
    parser = argparse.ArgumentParser(description="Train, evaluate, report.")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--episodes", type=int, default=5, help="of each setting")
    parser.add_argument("--out", type=Path, default=Path("demo-output"))
    given = parser.parse_args()
    started, folder = time.perf_counter(), given.out / "runs"
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier demo
    seeds = tuple(range(given.seeds))
    show(
        f"drspcrl train --env {TASK} --algorithm ppo --methods {' '.join(METHODS)} "
        f"--seeds {' '.join(map(str, seeds))} --steps {given.steps} --out {folder}",
        Train(TASK, "ppo", folder, methods=METHODS, seeds=seeds, steps=given.steps),
    )
    show(
        f"drspcrl evaluate {folder} --suite {SUITE.name} --episodes {given.episodes}",
        Evaluate(folder, suite=str(SUITE), episodes=given.episodes),
    )
    runs = read_runs(folder).runs
    perturbed = {m: [mean_return(r, *KINDS[1:]) for r in runs if r.method == m] for m in METHODS}
    seen = finding(perturbed["vanilla"], perturbed["self_paced"])
    note = (
        f"{seen}. A short demonstration: a pole on a cart, {given.steps:,} steps, {given.seeds} "
        "seeds; it shows how things work and not how large the gain is elsewhere."
    )
    report = given.out / "report"
    show(f"drspcrl report {folder} --out {report}", Report(folder, report, note=note))
    print()
    Console().print(summary(runs))
    print(f"\n{note}\n\nDone in {time.perf_counter() - started:.0f} s.")
    print(f"Look at {report / 'index.html'}")


if __name__ == "__main__":
    main()
