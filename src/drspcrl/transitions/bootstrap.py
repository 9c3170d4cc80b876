"""Robust bootstrap values for PPO: the critic at n noise draws per step, and their worst case.

    δ_t = r_t + γ(1 − d_t)·worst_case_i V(x'_i) − V(x_t),   x'_i = (s' + w_i, η_i, ν_i)

Draw 0 is what came true at the next step, so its worst-case weight says how much likelier nature
makes the trajectory at hand; traces are weighted by that. All of it is computed once per rollout,
with the critic that it begins with, in the critic's units: those of normalised rewards.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners.privileged import RolloutNoise, draws_after, features, features_at
from drspcrl.nominal import Draws, Strength, Transition
from drspcrl.transitions.dual import ValueOfDraws, Worst

if TYPE_CHECKING:
    from drspcrl.learners.uncertainty import Value
    from drspcrl.transitions.backup import RobustState, Transitions


class RobustBootstrap(NamedTuple):
    """What a rollout's next states are worth.

    Attributes:
        critic_input: x_t, [T, E, I].
        values: V at the draws after each step, [T, E, n].
        nominal: the draws' nominal weights, [T, E, n].
        worst: their worst case, [T, E] and [T, E, n].
        ratio: worst-case over nominal weight of draw 0, [T, E].
        dual: what the dual knows, after it has learned from these draws.
    """

    critic_input: Array
    values: Array
    nominal: Array
    worst: Worst
    ratio: Array
    dual: Any


def robust_bootstrap(
    robust: "Transitions",
    state: "RobustState",
    value: "Value",
    carried: RolloutNoise,
    uncertainty: Strength,
    key: Array,
) -> RobustBootstrap:
    """The worst case of a rollout's next states.

    Args:
        robust: the learner's choices.
        state: what its parts have learned.
        value: the critic, from inputs [..., I] to values [...].
        carried: the rollout.
        uncertainty: what the member is trained against.
        key: randomness of the draws.
    """
    noise, scale, ε = carried.noise, carried.scale, jnp.asarray(uncertainty.epsilon)
    known, scales = state.nominal, uncertainty.scales
    draws = draws_after(robust.nominal, known, key, scales, carried, robust.draws)
    # A dual network sees states as all of PPO's networks do.
    origin = Transition(noise.standard, carried.steps.action, carried.following)
    shape = carried.ended.shape
    draws, origin = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), (draws, origin))
    dual, worst, values, nominal = worst_case_of_draws(
        robust, state, value, origin, draws, scale, ε
    )
    worst, values, nominal = jax.tree.map(
        lambda a: a.reshape(*shape, *a.shape[1:]), (worst, values, nominal)
    )
    return RobustBootstrap(
        critic_input=features(noise.standard, noise.sensor, noise.actuator, scale),
        values=values,
        nominal=nominal,
        worst=worst,
        ratio=worst.weights[..., 0] / nominal[..., 0],
        dual=dual,
    )


def start_value(
    robust: "Transitions",
    state: "RobustState",
    value: "Value",
    starts: Transition,
    standard: Array,
    scale: Array,
    uncertainty: Strength,
    key: Array,
) -> Array:
    """The mean worst case of start states, which stand in both observations of `starts`."""

    def one(key: Array, start: Transition) -> Draws:
        return robust.nominal.sample(state.nominal, key, uncertainty.scales, start, robust.draws)

    draws = jax.vmap(one)(jax.random.split(key, len(standard)), starts)
    origin = Transition(standard, starts.action, standard)
    ε = jnp.asarray(uncertainty.epsilon)
    return jnp.mean(worst_case_of_draws(robust, state, value, origin, draws, scale, ε)[1].value)


def worst_case_of_draws(
    robust: "Transitions",
    state: "RobustState",
    value: "Value",
    origin: Transition,
    draws: Draws,
    scale: Array,
    epsilon: Array,
) -> tuple[Any, Worst, Array, Array]:
    """The worst case of draws [B, n, ...] around normalised states [B, O].

    Returns:
        What the dual knows after it has learned from them, the worst case [B], and the draws'
        values and nominal weights [B, n].
    """
    nominal = jax.nn.softmax(draws.log_weight, axis=-1)
    still = jnp.zeros_like(draws.process)

    def value_at(shift: Array | None) -> tuple[Array, None]:
        there = draws._replace(process=draws.process + (still if shift is None else shift))
        return value(features_at(origin.next_observation, there, scale)), None

    unit = None if robust.dual.tilts else robust.nominal.state_scale(state.nominal)
    drawn = ValueOfDraws(value_at, unit, still, nominal, origin, snap_rounding)
    dual, found = robust.dual.learn(state.dual, drawn, epsilon)
    return dual, found.worst, found.values, nominal


def snap_rounding(values: Array) -> Array:
    """Draws [..., n] that differ by rounding alone, made equal.

    A worst case magnifies any spread: a sum done in another order must not steer the traces. Values
    are sums of terms of about 1, normalised as rewards are, so rounding is relative to 1 at least.
    """
    tolerance = 32 * jnp.finfo(values.dtype).eps
    size = jnp.maximum(1.0, jnp.max(jnp.abs(values), axis=-1, keepdims=True))
    spread = jnp.max(values, axis=-1, keepdims=True) - jnp.min(values, axis=-1, keepdims=True)
    first = jnp.broadcast_to(values[..., :1], values.shape)
    return jnp.where(jnp.broadcast_to(spread <= tolerance * size, values.shape), first, values)
