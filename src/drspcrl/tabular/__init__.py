"""Exact robust MDPs: what every estimate elsewhere is checked against."""

from drspcrl.tabular.backup import Draws
from drspcrl.tabular.families import (
    WorldFamily,
    WorstLaw,
    hull_values,
    mean_return,
    world_returns,
    world_values,
    worst_law,
)
from drspcrl.tabular.instances import (
    INSTANCES,
    crossings,
    from_table,
    garnet,
    make_instance,
    relay,
)
from drspcrl.tabular.mdp import MDP, SparseMDP
from drspcrl.tabular.radius_families import PricedReturn, RadiusFamily, priced_return
from drspcrl.tabular.solvers import (
    Solution,
    robust_policy_evaluation,
    robust_policy_iteration,
    robust_value_iteration,
)
from drspcrl.tabular.world_pacing import (
    PacedRun,
    best_policy,
    climbed_policy,
    price_fixed_points,
    price_rule,
    run_pacing,
)

__all__ = [
    "INSTANCES",
    "MDP",
    "Draws",
    "PacedRun",
    "PricedReturn",
    "RadiusFamily",
    "Solution",
    "SparseMDP",
    "WorldFamily",
    "WorstLaw",
    "best_policy",
    "climbed_policy",
    "crossings",
    "from_table",
    "garnet",
    "hull_values",
    "make_instance",
    "mean_return",
    "price_fixed_points",
    "price_rule",
    "priced_return",
    "relay",
    "robust_policy_evaluation",
    "robust_policy_iteration",
    "robust_value_iteration",
    "run_pacing",
    "world_returns",
    "world_values",
    "worst_law",
]
