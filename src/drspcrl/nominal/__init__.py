"""Nominal models: what P0 is, the law that the worst case is taken around."""

from drspcrl.nominal.base import Draws, NominalModel, Scales, Strength, Transition
from drspcrl.nominal.noise import Noise
from drspcrl.nominal.single import Single

__all__ = ["Draws", "Noise", "NominalModel", "Scales", "Single", "Strength", "Transition"]
