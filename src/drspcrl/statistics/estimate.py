"""A number with its interval and n: Student's t over seeds, or the stratified bootstrap.

The bootstrap draws runs again within each stratum, never across.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from drspcrl.errors import InputError


@dataclass(frozen=True)
class Estimate:
    """A point estimate and its interval.

    Attributes:
        value: The estimate; nan where it is undefined.
        low: Lower end of the interval; nan where no interval can be given (n = 1, say).
        high: Upper end.
        n: How many independent runs it rests on.
        method: How it was made, in words that can stand in a caption.
    """

    value: float
    low: float
    high: float
    n: int
    method: str

    @property
    def half_width(self) -> float:
        """Half the interval's length, the ± of a symmetric interval."""
        return (self.high - self.low) / 2

    @property
    def has_interval(self) -> bool:
        """Whether both ends are finite."""
        return isfinite(self.low) and isfinite(self.high)


def missing(method: str) -> Estimate:
    """The estimate that no run supports: nan with n = 0."""
    return Estimate(nan, nan, nan, 0, method)


def check_confidence(confidence: float) -> float:
    """Return the confidence level if it lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence {confidence!r} is not between 0 and 1; give 0.95 for a 95% interval"
        )
    return confidence


def finite_values(values: ArrayLike, what: str) -> np.ndarray:
    """Return values as float64, refusing nan and infinity by name."""
    array = np.asarray(values, np.float64)
    if not np.isfinite(array).all():
        raise InputError(
            f"{what} holds values that are not finite; drop or repair these runs first"
        )
    return array


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


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean with the interval `x̄ ± t_{n−1} s/√n`, s with n − 1 degrees of freedom.

    At n = 5 and 95% the half-width is 1.242 s.

    Args:
        values: One score per seed, shape [n]. n = 0 gives a missing estimate (nan), n = 1 a
            mean without an interval.
        confidence: The interval's coverage.
    """
    scores = finite_values(values, "values")
    if scores.ndim != 1:
        raise InputError(f"values have shape {scores.shape}; give one score per seed, shape [n]")
    name = f"mean, Student t {confidence:.0%} interval over seeds"
    if scores.size == 0:
        return missing(name)
    mean, half, count = mean_band(scores[:, None], confidence=confidence)
    return Estimate(
        float(mean[0]), float(mean[0] - half[0]), float(mean[0] + half[0]), int(count[0]), name
    )


def mean_band(
    curves: ArrayLike, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pointwise mean, half-width and n over seeds; nan marks where a seed has no value.

    Args:
        curves: Shape [seeds, points].
        confidence: The interval's coverage at each point.

    Returns:
        `(mean, half_width, n)`, each [points]. The mean is nan where n = 0 and the half-width is
        nan where n < 2.
    """
    check_confidence(confidence)
    curves = np.asarray(curves, np.float64)
    if curves.ndim != 2:
        raise InputError(f"curves have shape {curves.shape}; give [seeds, points]")
    present = np.isfinite(curves)
    n = present.sum(axis=0)
    mean = np.where(present, curves, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan)
    squares = np.where(present, curves - mean, 0.0) ** 2
    degrees = np.where(n > 1, n - 1, np.nan)
    deviation = np.sqrt(squares.sum(axis=0) / degrees)
    quantile = stats.t.ppf((1 + confidence) / 2, degrees)
    return mean, quantile * deviation / np.sqrt(np.where(n > 0, n, np.nan)), n
