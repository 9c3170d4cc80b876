"""Nominal models: what P0 is, the law that the worst case is taken around."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A configuration knows the models by name, and must not load JAX for it.
_EXPORTS = {
    "Draws": "drspcrl.nominal.base",
    "Noise": "drspcrl.nominal.noise",
    "NominalModel": "drspcrl.nominal.base",
    "Scales": "drspcrl.nominal.base",
    "Single": "drspcrl.nominal.noise",
    "Strength": "drspcrl.nominal.base",
    "Transition": "drspcrl.nominal.base",
}

__all__ = ["Draws", "Noise", "NominalModel", "Scales", "Single", "Strength", "Transition"]

if TYPE_CHECKING:
    from drspcrl.nominal.base import Draws, NominalModel, Scales, Strength, Transition
    from drspcrl.nominal.noise import Noise, Single


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'drspcrl.nominal' has no attribute {name!r}")
