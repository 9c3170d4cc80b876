"""What a curriculum is, and what it is told before training starts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from drspcrl.config.curricula import CurriculumSettings
from drspcrl.curricula.signal import Signal

if TYPE_CHECKING:
    from drspcrl.divergences import Divergence
    from drspcrl.divergences.base import Coordinate

State = dict[str, Any]
"""A plain tree: Python numbers and NumPy arrays by name."""


class Curriculum(Protocol):
    """Anything that turns signals into radii.

    States are plain trees of numbers and NumPy arrays, and updates are pure: a state that was
    saved and read back has the same future. Randomness comes from a seed and a count in the state.
    """

    def init(self, seed: int) -> Any:
        """The state before the first iteration."""
        ...

    def epsilon(self, state: Any) -> float:
        """The radius to train with now."""
        ...

    def update(self, state: Any, signal: Signal) -> Any:
        """The state after an iteration."""
        ...


@dataclass(frozen=True)
class Setup:
    """What a curriculum is made from.

    Attributes:
        settings: the curriculum settings.
        iterations: curriculum iterations in the whole run.
        discount: γ.
        divergence: the ball, which knows its coordinate and its exact dual.
        worlds: whether ε is the radius of worlds, drawn once an episode, instead of transitions.
        gated: in worlds, whether a critic's calibration is known, from probe episodes.
    """

    settings: CurriculumSettings
    iterations: int
    discount: float
    divergence: "Divergence"
    worlds: bool = False
    gated: bool = True


def to_coordinate(scale: "Coordinate", radius: float) -> float:
    """ρ = √ε (KL, χ², f-divergences) or ε itself (`scale` of a divergence), in double precision."""
    return float(np.sqrt(radius)) if scale == "sqrt" else float(radius)


def to_radius(scale: "Coordinate", coordinate: float) -> float:
    """The inverse of `to_coordinate`."""
    return float(coordinate) ** 2 if scale == "sqrt" else float(coordinate)


def generator(seed: int, count: int) -> np.random.Generator:
    """The random numbers of one iteration: they follow from the state, and nothing is consumed."""
    return np.random.default_rng((_STREAM, int(seed), int(count)))


_STREAM = 0x63757272  # apart from every other use of the same seed
