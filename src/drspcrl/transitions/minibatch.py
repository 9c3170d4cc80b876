"""P0 as the next states of a minibatch: another literal reading of the paper's expectation.

The paper writes E_{P0} and learns from minibatches. Read as a mean over the minibatch, P0(·|s, a)
holds the next states that other states and actions led to, so that the worst case is nearly the
same everywhere and says nothing about (s, a). It is here for fidelity and comparison.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.transitions.nominal import (
    Draws,
    Noise,
    NoiseState,
    NominalModel,
    Scales,
    Transition,
    TransitionBatch,
)

SIZE = 256
"""Next states that are kept of a minibatch."""


class MinibatchState(NamedTuple):
    """Next states of the newest minibatch.

    Attributes:
        following: they, [SIZE, O].
        seen: whether there was a minibatch yet.
        spread: running statistics, for the units of a Wasserstein ball.
    """

    following: Array
    seen: Array
    spread: NoiseState


@dataclass(frozen=True)
class Minibatch(NominalModel):
    """Uniform over next states of the newest minibatch, whatever the state and the action were."""

    stored_is_a_draw: ClassVar[bool] = True

    def init(self, key: Array, observation_size: int, action_size: int) -> MinibatchState:
        """No minibatch yet: the stored next state alone."""
        spread = Noise().init(key, observation_size, action_size)
        return MinibatchState(jnp.zeros((SIZE, observation_size)), jnp.zeros((), bool), spread)

    def update(
        self, state: MinibatchState, batch: TransitionBatch
    ) -> tuple[MinibatchState, dict[str, Array]]:
        """Take a batch [B, …] in place of the last one; of a larger one rows at even distances."""
        rows = jnp.linspace(0, batch.next_observation.shape[0] - 1, SIZE).astype(int)
        spread, metrics = Noise().update(state.spread, batch)
        return MinibatchState(batch.next_observation[rows], jnp.ones((), bool), spread), metrics

    def sample(
        self, state: MinibatchState, key: Array, scales: Scales, transition: Transition, n: int
    ) -> Draws:
        """n of the next states, without replacement where n allows it; no other noise."""
        del scales
        rows = jax.random.choice(key, SIZE, (n,), replace=n > SIZE)
        away = state.following[rows] - transition.next_observation[None]
        still = jnp.zeros_like(away)
        idle = jnp.zeros((n, transition.action.shape[-1]))
        return Draws(jnp.where(state.seen, away, still), still, idle, jnp.zeros(n))

    def state_scale(self, state: MinibatchState) -> Array:
        """See `Noise.state_scale`."""
        return Noise().state_scale(state.spread)
