"""The paper read literally: P0 is the one stored next state."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from drspcrl.nominal.base import Draws, NominalModel, Scales, Transition, TransitionBatch
from drspcrl.nominal.noise import Noise, NoiseState


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
