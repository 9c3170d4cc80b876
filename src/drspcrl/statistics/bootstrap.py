"""The stratified bootstrap: runs are drawn again within each stratum, never across."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from drspcrl.errors import InputError
from drspcrl.statistics.estimate import check_confidence, finite_values

REPLICATES = 2000


def as_strata(strata: Sequence[ArrayLike], what: str = "scores") -> list[np.ndarray]:
    """Check the strata, each [runs, ...] with at least one run.

    A stratum is a task; its first axis counts runs. Further axes (the settings one run was
    evaluated in) belong to the run and are drawn together with it.
    """
    arrays = [np.atleast_1d(finite_values(stratum, what)) for stratum in strata]
    if not arrays or any(array.size == 0 for array in arrays):
        raise InputError(f"{what} has a task without runs; give at least one run for each task")
    return arrays


def resample(stratum: np.ndarray, replicates: int, random: np.random.Generator) -> np.ndarray:
    """Draw the runs of one stratum again with replacement: [replicates, runs, ...]."""
    return stratum[draw_runs(len(stratum), replicates, random)]


def draw_runs(runs: int, replicates: int, random: np.random.Generator) -> np.ndarray:
    """Indices of the runs in each replicate, [replicates, runs]."""
    if replicates < 1:
        raise InputError(f"replicates is {replicates}; give at least 1, 2000 as a rule")
    return random.integers(runs, size=(replicates, runs))


def percentile_interval(
    replicates: np.ndarray, confidence: float
) -> tuple[np.ndarray | float, np.ndarray | float]:
    """The central interval of the bootstrap replicates along the first axis."""
    tail = (1 - check_confidence(confidence)) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail], axis=0)
    return low, high


def can_resample(strata: Sequence[np.ndarray]) -> bool:
    """Whether every stratum has at least two runs; one run drawn again is only itself."""
    return all(len(stratum) > 1 for stratum in strata)
