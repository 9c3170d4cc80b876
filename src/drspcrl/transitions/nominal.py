"""Nominal models: P0, the law that the worst case is taken around, as draws with log-weights.

The uncertain object is the law of ω = (w, η, ν) given what led to a state s: the state is truly
s + w, the policy sees o = s + w + η, and what it asks for arrives as clip(u + ν). A model of next
states (an ensemble, a conditional VAE, a resampled simulator) fits as w = predicted s' − stored s'.

`Noise`, the default, is Gaussian noise around the simulator's step. `Single` has no noise at all:
the paper read literally, P0 is the one stored next state.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.config.transitions import RELATIVE
from drspcrl.errors import InputError

Number = Array | np.ndarray | float
"""A number of one member, or of all of them, [M]."""


class Scales(NamedTuple):
    """How large a member's nominal noise is; numbers of one member, so that members may differ.

    Attributes:
        sensor: of η, on what the policy sees.
        actuator: of ν, on actions in [−1, 1].
        process: of w, on the state itself.
        level_spread: m in [0, 1]; each state's draws have all three scales times one level, drawn
            from U[1 − m, 1]. None for levels of 1, as 0 gives, without drawing any.
    """

    sensor: Number = 0.0
    actuator: Number = 0.0
    process: Number = 0.0
    level_spread: Number | None = None

    def times(self, factor: Number) -> "Scales":
        """The three scales times a factor."""
        return self._replace(
            sensor=self.sensor * factor,
            actuator=self.actuator * factor,
            process=self.process * factor,
        )


class Strength(NamedTuple):
    """What a member is trained against: the worst case within `epsilon` of P0 of these scales."""

    epsilon: Number = 0.0
    scales: Scales = Scales()


class Transition(NamedTuple):
    """What led to the state that draws are wanted around: one transition, or a batch of them.

    Where nothing led to it (a start state), it stands in both observations, under action 0.
    """

    observation: Array
    action: Array
    next_observation: Array


class Draws(NamedTuple):
    """n draws of ω for one state.

    Attributes:
        process: w, [n, O].
        sensor: η, [n, O].
        actuator: ν, [n, A].
        log_weight: log of each draw's probability, up to a constant, [n].
    """

    process: Array
    sensor: Array
    actuator: Array
    log_weight: Array


class TransitionBatch(Protocol):
    """Anything with a batch of transitions, such as a replay's."""

    @property
    def observation(self) -> Array:
        """[B, O]."""
        ...

    @property
    def action(self) -> Array:
        """[B, A], in [−1, 1]."""
        ...

    @property
    def next_observation(self) -> Array:
        """[B, O]."""
        ...


class NominalModel(ABC):
    """A law to draw ω from, possibly one that learns; state goes in and comes out."""

    # Whether n draws tell more than one; a model that is not sampled has one outcome.
    sampled: ClassVar[bool] = True
    # Whether the stored next state is itself a draw of this law (so that w = 0 came true), as under
    # a model of a random simulator, or the centre that noise is added to.
    stored_is_a_draw: ClassVar[bool] = False

    @classmethod
    def of(cls, relative: str, kinds: tuple[str, ...]) -> "NominalModel":
        """The model of a training.

        Args:
            relative: the setting of that name.
            kinds: the noise that some member has a scale for: sensor, actuator, process.
        """
        del relative, kinds
        return cls()

    @property
    def moves_states(self) -> bool:
        """Whether w may be anything but 0; if not, all draws of a state share what depends on s."""
        return True

    @property
    def moves_actions(self) -> bool:
        """Whether ν may be anything but 0; if not, actions arrive as they are wanted."""
        return True

    @abstractmethod
    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """What the model knows before it has seen anything."""

    @abstractmethod
    def update(self, state: Any, batch: TransitionBatch) -> tuple[Any, dict[str, Array]]:
        """Learn from a batch of transitions; the new state, and metrics."""

    @abstractmethod
    def sample(self, state: Any, key: Array, scales: Scales, transition: Transition, n: int) -> Any:
        """`Draws` around `transition.next_observation`, for one transition."""

    def sample_now(
        self, state: Any, key: Array, scales: Scales, observations: Array, action_size: int
    ) -> tuple[Array, Array]:
        """η [E, O] and ν [E, A] of one step in states [E, O], for rollouts under the noise."""

        def one(key: Array, observation: Array) -> tuple[Array, Array]:
            here = Transition(observation, jnp.zeros(action_size), observation)
            drawn = self.sample(state, key, scales, here, 1)
            return drawn.sensor[0], drawn.actuator[0]

        return jax.vmap(one)(jax.random.split(key, len(observations)), observations)

    @abstractmethod
    def state_scale(self, state: Any) -> Array:
        """The length of a coordinate of the state that counts as 1, [O]."""


KINDS: tuple[str, ...] = ("sensor", "actuator", "process")
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
