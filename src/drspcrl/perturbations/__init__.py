"""Perturbations: seeded Gymnasium wrappers, and the same as data for batched environments."""

from drspcrl.perturbations.action import ActionDelay, ActionNoise
from drspcrl.perturbations.gusts import Gusts
from drspcrl.perturbations.observation import (
    ObservationBias,
    ObservationDropout,
    ObservationNoise,
)
from drspcrl.perturbations.physics import PhysicsNoise, PhysicsScale
from drspcrl.perturbations.push import ExternalPush
from drspcrl.perturbations.setting import (
    PERTURBATIONS,
    Perturbation,
    Setting,
    as_parts,
    grid,
    label,
    parse,
    sweep,
    wrap,
)
from drspcrl.perturbations.wrapper import PerturbationWrapper

__all__ = [
    "PERTURBATIONS",
    "ActionDelay",
    "ActionNoise",
    "ExternalPush",
    "Gusts",
    "ObservationBias",
    "ObservationDropout",
    "ObservationNoise",
    "Perturbation",
    "PerturbationWrapper",
    "PhysicsNoise",
    "PhysicsScale",
    "Setting",
    "as_parts",
    "grid",
    "label",
    "parse",
    "sweep",
    "wrap",
]
