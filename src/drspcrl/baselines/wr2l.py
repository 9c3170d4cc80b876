"""Wasserstein robust RL (Abdullah et al. 2019): the policy trains in the worst simulator nearby.

φ [d] are the logarithms of the scales of a simulator's parameters, φ₀ = 0 the nominal ones; J(φ)
is the return of the present policy in simulator P_φ. The adversary looks for the worst φ with
E W₂²(P_φ, P_φ₀) ≤ ε. To second order in φ that is ½ (φ − φ₀)ᵀ H₀ (φ − φ₀) ≤ ε, and to first order
in J the worst φ has a closed form, `worst_step`.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from drspcrl.baselines.trials import Act, Played, Trials, Visited
from drspcrl.config.baselines import WR2LSettings
from drspcrl.config.field import spec_of
from drspcrl.envs import BatchEnv
from drspcrl.errors import InputError

TINY = 1e-12


def antithetic(generator: np.random.Generator, pairs: int, size: int, width: float) -> np.ndarray:
    """Gaussian directions ξ ~ N(0, width² I) followed by their opposites, [2·pairs, size]."""
    half = width * generator.standard_normal((pairs, size))
    return np.concatenate([half, -half])


def gradient(directions: np.ndarray, returns: np.ndarray, width: float) -> np.ndarray:
    """The zeroth-order gradient of J, smoothed over N(0, width² I).

    g = (1/width²) E[ξ J(φ + ξ)], over antithetic pairs the mean of
    ξ (J(φ + ξ) − J(φ − ξ)) / (2 width²). A baseline would cancel within each pair.

    Args:
        directions: ξ from `antithetic`, [2·pairs, d].
        returns: J(φ + ξ), [2·pairs]; a pair with a number that is not finite is left out.
        width: standard deviation of the directions.

    Returns:
        g [d]; 0 where no pair is left.
    """
    ahead, behind = np.split(returns, 2)
    differences = ahead - behind
    sound = np.isfinite(differences)
    if not sound.any():
        return np.zeros(directions.shape[1])
    half = directions[: len(ahead)][sound]
    return half.T @ differences[sound] / (2.0 * len(half) * width**2)


def zeroth_order_hessian(directions: np.ndarray, costs: np.ndarray, width: float) -> np.ndarray:
    """The zeroth-order Hessian of W(φ) = E W₂²(P_φ, P_φ₀) at φ₀.

    H₀ = (1/width²) E[(ξξᵀ/width² − I) (W(φ₀ + ξ) − b)], antithetic, with b the mean of the other
    pairs' costs: E[ξξᵀ/width² − I] = 0, so b changes the variance alone.

    Args:
        directions: ξ from `antithetic`, [2·pairs, d].
        costs: W₂² at φ₀ + ξ, [2·pairs]; a pair with a number that is not finite is left out.
        width: standard deviation of the directions.

    Returns:
        H₀ [d, d], symmetric but not always positive; 0 where fewer than two pairs are left.
    """
    means = np.mean(np.split(costs, 2), axis=0)
    sound = np.isfinite(means)
    size, count = directions.shape[1], int(sound.sum())
    if count < 2:
        return np.zeros((size, size))
    unit = directions[: len(means)][sound] / width
    # W_i − mean of the others = count/(count − 1) (W_i − mean of all)
    weights = (means[sound] - means[sound].mean()) / (count - 1)
    return ((unit.T * weights) @ unit - weights.sum() * np.eye(size)) / width**2


def sensitivity_hessian(jacobians: np.ndarray) -> np.ndarray:
    """The same Hessian for a deterministic simulator, from how f moves with each parameter.

    W(φ) = E‖f_φ(s, a) − f_φ₀(s, a)‖² has value and gradient 0 at φ₀, so its Hessian there is
    2 E[AᵀA] with A = ∂f/∂φ: never negative, and without the noise of random directions.

    Args:
        jacobians: A at each of S pairs (s, a), [S, C, d]; one that is not finite is left out.

    Returns:
        H₀ [d, d].
    """
    sound = jacobians[np.isfinite(jacobians).all(axis=(1, 2))]
    if not len(sound):
        return np.zeros(2 * jacobians.shape[2:])
    return 2.0 * np.einsum("sck,scl->kl", sound, sound) / len(sound)


def positive_definite(hessian: np.ndarray, ridge: float) -> np.ndarray:
    """The nearest positive semi-definite matrix, plus `ridge` times its mean eigenvalue.

    Args:
        hessian: H₀ [d, d].
        ridge: above 0; bounds how far a parameter may go that hardly moves the next state.
    """
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    values = np.maximum(values, 0.0)
    values = values + max(ridge * float(values.mean()), TINY)
    return (vectors * values) @ vectors.T


def worst_step(gradient: np.ndarray, hessian: np.ndarray, epsilon: float) -> np.ndarray:
    """Where in the ball the linearised return is lowest: φ − φ₀ = −√(2ε/(gᵀH₀⁻¹g)) H₀⁻¹g.

    It lies on the boundary, ½ (φ − φ₀)ᵀ H₀ (φ − φ₀) = ε, and is the same for every positive
    multiple of g. Without a gradient, or with ε = 0, it is 0.

    Args:
        gradient: g [d].
        hessian: H₀ [d, d], positive definite.
        epsilon: the ball's radius in E W₂².
    """
    towards = np.linalg.solve(hessian, gradient)
    curvature = float(gradient @ towards)
    if not curvature > 0.0:
        return np.zeros_like(gradient)
    return -np.sqrt(2.0 * epsilon / curvature) * towards


def shortened(step: np.ndarray, bound: float) -> np.ndarray:
    """The step, shortened as a whole until no entry exceeds `bound`; so it stays in the ball."""
    longest = float(np.max(np.abs(step), initial=0.0))
    return step if longest <= bound else step * (bound / longest)


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
            g = gradient(directions[k], played.returns[k], own.width)
            h = positive_definite(hessians[k], own.ridge)
            phi = shortened(worst_step(g, h, own.epsilon), own.bound)
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
        return np.stack([sensitivity_hessian(own) for own in each]), 2 * size * count

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
                antithetic(generator, pairs, size, own.width)
                for generator, own in zip(generators, self._settings, strict=True)
            ]
        )
        chosen = np.tile(np.arange(pairs) % count, 2)
        change = self.trials.successors(visited.take(chosen), directions) - nominal[:, chosen]
        costs = np.square(change * units[:, None]).sum(axis=-1)
        each = zip(directions, costs, self._settings, strict=True)
        return np.stack(
            [zeroth_order_hessian(xi, cost, own.width) for xi, cost, own in each]
        ), 2 * pairs

    def _generator(self, k: int, state: State) -> np.random.Generator:
        return np.random.default_rng((self._seeds[k], state.updates, STREAM))

    def _directions(self, k: int, generator: np.random.Generator) -> np.ndarray:
        own = self._settings[k]
        return antithetic(generator, own.pairs, len(self.trials.parameters), own.width)


def _units(nominal: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Factors [C] with which a squared distance is a mean of squares in units of one step.

    A number that no step changes has no unit, and counts nothing.
    """
    spread = np.nanstd(nominal - before, axis=0)
    moves = spread > TINY
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
