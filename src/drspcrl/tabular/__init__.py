"""Exact robust MDPs: what every estimate elsewhere is checked against."""

from drspcrl.tabular.instances import INSTANCES, from_table, garnet, make_instance
from drspcrl.tabular.mdp import MDP, SparseMDP
from drspcrl.tabular.sampled import Draws
from drspcrl.tabular.solvers import (
    Solution,
    robust_policy_evaluation,
    robust_policy_iteration,
    robust_value_iteration,
)

__all__ = [
    "INSTANCES",
    "MDP",
    "Draws",
    "Solution",
    "SparseMDP",
    "from_table",
    "garnet",
    "make_instance",
    "robust_policy_evaluation",
    "robust_policy_iteration",
    "robust_value_iteration",
]
