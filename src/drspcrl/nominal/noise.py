"""Gaussian noise around the simulator's step, the default P0; and `Single`, no noise at all.

`Single` is the paper read literally: P0 is the one stored next state.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.errors import InputError
from drspcrl.nominal.base import Draws, NominalModel, Scales, Transition, TransitionBatch

KINDS: tuple[str, ...] = ("sensor", "actuator", "process")
RELATIVE = ("none", "process", "all", "step")
_MEMORY = 1000.0  # batches that the running statistics remember
_FLOOR = 1e-8
_LEVEL = 1 << 30  # a key of its own, far from those that `split` gives


class Spread(NamedTuple):
    """Mean and variance of a vector over the batches seen, the last `_MEMORY` of them."""

    mean: Array
    variance: Array
    batches: Array


class NoiseState(NamedTuple):
    """Running statistics of observations and of their change in one step."""

    observation: Spread
    change: Spread


@dataclass(frozen=True)
class Noise(NominalModel):
    """Gaussian noise, independent in every coordinate.

        w = κ·unit(s' − s)·N(0, I),  η = σ·unit(s)·N(0, I),  ν = τ·N(0, I)

    with κ, σ, τ the scales `process`, `sensor`, `actuator`. A unit is 1, or where `relative` says
    so the running standard deviation of that quantity in the member's own replay; or for w, with
    `step`, the transition's own s' − s, a relative error of what the step does. With a
    `level_spread` the scales themselves are random from state to state, the same for all draws of
    one: in many dimensions noise of one scale keeps its distance, nearly all of it lies about σ·√O
    away from what is true, so that of draws alone a policy learns nothing about undisturbed states.

    Attributes:
        relative: `none` for absolute scales, `process` for a relative w, `all` for a relative η
            too, `step` for a w relative to its own transition. Actions are in [−1, 1] and always
            absolute.
        kinds: which of the three are drawn at all; random numbers cost time, so leave out what no
            member of a population uses.
    """

    relative: str = "process"
    kinds: tuple[str, ...] = KINDS

    @classmethod
    def of(cls, relative: str, kinds: tuple[str, ...]) -> "Noise":
        """See `NominalModel`."""
        return cls(relative, kinds)

    def __post_init__(self) -> None:
        """Check the names."""
        if self.relative not in RELATIVE:
            raise InputError(
                f"Noise: relative is {self.relative!r}; choose one of {', '.join(RELATIVE)}"
            )
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise InputError(f"Noise: kind {unknown[0]!r}; choose among {', '.join(KINDS)}")

    @property
    def moves_states(self) -> bool:
        """Whether process noise is drawn."""
        return "process" in self.kinds

    @property
    def moves_actions(self) -> bool:
        """Whether actuator noise is drawn."""
        return "actuator" in self.kinds

    def init(self, key: Array, observation_size: int, action_size: int) -> NoiseState:
        """No spread: relative noise begins with the first batch."""
        del key, action_size
        zeros = jnp.zeros(observation_size)
        nothing = Spread(zeros, zeros, jnp.zeros(()))
        return NoiseState(nothing, nothing)

    def update(
        self, state: NoiseState, batch: TransitionBatch
    ) -> tuple[NoiseState, dict[str, Array]]:
        """Include a batch [B, …] in the running statistics."""
        change = batch.next_observation - batch.observation
        state = NoiseState(
            include(state.observation, batch.observation), include(state.change, change)
        )
        return state, {}

    def sample(
        self, state: NoiseState, key: Array, scales: Scales, transition: Transition, n: int
    ) -> Draws:
        """n independent draws of equal weight."""
        scales = at_a_level(scales, jax.random.fold_in(key, _LEVEL))
        own_keys = jax.random.split(key, len(KINDS))
        keys = {kind: own_keys[k] for k, kind in enumerate(KINDS)}
        size = transition.next_observation.shape[-1]
        sizes = {"sensor": size, "actuator": transition.action.shape[-1], "process": size}
        units = {
            "sensor": deviation(state.observation) if self.relative == "all" else None,
            "actuator": None,
            "process": self._process_unit(state, transition),
        }

        def drawn(kind: str) -> Array:
            shape = (n, sizes[kind])
            if kind not in self.kinds:
                return jnp.zeros(shape)
            noise = getattr(scales, kind) * jax.random.normal(keys[kind], shape)
            return noise if units[kind] is None else noise * units[kind][None]

        return Draws(drawn("process"), drawn("sensor"), drawn("actuator"), jnp.zeros(n))

    def _process_unit(self, state: NoiseState, transition: Transition) -> Array | None:
        """The unit of w, [O]; None for 1."""
        if self.relative == "none":
            return None
        if self.relative == "step":
            return transition.next_observation - transition.observation
        return deviation(state.change)

    def state_scale(self, state: NoiseState) -> Array:
        """The standard deviation of one step's change."""
        return deviation(state.change)


def at_a_level(scales: Scales, key: Array) -> Scales:
    """The scales of one state's draws."""
    if scales.level_spread is None:
        return scales
    return scales.times(1.0 - scales.level_spread * jax.random.uniform(key))


def include(spread: Spread, samples: Array) -> Spread:
    """Statistics that include samples [B, …]: all batches alike at first, forgetting later.

    Mean and variance of the mixture of (1 − share) of the past with `share` of the batch.
    """
    batches = jnp.minimum(spread.batches + 1.0, _MEMORY)
    share = 1.0 / batches
    delta = jnp.mean(samples, axis=0) - spread.mean
    between = (1.0 - share) * share * jnp.square(delta)
    variance = (1.0 - share) * spread.variance + share * jnp.var(samples, axis=0) + between
    return Spread(spread.mean + share * delta, variance, batches)


def deviation(spread: Spread) -> Array:
    """The standard deviation, kept from 0."""
    return jnp.sqrt(spread.variance + _FLOOR)


@dataclass(frozen=True)
class Single(NominalModel):
    """A point mass at the simulator's next state.

    No ball of an f-divergence around a point mass holds anything else, so nothing becomes robust:
    the dual objective is V(s') − βε, whose supremum is at β → 0. It is here for fidelity and
    comparison. A Wasserstein ball is not empty around it.
    """

    sampled: ClassVar[bool] = False

    def init(self, key: Array, observation_size: int, action_size: int) -> NoiseState:
        """Running statistics, for the units of a Wasserstein ball."""
        return Noise().init(key, observation_size, action_size)

    def update(
        self, state: NoiseState, batch: TransitionBatch
    ) -> tuple[NoiseState, dict[str, Array]]:
        """See `Noise.update`."""
        return Noise().update(state, batch)

    def sample(
        self, state: NoiseState, key: Array, scales: Scales, transition: Transition, n: int
    ) -> Draws:
        """The state itself, once; `n` and `scales` change nothing."""
        del state, key, scales, n
        zeros = jnp.zeros_like(transition.next_observation)[None]
        return Draws(zeros, zeros, jnp.zeros_like(transition.action)[None], jnp.zeros(1))

    def state_scale(self, state: NoiseState) -> Array:
        """See `Noise.state_scale`."""
        return Noise().state_scale(state)
