"""Make run folders full of made-up numbers, to try the report on.

    python scripts/synthetic_runs.py --out runs/synthetic

Every folder says `"synthetic": true` in its run.json, and a report on such folders carries a
banner. The numbers follow smooth curves with noise; they say nothing about any method.
"""

import argparse
import csv
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

TASKS = {"Hopper": 2600, "HalfCheetah": 6400, "Walker2d": 3600, "Humanoid": 4800}
ALGORITHMS = {"ppo": 0.55, "sac": 1.0, "ddpg": 0.8}
# method → how ε grows; which method comes out ahead is left to chance in every group
METHODS = {
    "vanilla": "zero",
    "fixed": "one",
    "linear": "linear",
    "domain_randomization": "uniform",
    "accel": "steps",
    "space": "late",
    "self_paced": "sigmoid",
}
PERTURBATIONS = {"action": 3.2, "observation": 4.0, "environment": 2.0}
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5)
COLUMNS = (
    "step", "episode_return", "episode_length", "epsilon", "beta", "robust_value",
    "value_spread", "steps_per_second", "actor_loss", "critic_loss", "entropy", "nominal_loss",
)  # fmt: skip


def write_runs(
    out: Path,
    *,
    tasks: Sequence[str] = tuple(TASKS),
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    methods: Sequence[str] = tuple(METHODS),
    seeds: int = 5,
    rows: int = 1000,
    episodes: int = 100,
) -> None:
    """Write one folder for every combination."""
    for task in tasks:
        for algorithm in algorithms:
            for method in methods:
                for seed in range(seeds):
                    write_run(out, task, algorithm, method, seed, rows=rows, episodes=episodes)


def write_run(
    out: Path,
    task: str,
    algorithm: str,
    method: str,
    seed: int,
    *,
    rows: int = 1000,
    episodes: int = 100,
    folder: str | None = None,
) -> Path:
    """Write one synthetic run folder and return its path."""
    identity = {"env": task, "algorithm": algorithm, "method": method, "seed": seed}
    path = Path(out) / (folder or f"{task}-{algorithm}-{method}-s{seed}")
    path.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(zlib.crc32(json.dumps(identity).encode()))
    top = TASKS.get(task, 1000) * ALGORITHMS.get(algorithm, 0.5)
    luck = np.random.default_rng(zlib.crc32(f"{task} {algorithm} {method}".encode()))
    keep, frailty = luck.uniform(0.7, 1.0), luck.uniform(0.9, 1.5)
    growth = METHODS.get(method, "linear")
    level = top * keep * (1 + 0.07 * random.normal())
    info = {"format_version": 1, "status": "finished", "synthetic": True, **identity}
    (path / "run.json").write_text(json.dumps(info, indent=2) + "\n", encoding="utf-8")
    (path / "config.yaml").write_text(yaml.safe_dump(identity), encoding="utf-8")
    _write(path / "metrics.csv", COLUMNS, _metrics(level, growth, rows, random))
    header = ("perturbation", "level", "episode", "return", "length")
    _write(path / "evaluation.csv", header, _evaluation(level, frailty, episodes, random))
    return path


def _metrics(level: float, growth: str, rows: int, random: np.random.Generator) -> list[list]:
    time = np.arange(1, rows + 1) / rows
    speed = 5 * (1 + 0.2 * random.normal())
    wander = np.cumsum(random.normal(size=rows)) / np.sqrt(rows)
    returns = level * (1 - np.exp(-speed * time)) * (1 + 0.05 * wander)
    returns += 0.06 * abs(level) * random.normal(size=rows)
    epsilon = _epsilon(growth, time, random)
    beta = 4 * np.exp(-2 * epsilon) * (0.3 + time) * (1 + 0.05 * random.normal(size=rows))
    columns = [
        1000 * np.arange(1, rows + 1),
        returns,
        np.minimum(1000, 200 + 1000 * time),
        epsilon,
        beta * (epsilon > 0),
        returns / 12 - 20 * epsilon,
        3 + np.abs(wander),
        900 + 30 * random.normal(size=rows),
        *random.normal(size=(4, rows)),
    ]
    return [[f"{value:.7g}" for value in row] for row in zip(*columns, strict=True)]


def _epsilon(growth: str, time: np.ndarray, random: np.random.Generator) -> np.ndarray:
    jitter = 0.03 * random.normal()
    curves = {
        "zero": np.zeros_like(time),
        "one": np.ones_like(time),
        "linear": time,
        "uniform": random.random(len(time)),
        "steps": np.floor(8 * time) / 8,
        "late": np.clip(2 * time - 0.7, 0, 1),
        "sigmoid": 0.92 / (1 + np.exp(-12 * (time - 0.4 - jitter))),
    }
    return curves[growth]


def _evaluation(
    level: float, frailty: float, episodes: int, random: np.random.Generator
) -> list[list]:
    rows = _episodes("none", 0, level, episodes, random)
    for name, bite in PERTURBATIONS.items():
        for strength in LEVELS:
            mean = level * np.exp(-bite * frailty * strength) * (1 + 0.06 * random.normal())
            rows += _episodes(name, strength, mean, episodes, random)
    return rows


def _episodes(
    name: str, level: float, mean: float, episodes: int, random: np.random.Generator
) -> list[list]:
    returns = mean * (1 + 0.15 * random.normal(size=episodes))
    return [[name, level, i, f"{value:.6g}", 1000] for i, value in enumerate(returns)]


def _write(path: Path, header: Sequence[str], rows: list[list]) -> None:
    aside = path.with_suffix(".tmp")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    os.replace(aside, path)


def main() -> None:
    """Write the 420 runs of the paper's grid, or a part of it."""
    parser = argparse.ArgumentParser(description="make synthetic run folders")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="rows of metrics.csv")
    parser.add_argument("--episodes", type=int, default=100, help="episodes per setting")
    write_runs(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
