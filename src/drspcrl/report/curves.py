"""Training curves: runs of different lengths and rates on one grid of steps, with their band."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from drspcrl.report.few import FEW
from drspcrl.report.results import Group
from drspcrl.runfolder.runs import Run
from drspcrl.statistics import mean_band

METRICS = ("episode_return", "epsilon", "beta", "price")
POINTS = 200


@dataclass(frozen=True)
class Curve:
    """Mean over seeds, half-width of the 95% interval and n at each step; nan where n is small.

    `seeds` has a row for each seed, nan where it has no value.
    """

    steps: np.ndarray
    mean: np.ndarray
    half_width: np.ndarray
    n: np.ndarray
    seeds: np.ndarray

    @property
    def few(self) -> bool:
        """Whether its seeds are drawn one by one, having no interval anywhere."""
        return len(self.seeds) < FEW

    @property
    def band(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the interval where it is drawn, nan elsewhere."""
        half = np.where(self.n >= FEW, self.half_width, np.nan)
        return self.mean - half, self.mean + half


Curves = Mapping[Group, Mapping[str, Mapping[str, Curve]]]
"""(algorithm, environment) → method → metric → curve."""


def curves_of_runs(runs: Iterable[Run], points: int = POINTS) -> Curves:
    """Average every method's metrics over its seeds on at most `points` steps per group."""
    groups: dict[Group, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if len(run.metrics.get("step", ())):
            groups[run.algorithm, run.environment][run.method].append(run)
    return {group: _group_curves(methods, points) for group, methods in groups.items()}


def _group_curves(methods: Mapping[str, list[Run]], points: int) -> dict[str, dict[str, Curve]]:
    everyone = [run for runs in methods.values() for run in runs]
    last = max(float(run.metrics["step"].max()) for run in everyone)
    rows = min(len(run.metrics["step"]) for run in everyone)
    edges = np.linspace(0, last, min(points, max(rows, 2)) + 1)
    made = {method: _method_curves(runs, edges) for method, runs in methods.items()}
    betas = [curves["beta"].mean for curves in made.values() if "beta" in curves]
    if not any(np.any(np.nan_to_num(beta) != 0) for beta in betas):
        for curves in made.values():
            curves.pop("beta", None)  # in worlds without a tilt it is 0, and says nothing
    return made


def _method_curves(runs: list[Run], edges: np.ndarray) -> dict[str, Curve]:
    curves = {}
    for metric in METRICS:
        seeds = [
            bin_means(run.metrics["step"], run.metrics[metric], edges)
            for run in runs
            if metric in run.metrics
        ]
        if seeds and np.isfinite(seeds).any():
            curves[metric] = Curve(edges[1:], *mean_band(np.array(seeds)), np.array(seeds))
    return curves


def bin_means(steps: np.ndarray, values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean of the values in each bin (left edge out, right edge in), joined across empty bins.

    Bins before the first value and after the last stay nan: a run that stopped early says nothing
    about what comes later.
    """
    finite = np.isfinite(steps) & np.isfinite(values)
    which = np.searchsorted(edges, steps[finite], side="left") - 1
    which = np.clip(which, 0, len(edges) - 2)
    count = np.bincount(which, minlength=len(edges) - 1)
    total = np.bincount(which, values[finite], minlength=len(edges) - 1)
    filled = np.flatnonzero(count)
    means = np.full(len(edges) - 1, np.nan)
    if len(filled):
        inside = np.arange(filled[0], filled[-1] + 1)
        means[inside] = np.interp(inside, filled, total[filled] / count[filled])
    return means
