"""The paper's contribution: ε grows as fast as the agent's own cost of robustness allows."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from drspcrl.config.curricula import WorldCurriculumSettings
from drspcrl.curricula.base import (
    LEAST_REWARD_SCALE,
    Setup,
    Signal,
    State,
    generator,
    reward_unit,
    to_coordinate,
    to_radius,
)
from drspcrl.errors import InputError

if TYPE_CHECKING:
    from drspcrl.divergences.base import Coordinate

Rule = Literal["coordinate", "radius", "lagrangian", "closed_form", "price", "keep"]
Schedule = Literal["constant", "offset", "percentage"]

_MEMORY = 0.9  # weight of the past in the moving average of returns
_LEAST_DISTANCE = 1e-3  # at the budget itself a percentage of the distance has no finite α


def horizon(discount: float) -> float:
    """C_γ = γ/(1−γ)."""
    return discount / (1 - discount)


def radius_drift(
    radius: float, multiplier: float, discount: float, pacing: float, budget: float
) -> float:
    """C_γ E[β*] + 2α(ε − ε_budget): what the paper's rule descends (`eq:curriculum_update_rule`).

    At ε = 0 the multiplier of KL and χ² is infinite wherever V has spread: the rule stays there.
    """
    return horizon(discount) * multiplier + 2 * pacing * (radius - budget)


def coordinate_drift(
    coordinate: float, slope: float, reward_scale: float, pacing: float, budget: float
) -> float:
    """E[slope]/E|r| + 2α(ρ − ρ_budget): what the rule in ρ descends; finite at ρ = 0.

    It ascends J/S − α(ρ − ρ_budget)² with values in units S = C_γ E|r|, which is not the paper's
    objective: its penalty in ρ does not vanish at 0, and no scale has to be tuned.
    """
    unit = max(reward_scale, LEAST_REWARD_SCALE)
    return slope / unit + 2 * pacing * (coordinate - budget)


def price_drift(radius: float, price: float, pacing: float, budget: float) -> float:
    """price + 2α(ρ − ρ_budget): what the rule descends in worlds, with the radius itself.

    The price is max(0, −d/dρ E V)/E|V|. Where V > 0 this ascends log J(ρ) − α(ρ − ρ_budget)².
    """
    return price + 2 * pacing * (radius - budget)


def lagrangian_step(
    radius: float, multiplier: float, discount: float, pacing: float, trust: float, budget: float
) -> float:
    """(2αε_b + 2λε_t − C_γ E[β*])/(2(α + λ)): the stationary point of `eq:curriculum_lagrangian`.

    λ = `trust` ≥ 0 is the multiplier of the trust region. At λ = 0 it is the closed form
    ε_b − C_γ E[β*]/2α of the problem without one.
    """
    pull = 2 * pacing * budget + 2 * trust * radius - horizon(discount) * multiplier
    return pull / (2 * (pacing + trust))


@dataclass(frozen=True)
class SelfPaced:
    """All forms of the self-paced rule; x is the rule's own variable, ρ (`coordinate`) or ε.

    `coordinate`   x ← Π[x − λ_curr (E[slope]/E|r| + 2α(x − x_b))], default with transitions;
    `radius`       x ← Π[x − λ_curr (C_γ E[β*] + 2α(x − x_b))], the paper's;
    `lagrangian`   the step that the paper derives it from, with λ = 1/(2λ_curr) − α, at least 0;
    `closed_form`  x_b − C_γ E[β*]/2α, the maximiser itself: wants a trust region;
    `price`        x ← Π[x − λ_curr (price + 2α(x − x_b))], |Δx| ≤ `limit`, default in worlds;
    `keep`         x ← Π[x + limit] in worlds.

    In worlds x does not grow while the premium is above its bound, and not beyond a small radius
    before the critic's values of probes and anchors have once ranked their returns, unless probes
    lose next to nothing.
    """

    budget: float
    """ε_budget, where the curriculum wants to arrive."""
    discount: float
    """γ, for C_γ."""
    scale: "Coordinate" = "sqrt"
    """The divergence's coordinate ρ."""
    rule: Rule = "coordinate"
    """Which form."""
    pacing: float = 1.0
    """α; in units of mean absolute reward (`coordinate`) or of return."""
    rate: float = 0.01
    """λ_curr, the step size of one update."""
    start: float = 0.0
    """ε_start."""
    schedule: Schedule = "constant"
    """How α comes about."""
    offset: int = 0
    """Updates with α = 0 in the schedules `offset` and `percentage`."""
    warmup: int = 0
    """Updates without any move."""
    trust_region: float = 0.0
    """η: |Δx| ≤ √η; 0 for no limit."""
    bound: float | None = None
    """Episode return that must have been reached once before α counts."""
    share: float = 0.0
    """Of the best return so far, what must be kept for α to count; 0 for none."""
    spread: float = 0.0
    """Standard deviation of p(ε|ν) around the point estimate."""
    limit: float = math.inf
    """In worlds, the longest step of one update."""
    premium: float = 1.0
    """In worlds, the premium above which ε does not grow; 1 for none."""
    calibration: float = 0.0
    """In worlds, the rank correlation that a critic must have shown once; 0 for none."""
    uncalibrated: float = 0.0
    """In worlds, the largest ε before that."""
    waiver: bool = True
    """In worlds, whether ε may also grow while probes lose next to nothing."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        fits = 0 <= self.start <= self.budget < np.inf and self.pacing > 0 and self.rate > 0
        if not fits:
            raise InputError(
                f"a self-paced rule got budget={self.budget}, pacing={self.pacing}, "
                f"rate={self.rate}, start={self.start}; it needs 0 ≤ start ≤ budget, and pacing "
                "and rate above 0"
            )
        if self.rule in ("radius", "lagrangian") and self.rate > 1 / (2 * self.pacing):
            warnings.warn(
                f"the curriculum's step size is {self.rate:g}, above 1/(2α) = "
                f"{1 / (2 * self.pacing):g}: no multiplier of the paper's trust region gives such "
                "a step, and it overshoots its own target; make rate or pacing smaller",
                stacklevel=2,
            )

    def init(self, seed: int) -> State:
        """ε_start."""
        state = {"seed": int(seed), "updates": 0, "reached": self.bound is None}
        returns = {"level": math.nan, "best": -math.inf} if self.share else {}
        trusted = {"trusted": self.calibration == 0} if self.in_worlds else {}
        return {**state, **returns, **trusted, "point": self._to_variable(self.start)}

    @property
    def in_worlds(self) -> bool:
        """Whether it is one of the rules for worlds."""
        return self.rule in ("price", "keep")

    def epsilon(self, state: State) -> float:
        """The point estimate, or a draw around it."""
        ν = self._to_radius(state["point"])
        if self.spread == 0:
            return ν
        noise = generator(state["seed"], state["updates"]).standard_normal()
        return float(np.clip(ν + self.spread * noise, 0.0, self.budget))

    def update(self, state: State, signal: Signal) -> State:
        """One step of the rule within the trust region, projected to [0, ε_budget]."""
        reached = state["reached"] or self.bound is None or signal.episode_return >= self.bound
        after = {**state, "reached": bool(reached), "updates": state["updates"] + 1}
        after |= self._returns(state, signal)
        x, top = state["point"], self._to_variable(self.budget)
        goal = self._goal(x, top, self._pacing(after, x, top, signal), signal)
        if self.in_worlds:
            after["trusted"] = state["trusted"] or signal.calibration > self.calibration
            # Where nothing is lost at the full budget there is nothing to rank, either.
            unharmed = self.waiver and signal.probe_share >= 1 - self.premium / 2
            goal = self._within_worlds(x, goal, after["trusted"] or unharmed, signal)
        if state["updates"] < self.warmup or math.isnan(goal):
            return after
        reach = math.sqrt(self.trust_region) if self.trust_region else math.inf
        return {**after, "point": float(np.clip(np.clip(goal, x - reach, x + reach), 0.0, top))}

    def _within_worlds(self, x: float, goal: float, trusted: bool, signal: Signal) -> float:
        """The goal as far as pace, premium and calibration let it."""
        goal = float(np.clip(goal, x - self.limit, x + self.limit))
        if signal.premium > self.premium:  # nan, before the first anchor's end, is no reason
            goal = min(goal, x)
        return goal if trusted else min(goal, max(x, self.uncalibrated))

    def _goal(self, x: float, top: float, α: float, signal: Signal) -> float:
        """Where the rule would go without trust region and projection."""
        if self.rule == "price":
            return x - self.rate * price_drift(x, signal.price, α, top)
        if self.rule == "keep":
            return x + self.limit if α else x
        if self.rule == "coordinate":
            return x - self.rate * coordinate_drift(x, signal.slope, signal.reward_scale, α, top)
        β = signal.multiplier
        if self.rule == "radius" or α == 0:  # without α there is no closed form to go to
            return x - self.rate * radius_drift(x, β, self.discount, α, top)
        trust = 0.0 if self.rule == "closed_form" else max(0.0, 1 / (2 * self.rate) - α)
        return lagrangian_step(x, β, self.discount, α, trust, top)

    def _pacing(self, state: State, x: float, top: float, signal: Signal) -> float:
        """α of this update, after Klink's schedules."""
        late = self.schedule == "constant" or state["updates"] > self.offset
        if not (late and state["reached"] and self._keeps_up(state)):
            return 0.0
        if self.schedule != "percentage":
            return self.pacing
        # ζ max(0, J)/D: the penalty is a fixed share ζ of the performance, D = (x − x_b)².
        unit = horizon(self.discount) * reward_unit(signal) if self.rule == "coordinate" else 1.0
        distance = max((x - top) ** 2, _LEAST_DISTANCE)
        return self.pacing * max(0.0, signal.start_value / unit) / distance

    def _returns(self, state: State, signal: Signal) -> State:
        """The moving average of episode returns and the highest that it has been."""
        if not self.share or math.isnan(signal.episode_return):
            return {}
        past = signal.episode_return if math.isnan(state["level"]) else state["level"]
        level = float(_MEMORY * past + (1 - _MEMORY) * signal.episode_return)
        return {"level": level, "best": max(state["best"], level)}

    def _keeps_up(self, state: State) -> bool:
        """Whether enough of the best return is left; nothing is before the first episode's end."""
        if not self.share:
            return True
        return state["level"] >= state["best"] - (1 - self.share) * abs(state["best"])

    def _to_variable(self, radius: float) -> float:
        return to_coordinate(self.scale, radius) if self.rule == "coordinate" else radius

    def _to_radius(self, variable: float) -> float:
        if variable >= self._to_variable(self.budget):
            return self.budget  # not its root squared
        return to_radius(self.scale, variable) if self.rule == "coordinate" else float(variable)


def self_paced(setup: Setup) -> SelfPaced:
    """DR-SPCRL: each update balances the marginal cost of robustness and the pull of the budget."""
    s = setup.settings
    even = s.epsilon_budget / setup.iterations
    own: dict[str, Any] = {}
    if isinstance(s, WorldCurriculumSettings):
        own = {
            "limit": s.pace_limit * even if s.pace_limit else math.inf,
            "premium": s.premium_bound,
            "calibration": s.calibration_bound if setup.gated else 0.0,
            "uncalibrated": s.calibration_radius * s.epsilon_budget,
            "waiver": s.calibration_waiver,
        }
    return SelfPaced(
        budget=s.epsilon_budget,
        discount=setup.discount,
        scale=setup.divergence.scale,
        rule=s.rule,  # type: ignore[arg-type]
        pacing=s.pacing,
        rate=s.rate / setup.iterations if s.rate_per == "run" else s.rate,
        start=s.epsilon_start,
        schedule=s.pacing_schedule,  # type: ignore[arg-type]
        offset=s.pacing_offset,
        warmup=s.warmup_updates,
        trust_region=s.trust_region,
        bound=s.performance_bound,
        share=s.performance_share,
        spread=s.epsilon_spread,
        **own,
    )
