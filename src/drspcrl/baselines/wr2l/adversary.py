"""WR2L's adversary: for each member, the simulator in the ball that is worst for its policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from drspcrl.baselines.wr2l import mathematics
from drspcrl.baselines.wr2l.trials import Act, Played, Trials, Visited
from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError

HESSIANS = ("sensitivity", "zeroth_order")
# The last number of every seed here, so that no training or evaluation draws the same.
STREAM = 13


@dataclass(frozen=True)
class Settings:
    """One member's numbers; in a run's settings they are called `wr2l_…`.

    Attributes:
        epsilon: radius of the ball in E W₂², where positions and velocities are measured in units
            of the standard deviations of one step's changes, and squares averaged over them.
        every: learner iterations between updates.
        pairs: antithetic pairs of episodes for the gradient.
        horizon: steps after which those episodes are cut.
        states: pairs (s, a) that the Hessian is averaged over.
        width: standard deviation of the directions, and the step of finite differences.
        ridge: see `mathematics.positive_definite`.
        bound: largest |log scale| of a parameter.
        hessian: `sensitivity` or `zeroth_order`.
    """

    epsilon: float = 0.05
    every: int = 10
    pairs: int = 16
    horizon: int = 1000
    states: int = 64
    width: float = 0.05
    ridge: float = 1.0
    bound: float = 0.7
    hessian: str = "sensitivity"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Settings":
        """The entries `wr2l_…` of a run's settings."""
        return cls(**{f.name: settings[f"wr2l_{f.name}"] for f in fields(cls)})


SHARED = ("every", "pairs", "horizon", "states", "hessian")
"""What all members of one population have in common: they are simulated together."""


class State(NamedTuple):
    """What one member's adversary remembers: a plain tree.

    Attributes:
        phi: log scales of the simulator that the member trains in, [d].
        updates: how many there were; the randomness of the next one follows from it.
        steps: simulation steps spent so far, beside those of training.
        mean_return: mean return of the newest update's episodes, nan before the first.
    """

    phi: np.ndarray
    updates: int
    steps: int
    mean_return: float


