"""Curricula: what decides the radius ε of the coming iteration, from what the last one told."""

from drspcrl.config.curricula import CurriculumSettings, WorldCurriculumSettings
from drspcrl.curricula.accel import Accel
from drspcrl.curricula.base import Curriculum, Setup, State
from drspcrl.curricula.constant import Constant
from drspcrl.curricula.domain_randomization import RandomRadius
from drspcrl.curricula.linear import Linear
from drspcrl.curricula.registry import CURRICULA, METHODS, curriculum, maker_of
from drspcrl.curricula.self_paced import SelfPaced
from drspcrl.curricula.signal import Signal
from drspcrl.curricula.space import Space
from drspcrl.curricula.yoked import Yoked

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
