"""Few seeds: what is shown of them are the seeds themselves, not an interval.

Student's t multiplies the deviation of two seeds by nine, so that such an interval fills a plot; a
bootstrap of two seeds is as much too short. So below `FEW` seeds charts show every seed as a point,
and no bootstrap interval is given. Tables keep the half-width of Student's t, and say n.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import nan
from statistics import median_low

from drspcrl.statistics import Estimate, Gain

FEW = 5
"""Seeds from which on an interval is drawn, as many as the paper has."""


def drawn(estimate: Estimate) -> bool:
    """Whether the interval of a mean over seeds is drawn."""
    return estimate.has_interval and estimate.n >= FEW


def are_few(counts: Iterable[int]) -> bool:
    """Whether a sum over groups rests on few seeds: half of them have fewer than `FEW`."""
    counts = list(counts)
    return not counts or median_low(counts) < FEW


def without_interval(estimate: Estimate) -> Estimate:
    """The estimate alone."""
    return replace(estimate, low=nan, high=nan)


def gain_without_interval(gain: Gain) -> Gain:
    """The gain alone."""
    return replace(gain, estimate=without_interval(gain.estimate))
