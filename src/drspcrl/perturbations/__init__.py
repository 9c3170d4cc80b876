"""Perturbations: seeded Gymnasium wrappers, and the same as data for batched environments."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# An environment loads the kinds that it has.
_EXPORTS = {
    "PERTURBATIONS": "drspcrl.perturbations.registry",
    "ActionAttack": "drspcrl.perturbations.attacks",
    "ActionDelay": "drspcrl.perturbations.action",
    "ActionNoise": "drspcrl.perturbations.action",
    "AuthorityLoss": "drspcrl.perturbations.faults",
    "CriticAttack": "drspcrl.perturbations.attacks",
    "DeadSensor": "drspcrl.perturbations.faults",
    "ExternalPush": "drspcrl.perturbations.forces",
    "Gusts": "drspcrl.perturbations.forces",
    "ObservationBias": "drspcrl.perturbations.observation",
    "ObservationDropout": "drspcrl.perturbations.observation",
    "ObservationNoise": "drspcrl.perturbations.observation",
    "Perturbation": "drspcrl.perturbations.setting",
    "PerturbationWrapper": "drspcrl.perturbations.wrapper",
    "PhysicsNoise": "drspcrl.perturbations.physics",
    "PhysicsScale": "drspcrl.perturbations.physics",
    "PhysicsShift": "drspcrl.perturbations.faults",
    "PhysicsValue": "drspcrl.perturbations.physics",
    "QueryAttack": "drspcrl.perturbations.attacks",
    "RandomAttack": "drspcrl.perturbations.attacks",
    "Setting": "drspcrl.perturbations.setting",
    "StuckJoint": "drspcrl.perturbations.faults",
    "as_parts": "drspcrl.perturbations.setting",
    "grid": "drspcrl.perturbations.setting",
    "label": "drspcrl.perturbations.setting",
    "parse": "drspcrl.perturbations.setting",
    "sweep": "drspcrl.perturbations.setting",
    "values": "drspcrl.perturbations.setting",
    "wrap": "drspcrl.perturbations.setting",
}

__all__ = [
    "PERTURBATIONS",
    "ActionAttack",
    "ActionDelay",
    "ActionNoise",
    "AuthorityLoss",
    "CriticAttack",
    "DeadSensor",
    "ExternalPush",
    "Gusts",
    "ObservationBias",
    "ObservationDropout",
    "ObservationNoise",
    "Perturbation",
    "PerturbationWrapper",
    "PhysicsNoise",
    "PhysicsScale",
    "PhysicsShift",
    "PhysicsValue",
    "QueryAttack",
    "RandomAttack",
    "Setting",
    "StuckJoint",
    "as_parts",
    "grid",
    "label",
    "parse",
    "sweep",
    "values",
    "wrap",
]

if TYPE_CHECKING:
    from drspcrl.perturbations.action import ActionDelay, ActionNoise
    from drspcrl.perturbations.attacks import (
        ActionAttack,
        CriticAttack,
        QueryAttack,
        RandomAttack,
    )
    from drspcrl.perturbations.faults import AuthorityLoss, DeadSensor, PhysicsShift, StuckJoint
    from drspcrl.perturbations.forces import ExternalPush, Gusts
    from drspcrl.perturbations.observation import (
        ObservationBias,
        ObservationDropout,
        ObservationNoise,
    )
    from drspcrl.perturbations.physics import PhysicsNoise, PhysicsScale, PhysicsValue
    from drspcrl.perturbations.registry import PERTURBATIONS
    from drspcrl.perturbations.setting import (
        Perturbation,
        Setting,
        as_parts,
        grid,
        label,
        parse,
        sweep,
        values,
        wrap,
    )
    from drspcrl.perturbations.wrapper import PerturbationWrapper


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.perturbations' has no attribute {name!r}")
