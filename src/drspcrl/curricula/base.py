"""What a curriculum is, what it is made from, and the signal of one iteration that it reads."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from drspcrl.config.curricula import CurriculumSettings

Array = npt.NDArray[np.float64]


class Signal(NamedTuple):
    """What one iteration tells the curriculum of one member: floats, and one array.

    A number that is not known yet (no episode has ended, nothing has been learned) is nan, and a
    curriculum that needs it then stays where it is.

    Attributes:
        step: number of the iteration, from 0.
        epsilon: the radius it used.
        multiplier: E[β*]; infinite at ε = 0 for KL and χ² wherever V has spread.
        slope: E[−dU/dρ] in the divergence's coordinate; finite at ε = 0.
        robust_value: J(π, ε), or what the learner has for it.
        start_value: mean robust value of start states.
        value_spread: mean nominal standard deviation of V(s').
        reward_scale: E|r|, in the same units as all values.
        episode_return: mean return of the iteration's episodes.
        draws: values V(s'_i) of n draws from P0 at B states, [B, n], so that another ε can be
            scored; [0, 0] where the learner has none.
        price: in worlds, what a larger radius costs: max(0, −d/dρ E V)/E|V|.
        premium: in worlds, the share of the best return in the simulator as it is that is lost.
        calibration: in worlds, Spearman's rank correlation of V(s₀, f) with the returns that
            followed, over the newest probes and anchors.
        probe_share: in worlds, what episodes at the full budget keep of the return at radius 0.
        radius_values: in worlds, the critic's mean value at even radii from 0 to ε_budget.
        anchor_return: in worlds, mean return of the iteration's episodes at radius 0.
        peers_epsilon: mean ε of the population's `self_paced` members in the coming iteration, for
            `yoked`.
    """

    step: int
    epsilon: float
    multiplier: float
    slope: float
    robust_value: float
    start_value: float
    value_spread: float
    reward_scale: float
    episode_return: float
    draws: Array
    price: float = float("nan")
    premium: float = float("nan")
    calibration: float = float("nan")
    probe_share: float = float("nan")
    radius_values: Array = np.empty(0)
    anchor_return: float = float("nan")
    peers_epsilon: float = float("nan")


LEAST_REWARD_SCALE = 1e-8


def reward_unit(signal: Signal) -> float:
    """E|r|, the unit of values; without any reward there is no unit, so it is floored."""
    return max(signal.reward_scale, LEAST_REWARD_SCALE)


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
