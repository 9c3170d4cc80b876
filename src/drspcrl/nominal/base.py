"""What every nominal model offers: draws from P0 around a state, with log-weights.

The uncertain object is the law of ω = (w, η, ν) given what led to a state s: the state is truly
s + w, the policy sees o = s + w + η, and what it asks for arrives as clip(u + ν). A model of next
states (an ensemble, a conditional VAE, a resampled simulator) fits as w = predicted s' − stored s'.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

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
