"""Radii that do not depend on the agent: constant, linear, random, and a replayed mean.

`vanilla`, `nominal`, `probes_only` and `fixed` keep one ε; `linear` is the hand-made straight line
from ε_start to the budget, in ε or in ρ; `domain_randomization` draws ε in every iteration;
`yoked`, a control, replays self_paced's mean ε: the same growth, blind to the agent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.curricula.base import Setup, Signal, State, generator, to_coordinate, to_radius
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.runfolder.runs import Run, read_runs


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


@dataclass(frozen=True)
class RandomRadius:
    """ε ~ U[0, ε_budget], drawn again for each iteration."""

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


_POINTS = 501  # of a replayed curve, from the start to the end of the run


@dataclass(frozen=True)
class Yoked:
    """The mean ε of the self-paced members of the same population, or a curve from earlier runs."""

    start: float
    """ε_start, while there is no other."""
    iterations: int
    """Of the whole run."""
    curve: tuple[float, ...] = ()
    """ε at even points from the start to the end of a run; none to follow `peers_epsilon`."""

    def init(self, seed: int) -> State:
        """Where self_paced starts."""
        return {"iteration": 0, "epsilon": self.curve[0] if self.curve else self.start}

    def epsilon(self, state: State) -> float:
        """The state's ε."""
        return float(state["epsilon"])

    def update(self, state: State, signal: Signal) -> State:
        """What the others use in the coming iteration; unchanged where that is not known."""
        iteration = state["iteration"] + 1
        ε = self._at(iteration) if self.curve else signal.peers_epsilon
        return {"iteration": iteration, "epsilon": state["epsilon"] if math.isnan(ε) else float(ε)}

    def _at(self, iteration: int) -> float:
        places = np.linspace(0.0, self.iterations, len(self.curve))
        return float(np.interp(iteration, places, self.curve))


def yoked(setup: Setup) -> Yoked:
    """The mean ε of self_paced replayed, to tell adaptivity from a good schedule."""
    s = setup.settings
    form = "worlds" if setup.worlds else "transitions"
    curve = mean_curve(s.yoked_to, form) if s.yoked_to else ()
    return Yoked(s.epsilon_start, setup.iterations, curve)


def mean_curve(folder: str | Path, uncertainty: str = "transitions") -> tuple[float, ...]:
    """Mean ε over all self_paced runs below a folder, at even fractions of their length.

    Args:
        folder: where the runs are.
        uncertainty: what ε is the radius of; runs of the other form are passed over.

    Raises:
        InputError: there is no such run with an ε curve.
    """
    found = read_runs(folder, metrics=("step", "epsilon")).runs
    paced = [run for run in found if run.method.partition(":")[0] == "self_paced"]
    curves = [_curve(run) for run in paced if run.uncertainty == uncertainty]
    known = [curve for curve in curves if curve is not None]
    if not known:
        raise InputError(
            f"yoked_to is {shown(str(folder))}, which holds no self_paced run with ε in "
            f"metrics.csv and uncertainty {uncertainty}; name a folder of such runs"
        )
    return tuple(np.mean(known, axis=0).tolist())


def _curve(run: Run) -> Sequence[float] | None:
    steps, ε = run.metrics.get("step"), run.metrics.get("epsilon")
    if steps is None or ε is None or not len(steps):
        return None
    return np.interp(np.linspace(0.0, steps[-1], _POINTS), steps, ε).tolist()
