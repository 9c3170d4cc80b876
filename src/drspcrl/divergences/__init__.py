"""Divergence balls: worst-case value, weights and multiplier, exact and differentiable."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A configuration knows the balls by name, and must not load JAX for it.
_EXPORTS = {
    "KL": "drspcrl.divergences.kl",
    "CVaR": "drspcrl.divergences.cvar",
    "ChiSquared": "drspcrl.divergences.chi_squared",
    "CressieRead": "drspcrl.divergences.f_divergence",
    "Divergence": "drspcrl.divergences.base",
    "FDivergence": "drspcrl.divergences.f_divergence",
    "TotalVariation": "drspcrl.divergences.total_variation",
    "Wasserstein": "drspcrl.divergences.wasserstein",
    "WorstCase": "drspcrl.divergences.base",
}

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

if TYPE_CHECKING:
    from drspcrl.divergences.base import Divergence, WorstCase
    from drspcrl.divergences.chi_squared import ChiSquared
    from drspcrl.divergences.cvar import CVaR
    from drspcrl.divergences.f_divergence import CressieRead, FDivergence
    from drspcrl.divergences.kl import KL
    from drspcrl.divergences.total_variation import TotalVariation
    from drspcrl.divergences.wasserstein import Wasserstein


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.divergences' has no attribute {name!r}")
