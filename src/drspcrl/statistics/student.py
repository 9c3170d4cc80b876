"""Mean over seeds with Student's t interval."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from drspcrl.errors import InputError
from drspcrl.statistics.estimate import Estimate, check_confidence, finite_values, missing


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
