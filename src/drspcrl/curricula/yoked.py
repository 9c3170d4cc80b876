"""A control: self_paced's mean ε, replayed; the same growth, but blind to the agent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drspcrl.curricula.base import Setup, State
from drspcrl.curricula.signal import Signal
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.runfolder.runs import Run, read_runs

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
