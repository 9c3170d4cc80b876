"""Divergence balls: worst-case value, weights and multiplier, exact and differentiable."""

from drspcrl.divergences.base import Divergence, WorstCase
from drspcrl.divergences.chi_squared import ChiSquared
from drspcrl.divergences.cvar import CVaR
from drspcrl.divergences.f_divergence import CressieRead, FDivergence
from drspcrl.divergences.kl import KL
from drspcrl.divergences.total_variation import TotalVariation
from drspcrl.divergences.wasserstein import Wasserstein

__all__ = [
    "KL",
    "CVaR",
    "ChiSquared",
    "CressieRead",
    "Divergence",
    "FDivergence",
    "TotalVariation",
    "Wasserstein",
    "WorstCase",
]
