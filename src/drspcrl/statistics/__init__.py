"""Statistics over seeds: intervals, aggregates and gains (NumPy and SciPy, no JAX).

Every result carries its n and the name of its method. The formulas are in
`docs/concepts/statistics.md`.
"""

from drspcrl.statistics.aggregate import (
    Profile,
    Wins,
    count_wins,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    ranks,
)
from drspcrl.statistics.chance import gain_by_chance
from drspcrl.statistics.estimate import Estimate, mean_band, mean_interval, missing
from drspcrl.statistics.gain import (
    NOT_POSITIVE,
    Gain,
    GroupGain,
    Groups,
    headline_gain,
    normalised_difference,
    pooled_ratio,
)

__all__ = [
    "NOT_POSITIVE",
    "Estimate",
    "Gain",
    "GroupGain",
    "Groups",
    "Profile",
    "Wins",
    "count_wins",
    "gain_by_chance",
    "headline_gain",
    "interquartile_mean",
    "mean_band",
    "mean_interval",
    "missing",
    "normalised_difference",
    "performance_profile",
    "pooled_ratio",
    "probability_of_improvement",
    "ranks",
]
