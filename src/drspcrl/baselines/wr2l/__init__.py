"""Wasserstein robust RL (Abdullah et al. 2019): the policy trains in the worst simulator nearby."""

from drspcrl.baselines.wr2l.adversary import SHARED, Adversary, Settings, State

__all__ = ["SHARED", "Adversary", "Settings", "State"]
