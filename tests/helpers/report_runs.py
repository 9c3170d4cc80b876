"""Synthetic run folders made into others: negative returns, policies from elsewhere."""

import csv
import json
from collections.abc import Callable
from pathlib import Path


def rewrite(file: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    """Change every row of a CSV file."""
    with file.open(newline="") as text:
        rows = [change(row) for row in csv.DictReader(text)]
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def below_zero(folder: Path, random_return: float | None = -1890.0) -> None:
    """Make a run's returns negative, and note what random actions got."""
    lower = {"return": lambda r: str(float(r["return"]) - 1500)}
    rewrite(folder / "evaluation.csv", lambda row: row | {k: f(row) for k, f in lower.items()})
    if random_return is not None:
        told = {"random_return": {"mean": random_return, "episodes": 20, "seed": 0}}
        (folder / "evaluation.json").write_text(json.dumps(told))


def foreign_run(synthetic, root: Path, task: str, name: str, seed: int = 0) -> Path:
    """A policy from elsewhere, as `drspcrl evaluate --policy` leaves it."""
    folder = f"{task}-foreign-{name.replace(' ', '_')}-s{seed}"
    path = synthetic.write_run(root, task, "sac", name, seed, rows=5, episodes=4, folder=folder)
    (path / "metrics.csv").unlink()
    identity = {"env": task, "method": name, "seed": seed}
    (path / "config.yaml").write_text(json.dumps({**identity, "uncertainty": "none"}))
    origin = {"policy": "tank_pid:act", "what": "a Python function", "sha256": None}
    info = {"format_version": 1, "status": "evaluated", "algorithm": "foreign", "synthetic": True}
    (path / "run.json").write_text(json.dumps({**info, **identity, "foreign": origin}))
    return path
