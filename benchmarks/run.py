"""Run every benchmark of this folder and write `benchmarks/results.md`.

    python benchmarks/run.py [name ...]

Each benchmark is a script that prints a Markdown table; peers are measured in the same run, because
machines differ and are shared.
"""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"
BENCHMARKS = {
    "divergences": "Worst-case problems",
    "tabular": "Exact robust MDPs",
    "envs": "Batched environments",
    "evaluation": "The paper's suite on one policy",
    "training_speed": "Whole trainings beside Stable-Baselines3 and SBX",
    "robust_cost": "Robust updates beside plain ones",
    "worlds_cost": "Training in worlds beside plain training",
    "checkpoint": "Checkpoints of a run of a million steps",
    "grid_engines": "Grids with Ray beside grids without",
}
PACKAGES = ("drspcrl", "jax", "mujoco", "gymnasium", "numpy", "scipy")


def run(name: str) -> str:
    print(f"{name} ...", flush=True)
    script = [sys.executable, str(HERE / f"{name}.py")]
    return subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def heading() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        "# Benchmarks\n\n"
        f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{versions}. Absolute rates depend on the machine; ratios were measured in one run.\n"
    )


def main(names: list[str]) -> None:
    if unknown := set(names) - BENCHMARKS.keys():
        sys.exit(
            f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    sections = [heading()]
    for name in names or BENCHMARKS:
        table = run(name)
        print(table, flush=True)
        sections.append(f"## {BENCHMARKS[name]}\n\n`python benchmarks/{name}.py`\n\n{table}\n")
    if names:  # a part of them is to look at; results.md is always of one whole run
        return
    aside = RESULTS.with_suffix(".tmp")
    aside.write_text("\n".join(sections), encoding="utf-8")
    os.replace(aside, RESULTS)
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main(sys.argv[1:])
