"""SPACE (Eimer et al. 2021) with ε as its context: grow where the value has settled."""

import math
from dataclasses import dataclass

from drspcrl.curricula.base import Setup, Signal, State


@dataclass(frozen=True)
class Space:
    """When |V_t − V_{t−1}| ≤ η|V_t|, V the mean value of start states, ε grows by κ ε_budget/100.

    ε never falls. The first known value has nothing to be compared with and cannot trigger. The
    bound is relative to |V|: a negative value settles like a positive one, and around 0 only an
    unchanged value does.
    """

    budget: float
    """ε_budget."""
    start: float = 0.0
    """ε_start."""
    threshold: float = 0.1
    """η."""
    growth: float = 1.0
    """κ, in hundredths of the budget."""
    patience: int = 1
    """Settled iterations in a row that it takes."""
    smoothing: float = 0.0
    """Weight of the past in a moving average of V; 0 for none."""
    watch: str = "start_value"
    """Which of the signal's values must settle; in worlds the returns at the radius."""

    def init(self, seed: int) -> State:
        """ε_start, and no value yet."""
        return {"epsilon": self.start, "value": math.nan, "settled": 0}

    def epsilon(self, state: State) -> float:
        """The state's ε."""
        return float(state["epsilon"])

    def update(self, state: State, signal: Signal) -> State:
        """Compare the value with the last one, and grow if it has settled."""
        newest = float(getattr(signal, self.watch))
        if math.isnan(newest):
            return state
        if math.isnan(state["value"]):
            return {**state, "value": newest}
        value = self.smoothing * state["value"] + (1 - self.smoothing) * newest
        calm = abs(value - state["value"]) <= self.threshold * abs(value)
        settled = state["settled"] + 1 if calm else 0
        if settled < self.patience:
            return {**state, "value": value, "settled": settled}
        grown = min(state["epsilon"] + self.growth * self.budget / 100, self.budget)
        return {"epsilon": grown, "value": value, "settled": 0}


def space(setup: Setup) -> Space:
    """SPACE: ε grows whenever the value of start states has settled."""
    s = setup.settings
    return Space(
        budget=s.epsilon_budget,
        start=s.epsilon_start,
        threshold=s.space_threshold,
        growth=s.space_growth,
        patience=s.space_patience,
        smoothing=s.space_smoothing,
        watch="episode_return" if setup.worlds else "start_value",
    )
