"""WR2L's adversary: for each member, the simulator in the ball that is worst for its policy."""

from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from drspcrl.baselines.wr2l import mathematics
from drspcrl.baselines.wr2l.trials import Act, Played, Trials, Visited
from drspcrl.config.baselines import WR2LSettings
from drspcrl.config.field import spec_of
from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError

# The last number of every seed here, so that no training or evaluation draws the same.
STREAM = 13


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

    def __init__(self, env: BatchEnv, seeds: Sequence[int], settings: Sequence[WR2LSettings]):
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


def _check(settings: Sequence[WR2LSettings], num_envs: int, members: int) -> None:
    if not members or len(settings) != members:
        raise InputError(f"{len(settings)} settings for {members} members; give one each")
    shared = [f.name for f in fields(WR2LSettings) if spec_of(f).shared]
    for name in shared:  # they are simulated together
        if len({getattr(own, name) for own in settings}) > 1:
            raise InputError(f"wr2l_{name} differs between members, who are simulated together")
    if num_envs != members * 2 * settings[0].pairs:
        raise InputError(
            f"{num_envs} environments for {members} members of {settings[0].pairs} pairs; give "
            f"{members * 2 * settings[0].pairs}"
        )
