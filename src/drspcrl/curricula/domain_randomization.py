"""A random radius in every iteration."""

from dataclasses import dataclass

from drspcrl.curricula.base import Setup, State, generator
from drspcrl.curricula.signal import Signal


@dataclass(frozen=True)
class RandomRadius:
    """ε ~ U[0, ε_budget], drawn anew for each iteration."""

    budget: float
    """ε_budget."""

    def init(self, seed: int) -> State:
        """No iteration yet."""
        return {"seed": int(seed), "iteration": 0}

    def epsilon(self, state: State) -> float:
        """This iteration's draw."""
        return float(generator(state["seed"], state["iteration"]).uniform(0.0, self.budget))

    def update(self, state: State, signal: Signal) -> State:
        """One iteration further, whatever the signal."""
        return {**state, "iteration": state["iteration"] + 1}


def domain_randomization(setup: Setup) -> RandomRadius:
    """The paper's Domain Randomization: a random ε, not random physics."""
    return RandomRadius(setup.settings.epsilon_budget)
