"""The hand-made schedule: a straight line from ε_start to the budget, in ε or in ρ."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from drspcrl.curricula.base import Setup, State, to_coordinate, to_radius
from drspcrl.curricula.signal import Signal

if TYPE_CHECKING:
    from drspcrl.divergences.base import Coordinate


@dataclass(frozen=True)
class Linear:
    """x_t = x_start + (x_budget − x_start)·min(1, t/ramp), x = ε or ρ.

    Pessimism grows like √ε under KL and χ²: a line in ε has half of it after a quarter of the run,
    a line in ρ after half of it.
    """

    budget: float
    """ε_budget, or the share of it that is reached."""
    ramp: float
    """Iterations from start to budget."""
    start: float = 0.0
    """ε_start."""
    scale: "Coordinate" = "linear"
    """`sqrt` for a line in √ε, `linear` for a line in ε."""

    def init(self, seed: int) -> State:
        """No iteration yet."""
        return {"iteration": 0}

    def epsilon(self, state: State) -> float:
        """The point on the line."""
        done = state["iteration"] / self.ramp
        if done >= 1:
            return self.budget
        low, high = (to_coordinate(self.scale, radius) for radius in (self.start, self.budget))
        return to_radius(self.scale, low + (high - low) * done)

    def update(self, state: State, signal: Signal) -> State:
        """One iteration further, whatever the signal."""
        return {"iteration": state["iteration"] + 1}


def linear(setup: Setup) -> Linear:
    """The paper's Linear Schedule: ε grows evenly over the run."""
    return _line(setup, "linear")


def linear_radius(setup: Setup) -> Linear:
    """A control: even growth in the divergence's own coordinate, as self_paced's is."""
    return _line(setup, setup.divergence.scale)


def _line(setup: Setup, scale: "Coordinate") -> Linear:
    settings = setup.settings
    ramp = settings.linear_end * setup.iterations
    end = settings.end_share * settings.epsilon_budget
    return Linear(end, ramp, min(settings.epsilon_start, end), scale)