class Adversary:
    """The adversaries of K members, who share their simulations and nothing else.

    Args:
        env: K × 2·pairs environments of the task, which nobody else uses.
        seeds: a seed for each member; members of equal seed and policy get equal adversaries.
        settings: numbers for each member.

    Raises:
        InputError: the task cannot be used, numbers that do not fit.
    """

    def __init__(self, env: BatchEnv, seeds: Sequence[int], settings: Sequence[Settings]):
        self._settings, self._seeds = list(settings), list(seeds)
        _check(self._settings, env.num_envs, len(self._seeds))
        self.trials = Trials(env, len(self._seeds))

    def init(self) -> list[State]:
        """Every member in the nominal simulator."""
        size = len(self.trials.parameters)
        return [State(np.zeros(size), 0, 0, float("nan")) for _ in self._seeds]

    def scales(self, states: Sequence[State]) -> np.ndarray:
        """Factors of all physics parameters for each member, [K, len(physics.names)]."""
        return self.trials.scales(np.stack([state.phi for state in states]))

    def update(self, states: Sequence[State], act: Act) -> list[State]:
        """Move every member's simulator to where its policy fares worst, to first order.

        Args:
            states: what the adversaries remember.
            act: the members' policies, without exploration.
        """
        generators = [self._generator(k, state) for k, state in enumerate(states)]
        directions = np.stack([self._directions(k, g) for k, g in enumerate(generators)])
        played = self._play(states, directions, act, generators)
        hessians, steps = self.hessians(played.visited, generators)
        moved = []
        for k, (state, own) in enumerate(zip(states, self._settings, strict=True)):
            g = mathematics.gradient(directions[k], played.returns[k], own.width)
            h = mathematics.positive_definite(hessians[k], own.ridge)
            phi = mathematics.shortened(mathematics.worst_step(g, h, own.epsilon), own.bound)
            spent = state.steps + steps + int(played.lengths[k].sum())
            moved.append(State(phi, state.updates + 1, spent, float(played.returns[k].mean())))
        return moved

    def close(self) -> None:
        """Release the environments."""
        self.trials.close()

    def _play(
        self,
        states: Sequence[State],
        directions: np.ndarray,
        act: Act,
        generators: Sequence[np.random.Generator],
    ) -> Played:
        """Episodes in the simulators φ + ξ; ξ and −ξ begin in the same state."""
        shared, lanes = self._settings[0], self.trials.lanes
        seeds = [
            (seed, lane % shared.pairs, state.updates, STREAM)
            for seed, state in zip(self._seeds, states, strict=True)
            for lane in range(lanes)
        ]
        phi = np.stack([state.phi for state in states])
        keep = -(-shared.states // lanes)
        logs = phi[:, None] + directions
        return self.trials.play(logs, seeds, act, shared.horizon, generators, keep)

    def hessians(
        self, visited: Visited, generators: Sequence[np.random.Generator]
    ) -> tuple[np.ndarray, int]:
        """H₀ of every member, [K, d, d], and the simulation steps that it took from each.

        Args:
            visited: pairs (s, a) of each member, of which `states` are taken.
            generators: one for each member, for random directions.
        """
        kept = visited.rows.shape[1]
        visited = visited.take(np.linspace(0, kept - 1, self._settings[0].states).astype(int))
        size = len(self.trials.parameters)
        nominal = self.trials.successors(visited, np.zeros((*visited.rows.shape[:2], size)))
        units = np.stack([_units(*pair) for pair in zip(nominal, visited.coordinates, strict=True)])
        if self._settings[0].hessian == "sensitivity":
            hessians, steps = self._by_sensitivity(visited, units)
        else:
            hessians, steps = self._by_directions(visited, nominal, units, generators)
        return hessians, steps + nominal.shape[1]

    def _by_sensitivity(self, visited: Visited, units: np.ndarray) -> tuple[np.ndarray, int]:
        """Central differences in every parameter, at every pair (s, a)."""
        size, count = len(self.trials.parameters), visited.rows.shape[1]
        widths = np.array([own.width for own in self._settings])[:, None, None]
        jacobians = []
        for parameter in np.eye(size):
            logs = np.broadcast_to(widths * parameter, (len(widths), count, size))
            change = self.trials.successors(visited, logs) - self.trials.successors(visited, -logs)
            jacobians.append(change * units[:, None] / (2.0 * widths))
        each = np.stack(jacobians, axis=-1)
        return np.stack([mathematics.sensitivity_hessian(own) for own in each]), 2 * size * count

    def _by_directions(
        self,
        visited: Visited,
        nominal: np.ndarray,
        units: np.ndarray,
        generators: Sequence[np.random.Generator],
    ) -> tuple[np.ndarray, int]:
        """As in the paper: as many random directions as `sensitivity` would take steps."""
        size, count = len(self.trials.parameters), visited.rows.shape[1]
        pairs = size * count
        directions = np.stack(
            [
                mathematics.antithetic(generator, pairs, size, own.width)
                for generator, own in zip(generators, self._settings, strict=True)
            ]
        )
        chosen = np.tile(np.arange(pairs) % count, 2)
        change = self.trials.successors(visited.take(chosen), directions) - nominal[:, chosen]
        costs = np.square(change * units[:, None]).sum(axis=-1)
        each = zip(directions, costs, self._settings, strict=True)
        return np.stack(
            [mathematics.zeroth_order_hessian(xi, cost, own.width) for xi, cost, own in each]
        ), 2 * pairs

    def _generator(self, k: int, state: State) -> np.random.Generator:
        return np.random.default_rng((self._seeds[k], state.updates, STREAM))

    def _directions(self, k: int, generator: np.random.Generator) -> np.ndarray:
        own = self._settings[k]
        return mathematics.antithetic(generator, own.pairs, len(self.trials.parameters), own.width)


def _units(nominal: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Factors [C] with which a squared distance is a mean of squares in units of one step.

    A number that no step changes has no unit, and counts nothing.
    """
    spread = np.nanstd(nominal - before, axis=0)
    moves = spread > mathematics.TINY
    return np.where(moves, 1.0 / np.where(moves, spread, 1.0), 0.0) / np.sqrt(max(1, moves.sum()))


def _check(settings: Sequence[Settings], num_envs: int, members: int) -> None:
    if not members or len(settings) != members:
        raise InputError(f"{len(settings)} settings for {members} members; give one each")
    for name in SHARED:
        if len({getattr(own, name) for own in settings}) > 1:
            raise InputError(f"wr2l_{name} differs between members, who are simulated together")
    for own in settings:
        numbers = (own.every, own.pairs, own.horizon, own.states, own.width, own.ridge, own.bound)
        if min(numbers) <= 0 or own.epsilon < 0 or own.hessian not in HESSIANS:
            raise InputError(
                f"{own}: every number must be above 0 (epsilon may be 0), and hessian one of "
                f"{', '.join(HESSIANS)}"
            )
    if num_envs != members * 2 * settings[0].pairs:
        raise InputError(
            f"{num_envs} environments for {members} members of {settings[0].pairs} pairs; give "
            f"{members * 2 * settings[0].pairs}"
        )
