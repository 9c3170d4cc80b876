"""A number with its interval, its n and the name of the method that made it."""

from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from numpy.typing import ArrayLike

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
