"""Statistics over seeds: intervals, aggregates and gains (NumPy and SciPy, no JAX).

Every result carries its n and the name of its method. The formulas are in
`docs/concepts/statistics.md`.
"""

from drspcrl.statistics.aggregate import Profile, interquartile_mean, performance_profile
from drspcrl.statistics.chance import gain_by_chance
from drspcrl.statistics.estimate import Estimate, missing
from drspcrl.statistics.gain import (
    NOT_POSITIVE,
    Gain,
    GroupGain,
    headline_gain,
    normalised_difference,
    pooled_ratio,
)
from drspcrl.statistics.groups import Groups
from drspcrl.statistics.improvement import probability_of_improvement
from drspcrl.statistics.ranking import Wins, count_wins, ranks
from drspcrl.statistics.student import mean_band, mean_interval

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
