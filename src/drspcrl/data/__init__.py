"""Data that ships with the package: the paper's tables, CleanRL's and random actions' returns."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

PAPER_SEEDS = 5
"""Seeds behind every mean in the paper's tables."""


@dataclass(frozen=True)
class PaperCell:
    """One cell of the paper's tables: mean over 5 seeds and the half-width of its 95% interval."""

    algorithm: str
    environment: str
    method: str
    perturbation: str
    level: float
    mean: float
    ci95: float


def paper_results() -> list[PaperCell]:
    """The paper's three result tables, 1,260 cells."""
    return [
        PaperCell(
            row["algorithm"],
            row["environment"],
            row["method"],
            row["perturbation"],
            float(row["level"]),
            float(row["mean"]),
            float(row["ci95"]),
        )
        for row in _rows("paper_results.csv")
    ]


def random_returns() -> dict[str, float]:
    """Mean return of uniformly random actions in each task the paper uses.

    Measured by `python studies/random_returns.py`, which also writes n and the versions.
    """
    return {row["environment"]: float(row["mean"]) for row in _rows("random_returns.csv")}


def cleanrl_returns() -> dict[tuple[str, str], tuple[float, float]]:
    """CleanRL's published returns by learner and task: mean and standard deviation over 3 seeds.

    At 1M steps on the v4 tasks, from training episodes. Source: docs/results/nominal_quality.md.
    """
    return {
        (row["algorithm"], row["environment"]): (float(row["mean"]), float(row["std"]))
        for row in _rows("cleanrl_returns.csv")
    }


def _rows(name: str) -> Iterator[dict[str, str]]:
    with files(__name__).joinpath(name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)
