"""ACCEL (Parker-Holder et al. 2022) with ε as its level: replay and edit the radii of high regret.

In the order of its pseudocode: score, weigh, insert, replay and edit, choose.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from drspcrl.curricula.base import Array, Setup, Signal, State, generator, reward_unit

if TYPE_CHECKING:
    from drspcrl.divergences import Divergence

Score = Callable[[float], float]


class Buffer(NamedTuple):
    """Levels in the order of their slots; only the first `size` count.

    Attributes:
        radii: ε of each entry, [N].
        scores: its newest score, [N].
        staleness: replay draws since it was drawn last, [N].
        size: number of entries.
    """

    radii: Array
    scores: Array
    staleness: Array
    size: int

    def put(self, slot: int, radius: float, score: float, staleness: float) -> "Buffer":
        """One slot written, in a copy."""
        given = ((self.radii, radius), (self.scores, score), (self.staleness, staleness))
        written = [np.where(np.arange(len(a)) == slot, value, a) for a, value in given]
        return Buffer(*written, size=max(self.size, slot + 1))


@dataclass(frozen=True)
class Accel:
    """A buffer of radii, replayed by rank of score and by staleness, and edited after replay.

    New radii come from an easy generator, are scored on the stored draws, and are not trained on;
    only the first iteration, when nothing can be scored yet, trains on one.
    """

    divergence: "Divergence"
    """Whose exact dual scores a radius."""
    budget: float
    """ε_budget."""
    capacity: int = 128
    """N."""
    fill: float = 0.5
    """Fraction of N from which on entries are replayed."""
    replay: float = 0.8
    """Probability of a replay, where there is enough to replay."""
    temperature: float = 0.3
    """T."""
    stale: float = 0.3
    """c."""
    easy: float = 0.1
    """New radii are uniform in [0, easy·ε_budget]."""
    edit: float = 0.05
    """An edit moves ε by ±edit·ε_budget."""
    duplicate: float = 1e-4
    """Radii within duplicate·ε_budget are one entry."""
    by_epsilon: bool = False
    """Score ε·β* instead of β*."""
    worlds: bool = False
    """Score the share of value that is lost at a radius of worlds."""

    def init(self, seed: int) -> State:
        """An empty buffer and one easy radius."""
        empty = Buffer(*(np.zeros(self.capacity) for _ in range(3)), size=0)
        first = self._new(generator(seed, 0))
        return {"seed": int(seed), "updates": 0, "epsilon": first, "slot": -1, **empty._asdict()}

    def epsilon(self, state: State) -> float:
        """The radius that was chosen for this iteration."""
        return float(state["epsilon"])

    def update(self, state: State, signal: Signal) -> State:
        """Score what was trained on, edit it, then choose what to train on next."""
        updates = state["updates"] + 1
        random = generator(state["seed"], updates)
        arrays = (state[name] for name in Buffer._fields[:3])
        buffer = Buffer(*arrays, size=int(state["size"]))
        score = self._scorer(signal)
        if math.isnan(score(state["epsilon"])):  # nothing is known yet
            return {**state, "updates": updates}
        buffer = self._after_training(random, buffer, score, state["slot"], state["epsilon"])
        buffer, slot = self._choose(random, buffer, score)
        chosen = {"epsilon": float(buffer.radii[slot]), "slot": slot, "updates": updates}
        return {**state, **chosen, **buffer._asdict()}

    def weights(self, buffer: Buffer) -> Array:
        """(1−c)·rank^(−1/T)/Z + c·staleness/Z of the entries, [size]; the highest score is 1st."""
        scores, staleness = buffer.scores[: buffer.size], buffer.staleness[: buffer.size]
        ranks = np.empty(buffer.size)
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, buffer.size + 1)
        by_rank = ranks ** (-1 / self.temperature)
        by_rank /= by_rank.sum()
        if staleness.sum() == 0:
            return by_rank
        return (1 - self.stale) * by_rank + self.stale * staleness / staleness.sum()

    def insert(self, buffer: Buffer, radius: float, score: float) -> Buffer:
        """A new entry where there is room, or where it beats the entry of least weight.

        A radius that is already there only gets its new score.
        """
        gaps = np.abs(buffer.radii[: buffer.size] - radius)
        if buffer.size and gaps.min() <= self.duplicate * self.budget:
            return self._rescored(buffer, int(gaps.argmin()), score)
        if buffer.size < self.capacity:
            return buffer.put(buffer.size, radius, score, 0.0)
        least = int(self.weights(buffer).argmin())
        return buffer.put(least, radius, score, 0.0) if score > buffer.scores[least] else buffer

    def _after_training(
        self, random: np.random.Generator, buffer: Buffer, score: Score, slot: int, ε: float
    ) -> Buffer:
        if slot < 0:  # the very first radius
            return self.insert(buffer, ε, score(ε))
        buffer = self._rescored(buffer, slot, score(ε))
        step = self.edit * self.budget * random.choice((-1, 1))
        edited = float(np.clip(ε + step, 0.0, self.budget))
        return self.insert(buffer, edited, score(edited))

    def _choose(
        self, random: np.random.Generator, buffer: Buffer, score: Score
    ) -> tuple[Buffer, int]:
        """New radii until a replay comes up, or until the easy range seems to hold no more."""
        for _ in range(4 * self.capacity):
            enough = buffer.size >= self.fill * self.capacity
            if enough and random.random() < self.replay:
                break
            new = self._new(random)
            buffer = self.insert(buffer, new, score(new))
        weights = self.weights(buffer)
        slot = int(random.choice(buffer.size, p=weights / weights.sum()))
        staleness = buffer.staleness + 1.0
        staleness[slot] = 0.0
        return buffer._replace(staleness=staleness), slot

    def _rescored(self, buffer: Buffer, slot: int, score: float) -> Buffer:
        return buffer.put(slot, float(buffer.radii[slot]), score, float(buffer.staleness[slot]))

    def _new(self, random: np.random.Generator) -> float:
        return float(random.uniform(0.0, self.easy * self.budget))

    def _scorer(self, signal: Signal) -> Score:
        """How much a radius has to teach."""
        return value_loss(signal, self.budget) if self.worlds else self._regret(signal)

    def _regret(self, signal: Signal) -> Score:
        """Regret of any radius, in units of mean absolute reward so that old scores still compare.

        A network β_φ(s,a) knows no ε, so every radius is scored with the exact dual on the signal's
        draws. Where a ball leaves the support of its draws (Wasserstein), β* to first order does
        not depend on ε, and the signal's own serves.
        """
        unit = reward_unit(signal)
        sampled = self.divergence.on_support and signal.draws.size > 0

        def score(ε: float) -> float:
            β = mean_multiplier(self.divergence, signal.draws, ε) if sampled else signal.multiplier
            if not self.by_epsilon:
                return β / unit
            return ε * β / unit if ε > 0 else 0.0  # β* grows like 1/√ε at most

        return score


def value_loss(signal: Signal, budget: float) -> Score:
    """The share of the value at radius 0 that is lost at a radius of worlds.

    The radius that was trained on is scored by its episodes where anchors and they are known, every
    other one, an edit or a new radius, by the critic at even radii from 0 to the budget.
    """
    values = np.asarray(signal.radius_values, float)

    def score(radius: float) -> float:
        gone = signal.anchor_return - signal.episode_return
        if radius == signal.epsilon and not math.isnan(gone) and signal.anchor_return != 0:
            return gone / abs(signal.anchor_return)
        if not values.size or not np.isfinite(values).all():
            return math.nan
        there = np.interp(radius, np.linspace(0.0, budget, len(values)), values)
        return float(values[0] - there) / max(abs(float(values[0])), 1e-8)

    return score


def mean_multiplier(divergence: "Divergence", draws: Array, radius: float) -> float:
    """E[β*] of a radius over states with n equally likely draws each, [B, n]; nan if one is nan."""
    if not np.isfinite(draws).all():
        return math.nan
    return float(_multipliers(divergence)(draws, radius).mean())


@lru_cache(maxsize=8)
def _multipliers(divergence: "Divergence") -> Callable[[Array, float], np.ndarray]:
    import jax
    import jax.numpy as jnp

    from drspcrl.precision import in_float64

    @jax.jit
    def solve(draws: jax.Array, radius: jax.Array) -> jax.Array:
        even = jnp.full(draws.shape[1], 1 / draws.shape[1], draws.dtype)
        return jax.vmap(lambda values: divergence.worst_case(values, even, radius).multiplier)(
            draws
        )

    def multipliers(draws: Array, radius: float) -> np.ndarray:
        with jax.default_device(_host()):
            problem = jnp.asarray(draws, jnp.float64), jnp.asarray(radius, jnp.float64)
            return np.asarray(solve(*problem))

    return in_float64(multipliers)


def _host():
    """A few hundred small problems: a GPU would only add latency."""
    import jax

    try:
        return jax.devices("cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS leaves it out
        return jax.devices()[0]


def accel(setup: Setup) -> Accel:
    """ACCEL: replay and edit radii by regret, where regret is the mean dual variable."""
    s = setup.settings
    return Accel(
        divergence=setup.divergence,
        budget=s.epsilon_budget,
        capacity=s.accel_buffer,
        fill=s.accel_fill,
        replay=s.accel_replay,
        temperature=s.accel_temperature,
        stale=s.accel_staleness,
        easy=s.accel_easy,
        edit=s.accel_edit,
        duplicate=s.accel_duplicate,
        by_epsilon=s.accel_score == "epsilon_beta",
        worlds=setup.worlds,
    )
