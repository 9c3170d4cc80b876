"""Curricula: what decides the radius ε of the coming iteration, from what the last one told."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A training loads the methods that it has.
_EXPORTS = {
    "CURRICULA": "drspcrl.curricula.registry",
    "METHODS": "drspcrl.curricula.registry",
    "Accel": "drspcrl.curricula.accel",
    "Constant": "drspcrl.curricula.schedules",
    "Curriculum": "drspcrl.curricula.base",
    "CurriculumSettings": "drspcrl.config.curricula",
    "Linear": "drspcrl.curricula.schedules",
    "RandomRadius": "drspcrl.curricula.schedules",
    "SelfPaced": "drspcrl.curricula.self_paced",
    "Setup": "drspcrl.curricula.base",
    "Signal": "drspcrl.curricula.base",
    "Space": "drspcrl.curricula.space",
    "State": "drspcrl.curricula.base",
    "WorldCurriculumSettings": "drspcrl.config.curricula",
    "Yoked": "drspcrl.curricula.schedules",
    "curriculum": "drspcrl.curricula.registry",
    "maker_of": "drspcrl.curricula.registry",
}

__all__ = [
    "CURRICULA",
    "METHODS",
    "Accel",
    "Constant",
    "Curriculum",
    "CurriculumSettings",
    "Linear",
    "RandomRadius",
    "SelfPaced",
    "Setup",
    "Signal",
    "Space",
    "State",
    "WorldCurriculumSettings",
    "Yoked",
    "curriculum",
    "maker_of",
]

if TYPE_CHECKING:
    from drspcrl.config.curricula import CurriculumSettings, WorldCurriculumSettings
    from drspcrl.curricula.accel import Accel
    from drspcrl.curricula.base import Curriculum, Setup, Signal, State
    from drspcrl.curricula.registry import CURRICULA, METHODS, curriculum, maker_of
    from drspcrl.curricula.schedules import Constant, Linear, RandomRadius, Yoked
    from drspcrl.curricula.self_paced import SelfPaced
    from drspcrl.curricula.space import Space


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.curricula' has no attribute {name!r}")
