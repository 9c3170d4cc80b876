"""The same radius throughout: vanilla, nominal, probes_only and fixed."""

from dataclasses import dataclass

from drspcrl.curricula.base import Setup, State
from drspcrl.curricula.signal import Signal


@dataclass(frozen=True)
class Constant:
    """One ε for the whole run."""

    radius: float

    def init(self, seed: int) -> State:
        """There is nothing to remember."""
        return {}

    def epsilon(self, state: State) -> float:
        """The radius."""
        return self.radius

    def update(self, state: State, signal: Signal) -> State:
        """No change."""
        return state


def vanilla(setup: Setup) -> Constant:
    """The plain learner: ε = 0, and the trainer leaves the nominal model out."""
    return Constant(0.0)


def nominal(setup: Setup) -> Constant:
    """ε = 0 with the nominal model: noise in training, but no adversary."""
    return Constant(0.0)


def probes_only(setup: Setup) -> Constant:
    """ε = 0 in worlds: only the probe environments are ever at another radius."""
    return Constant(0.0)


def fixed(setup: Setup) -> Constant:
    """The whole budget, or a share of it, from the start: robust training without a curriculum."""
    return Constant(setup.settings.end_share * setup.settings.epsilon_budget)
