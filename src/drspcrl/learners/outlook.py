"""What comes next is worth to robust PPO: the critic at draws after every step, and its worst case.

    δ_t = r_t + γ(1 − d_t)·worst_case_i V(x'_i) − V(x_t),   x'_i = (s' + w_i, η_i, ν_i)

Draw 0 is what came true at the next step, so its worst-case weight says how much likelier nature
makes the trajectory at hand; traces are weighted by that. All of it is computed once per rollout,
with the critic that it begins with, in the critic's units: those of normalised rewards.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.divergences import Divergence
from drspcrl.divergences.base import WorstCase
from drspcrl.learners.backup import Value
from drspcrl.learners.privileged import Scene, draws_after, features, features_at
from drspcrl.nominal import Draws, NominalModel, Transition, Uncertainty


class RobustState(NamedTuple):
    """What the parts of the worst case have learned."""

    nominal: Any


@dataclass(frozen=True)
class Robust:
    """What a learner's worst case is: around which law, in which ball, from how many draws."""

    nominal: NominalModel
    divergence: Divergence
    draws: int = 8

    def init(self, key: Array, observation_size: int, action_size: int) -> RobustState:
        """Nothing learned yet."""
        return RobustState(self.nominal.init(key, observation_size, action_size))


class Outlook(NamedTuple):
    """What a rollout's next states are worth.

    Attributes:
        critic_input: x_t, [T, E, I].
        values: V at the draws after each step, [T, E, n].
        nominal: the draws' nominal weights, [T, E, n].
        worst: their worst case, [T, E].
        ratio: worst-case over nominal weight of draw 0, [T, E].
    """

    critic_input: Array
    values: Array
    nominal: Array
    worst: WorstCase
    ratio: Array


def outlook(
    robust: Robust,
    state: RobustState,
    value: Value,
    scene: Scene,
    uncertainty: Uncertainty,
    key: Array,
) -> Outlook:
    """The worst case of a rollout's next states.

    Args:
        robust: the learner's choices.
        state: what its parts have learned.
        value: the critic, from inputs [..., I] to values [...].
        scene: the rollout.
        uncertainty: what the member is trained against.
        key: randomness of the draws.
    """
    noise, scale = scene.noise, scene.scale
    draws = draws_after(robust.nominal, state.nominal, key, uncertainty.scales, scene, robust.draws)
    values, nominal = values_at(value, scene.following, draws, scale)
    solve = jax.vmap(jax.vmap(robust.divergence.worst_case, (0, 0, None)), (0, 0, None))
    worst = solve(values, nominal, uncertainty.epsilon)
    return Outlook(
        critic_input=features(noise.standard, noise.sensor, noise.actuator, scale),
        values=values,
        nominal=nominal,
        worst=worst,
        ratio=worst.weights[..., 0] / nominal[..., 0],
    )


def start_value(
    robust: Robust,
    state: RobustState,
    value: Value,
    starts: Transition,
    standard: Array,
    scale: Array,
    uncertainty: Uncertainty,
    key: Array,
) -> Array:
    """The mean worst case of start states, which stand in both observations of `starts`."""

    def one(key: Array, start: Transition) -> Draws:
        return robust.nominal.sample(state.nominal, key, uncertainty.scales, start, robust.draws)

    draws = jax.vmap(one)(jax.random.split(key, len(standard)), starts)
    values, nominal = values_at(value, standard, draws, scale)
    solve = jax.vmap(robust.divergence.worst_case, (0, 0, None))
    return jnp.mean(solve(values, nominal, uncertainty.epsilon).value)


def values_at(value: Value, standard: Array, draws: Draws, scale: Array) -> tuple[Array, Array]:
    """The critic at draws around normalised states, and the draws' weights, [..., n] each."""
    values = steadied(value(features_at(standard, draws, scale)))
    return values, jax.nn.softmax(draws.log_weight, axis=-1)


def steadied(values: Array) -> Array:
    """Draws [..., n] that differ by rounding alone, made equal.

    A worst case magnifies any spread: a sum done in another order must not steer the traces. Values
    are sums of terms of about 1, normalised as rewards are, so rounding is relative to 1 at least.
    """
    tolerance = 32 * jnp.finfo(values.dtype).eps
    size = jnp.maximum(1.0, jnp.max(jnp.abs(values), axis=-1, keepdims=True))
    spread = jnp.max(values, axis=-1, keepdims=True) - jnp.min(values, axis=-1, keepdims=True)
    first = jnp.broadcast_to(values[..., :1], values.shape)
    return jnp.where(jnp.broadcast_to(spread <= tolerance * size, values.shape), first, values)
