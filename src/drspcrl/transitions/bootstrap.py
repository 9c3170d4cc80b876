"""Robust bootstrap values for PPO: the critic at n noise draws per step, and their worst case.

    δ_t = r_t + γ(1 − d_t)·worst_case_i V(x'_i) − V(x_t),   x'_i = (s' + w_i, η_i, ν_i)

Draw 0 is what came true at the next step, so its worst-case weight says how much likelier nature
makes the trajectory at hand; traces are weighted by that. All of it is computed once per rollout,
with the critic that it begins with, in the critic's units: those of normalised rewards.

V(s) alone cannot price sensor or actuator noise, which act on one step and are gone at the next. So
the critic takes x = (s, η, ν): the true state, the noise on what the policy sees of it, the noise
on what its action becomes. The policy still sees o = s + η alone.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners import normalization
from drspcrl.learners.experience import Privileged, Rollout, applied, successors
from drspcrl.learners.normalization import CLIP, Moments
from drspcrl.transitions.dual import ValueOfDraws, Worst
from drspcrl.transitions.nominal import Draws, NominalModel, Scales, Strength, Transition

if TYPE_CHECKING:
    from drspcrl.learners.uncertainty import Value
    from drspcrl.transitions.backup import RobustState, Transitions


class RolloutNoise(NamedTuple):
    """A rollout as the robust backup needs it, [T, E, ...] each but for the scale.

    Attributes:
        steps: states, applied actions and true successors, in the task's units.
        noise: what the policy did not see.
        following: the normalised true successors.
        ended: whether an episode ended with the step.
        scale: of the policy's observations, [O].
    """

    steps: Transition
    noise: Privileged
    following: Array
    ended: Array
    scale: Array


def rollout_noise(rollout: Rollout, moments: Moments) -> RolloutNoise:
    """A rollout as the robust bootstrap needs it."""
    noise = rollout.privileged
    assert noise is not None
    return RolloutNoise(
        steps=Transition(noise.state, applied(rollout), rollout.final_observation),
        noise=noise,
        following=successors(moments, noise.standard, rollout),
        ended=rollout.ended,
        scale=normalization.scale(moments),
    )


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


def draws_after(
    nominal: NominalModel, state: Any, key: Array, scales: Scales, carried: RolloutNoise, n: int
) -> Draws:
    """Draws of ω after every step of a rollout, [T, E, n, ...]; draw 0 is what came true.

    Where an episode or the rollout ended, nothing came true that a trace would follow, and draw 0
    is one like the others. So is its process noise under a model that adds some to the simulator's
    next state: the simulator itself has none, and all n draws must follow one law.

    Args:
        nominal: P0.
        state: what it knew when the rollout's noise was drawn.
        key: randomness.
        scales: the member's.
        carried: the rollout.
        n: number of draws.
    """

    def one(key: Array, step: Transition) -> Draws:
        return nominal.sample(state, key, scales, step, n)

    keys = jax.random.split(key, carried.ended.shape)
    drawn = jax.vmap(jax.vmap(one))(keys, carried.steps)
    alone = carried.ended.at[-1].set(True)[..., None]

    def realised(fresh: Array, noise: Array) -> Array:
        following = jnp.roll(noise, -1, axis=0)  # what the last step gets is never used
        return fresh.at[..., 0, :].set(jnp.where(alone, fresh[..., 0, :], following))

    process = drawn.process
    if nominal.stored_is_a_draw:
        process = process.at[..., 0, :].set(0.0)
    sensor = realised(drawn.sensor, carried.noise.sensor)
    actuator = realised(drawn.actuator, carried.noise.actuator)
    return drawn._replace(process=process, sensor=sensor, actuator=actuator)


def features(standard: Array, sensor: Array, actuator: Array, scale: Array) -> Array:
    """The critic's input x, [..., 2·O + A]: η in units of the normalised s, ν as it is.

    Args:
        standard: normalised s, [..., O].
        sensor: η, [..., O].
        actuator: ν, [..., A].
        scale: of the policy's observations, [O].
    """
    return jnp.concatenate([standard, sensor / _like(scale, sensor), actuator], axis=-1)


def features_at(standard: Array, draws: Draws, scale: Array) -> Array:
    """The critic's input at draws around normalised states [..., O], [..., n, 2·O + A]."""
    w = draws.process / _like(scale, draws.process)
    moved = jnp.clip(standard[..., None, :] + w, -CLIP, CLIP)
    return features(moved, draws.sensor, draws.actuator, scale)


def _like(scale: Array, x: Array) -> Array:
    return jnp.broadcast_to(scale, x.shape)
