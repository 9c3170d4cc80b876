"""The two self-paced rules, and the radii they are compared with, as curricula.

A curriculum is `init(key) → state`, `epsilon(state)`, `update(state, signal) → state`; it knows no
learner, only the `Signal` that one iteration of training sends. Here the state is ε itself.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.tabular.mdp import Array

# Values are measured in units of the mean absolute reward; without any reward there is no unit.
_LEAST_REWARD_SCALE = 1e-8


class Signal(NamedTuple):
    """What one iteration tells its curriculum.

    Attributes:
        step: number of the iteration, from 0.
        epsilon: the radius it used.
        multiplier: E_d[β*].
        slope: E_d[−dU/dρ] in the divergence's coordinate.
        robust_value: J(π, ε).
        start_value: mean value of start states; the same number here, where nothing is estimated.
        value_spread: E_d of the nominal standard deviation of V(s').
        reward_scale: E_d|r|.
        episode_return: the policy's return in the nominal model.
        draws: values V(s'_i) of n draws from P0 at B pairs drawn from d, [B, n].
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


class Curriculum(Protocol):
    """Anything that turns signals into radii."""

    def init(self, key: Any) -> Any:
        """The state before the first iteration."""
        ...

    def epsilon(self, state: Any) -> float:
        """The radius to train with now."""
        ...

    def update(self, state: Any, signal: Signal) -> Any:
        """The state after an iteration."""
        ...


def radius_drift(
    radius: float, multiplier: float, discount: float, pacing: float, budget: float
) -> float:
    """C_γ E[β*] + 2α(ε − ε_budget), C_γ = γ/(1−γ): what the paper's rule descends."""
    return discount / (1 - discount) * multiplier + 2 * pacing * (radius - budget)


def radius_step(
    radius: float, multiplier: float, discount: float, pacing: float, rate: float, budget: float
) -> float:
    """One step of the paper's rule (`eq:curriculum_update_rule`), projected to [0, ε_budget].

    At ε = 0 the multiplier of KL and χ² is infinite wherever V has spread: the rule stays there.
    """
    drift = radius_drift(radius, multiplier, discount, pacing, budget)
    return float(np.clip(radius - rate * drift, 0.0, budget))


def coordinate_drift(
    coordinate: float, slope: float, reward_scale: float, pacing: float, budget: float
) -> float:
    """E[slope]/E|r| + 2α(ρ − ρ_budget): what the rule in ρ = √ε descends; finite at ρ = 0."""
    unit = max(reward_scale, _LEAST_REWARD_SCALE)
    return slope / unit + 2 * pacing * (coordinate - budget)


def coordinate_step(
    coordinate: float,
    slope: float,
    reward_scale: float,
    pacing: float,
    rate: float,
    budget: float,
) -> float:
    """One step of the rule in ρ, projected to [0, ρ_budget].

    It ascends J/S − α(ρ − ρ_budget)² with values in units S = C_γ E|r|, which is not the paper's
    objective: its penalty in ρ does not vanish at 0, and no scale has to be tuned.
    """
    drift = coordinate_drift(coordinate, slope, reward_scale, pacing, budget)
    return float(np.clip(coordinate - rate * drift, 0.0, budget))


@dataclass(frozen=True)
class ConstantRadius:
    """The same ε throughout: `nominal` at 0, `fixed` at the budget."""

    radius: float

    def init(self, key: Any) -> float:
        """The radius."""
        return self.radius

    def epsilon(self, state: float) -> float:
        """The radius."""
        return state

    def update(self, state: float, signal: Signal) -> float:
        """No change."""
        return state


@dataclass(frozen=True)
class SelfPacedRadius:
    """The paper's rule in ε, as written."""

    budget: float
    """ε_budget, where the curriculum wants to arrive."""
    discount: float
    """γ, for C_γ."""
    pacing: float = 1.0
    """α, the pull towards the budget, in units of return."""
    rate: float = 0.01
    """λ_curr, the step size."""
    start: float = 0.0
    """ε_start."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_rule(self.budget, self.pacing, self.rate, self.start)

    def init(self, key: Any) -> float:
        """ε_start."""
        return self.start

    def epsilon(self, state: float) -> float:
        """The state is ε."""
        return state

    def update(self, state: float, signal: Signal) -> float:
        """One step of `radius_step`."""
        return radius_step(
            state, signal.multiplier, self.discount, self.pacing, self.rate, self.budget
        )


@dataclass(frozen=True)
class SelfPacedCoordinate:
    """The rule in the divergence's coordinate ρ: √ε for KL, χ² and f-divergences, else ε."""

    divergence: Divergence
    """Which coordinate."""
    budget: float
    """ε_budget, where the curriculum wants to arrive."""
    pacing: float = 1.0
    """α, the pull towards the budget, in units of mean absolute reward."""
    rate: float = 0.01
    """λ_curr, the step size."""
    start: float = 0.0
    """ε_start."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_rule(self.budget, self.pacing, self.rate, self.start)

    def init(self, key: Any) -> float:
        """ρ at ε_start."""
        return to_coordinate(self.divergence, self.start)

    def epsilon(self, state: float) -> float:
        """ε at ρ."""
        return to_radius(self.divergence, state)

    def update(self, state: float, signal: Signal) -> float:
        """One step of `coordinate_step`."""
        budget = to_coordinate(self.divergence, self.budget)
        return coordinate_step(
            state, signal.slope, signal.reward_scale, self.pacing, self.rate, budget
        )


def to_coordinate(divergence: Divergence, radius: float) -> float:
    """`divergence.coordinate` in double precision, whatever JAX is set to."""
    return float(np.sqrt(radius)) if divergence.scale == "sqrt" else float(radius)


def to_radius(divergence: Divergence, coordinate: float) -> float:
    """`divergence.radius_at` in double precision."""
    return float(coordinate) ** 2 if divergence.scale == "sqrt" else float(coordinate)


def _check_rule(budget: float, pacing: float, rate: float, start: float) -> None:
    if not (0 <= start <= budget < np.inf and pacing > 0 and rate > 0):
        raise InputError(
            f"a self-paced rule got budget={budget}, pacing={pacing}, rate={rate}, start={start}; "
            "it needs 0 ≤ start ≤ budget, and pacing and rate above 0"
        )
