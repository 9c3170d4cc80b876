"""Wasserstein robust RL (Abdullah et al. 2019): the policy trains in the worst simulator nearby."""

from drspcrl.baselines.wr2l.adversary import Adversary, State

__all__ = ["Adversary", "State"]
