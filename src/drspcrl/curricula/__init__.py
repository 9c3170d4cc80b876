"""Curricula: what decides the radius ε of the coming iteration, from what the last one told."""

from drspcrl.curricula.base import Curriculum, Setup, State
from drspcrl.curricula.constant import Constant
from drspcrl.curricula.linear import Linear
from drspcrl.curricula.registry import METHODS, curriculum, maker_of
from drspcrl.curricula.self_paced import SelfPaced
from drspcrl.curricula.settings import CHOICES, DEFAULTS, CurriculumSettings
from drspcrl.curricula.signal import Signal

__all__ = [
    "CHOICES",
    "DEFAULTS",
    "METHODS",
    "Constant",
    "Curriculum",
    "CurriculumSettings",
    "Linear",
    "SelfPaced",
    "Setup",
    "Signal",
    "State",
    "curriculum",
    "maker_of",
]
