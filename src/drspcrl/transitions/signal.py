"""The signal for curricula and numbers for the log, from a rollout or from a replay."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import NoisyValue, Numbers, SignalOutput
from drspcrl.transitions.bootstrap import RobustBootstrap
from drspcrl.transitions.dual import Worst, deviation
from drspcrl.transitions.nominal import Strength, Transition

if TYPE_CHECKING:
    from drspcrl.transitions.backup import DrawBatch, RobustState, Transitions

QUANTILES = {"beta_low": 0.1, "beta_median": 0.5, "beta_high": 0.9}
SIGNAL_STATES = 256


def metrics_of(bootstrap: RobustBootstrap, terminated: Array, signal: Numbers) -> Numbers:
    """Scalars for the log, named as those of the other learners.

    Args:
        bootstrap: what the next states are worth.
        terminated: whether the task ended the episode, [T, E].
        signal: for the curriculum.
    """
    worst, n = bootstrap.worst, bootstrap.values.shape[-1]
    multiplier = jnp.where(terminated, 0.0, worst.multiplier)
    effective = 1.0 / jnp.sum(jnp.square(worst.weights), axis=-1)
    # No multiplier although the draws differ: the worst case is their minimum already.
    saturated = ~terminated & (multiplier <= 0.0) & (spread_of(bootstrap) > 0.0)
    # An infinite multiplier must not be averaged with its neighbour.
    shares = jnp.quantile(multiplier, jnp.array(list(QUANTILES.values())), method="lower")
    same = ("robust_value", "value_spread", "slope", "start_value", "reward_scale")
    return {
        "beta": signal["multiplier"],
        "beta_weighted": signal["weighted_multiplier"],
        "slope_in_rewards": signal["slope"] / jnp.maximum(signal["reward_scale"], 1e-6),
        "effective_draws": jnp.mean(jnp.where(terminated, float(n), effective)),
        "saturated": jnp.mean(saturated.astype(multiplier.dtype)),
        **{name: signal[name] for name in same},
        **dict(zip(QUANTILES, shares, strict=True)),
    }


def signal_of(
    bootstrap: RobustBootstrap, rewards: Array, terminated: Array, ended: Array, key: Array
) -> Numbers:
    """The signal for a curriculum, but for the start states.

    Args:
        bootstrap: what the next states are worth.
        rewards: normalised, [T, E].
        terminated: whether the task ended the episode, [T, E].
        ended: whether the episode ended for whatever reason, [T, E].
        key: chooses the states whose draws are passed on.
    """
    worst = bootstrap.worst
    multiplier = jnp.where(terminated, 0.0, worst.multiplier)
    reached = reached_by_nature(bootstrap.ratio, ended)
    draws = jnp.where(terminated[..., None], 0.0, bootstrap.values).reshape(
        -1, bootstrap.values.shape[-1]
    )
    chosen = jax.random.permutation(key, len(draws))[:SIGNAL_STATES]
    weighted = jnp.where(reached > 0.0, reached * multiplier, 0.0)
    return {
        "multiplier": jnp.mean(multiplier),
        "weighted_multiplier": jnp.sum(weighted) / jnp.sum(reached),
        "slope": jnp.mean(jnp.where(terminated, 0.0, worst.slope)),
        "robust_value": jnp.mean(jnp.where(terminated, 0.0, worst.value)),
        "value_spread": jnp.mean(jnp.where(terminated, 0.0, spread_of(bootstrap))),
        "reward_scale": jnp.mean(jnp.abs(rewards)),
        "draws": draws[chosen],
    }


def reached_by_nature(ratio: Array, ended: Array) -> Array:
    """How much likelier the worst case makes each step's state, given the one before, [T, E].

    The envelope theorem weights multipliers by the occupancy under the worst case. One step of
    that is what a rollout can tell with little variance; the first step and starts count with 1.
    """
    before = jnp.where(ended, 1.0, jnp.maximum(ratio, 0.0))
    return jnp.concatenate([jnp.ones_like(before[:1]), before[:-1]])


def spread_of(bootstrap: RobustBootstrap) -> Array:
    """The nominal standard deviation of the draws' values, [T, E]."""
    p, v = bootstrap.nominal, bootstrap.values
    mean = jnp.sum(p * v, axis=-1, keepdims=True)
    return jnp.sqrt(jnp.sum(p * jnp.square(v - mean), axis=-1))


def draw_signal(
    robust: "Transitions",
    state: "RobustState",
    value: NoisyValue,
    batch: Batch,
    starts: Array,
    uncertainty: Strength,
    key: Array,
) -> SignalOutput:
    """One look of one member.

    Args:
        robust: the backup.
        state: what its nominal model and dual have learned.
        value: with the target networks.
        batch: transitions from the replay, [B, …].
        starts: observations that episodes start with, [S, O].
        uncertainty: ε and the nominal scales.
        key: randomness of the draws.
    """
    ε, few = jnp.asarray(uncertainty.epsilon), len(starts)
    # Start states come first and with the others: to compile the same draws twice takes seconds.
    origin = Transition(
        jnp.concatenate([starts, batch.observation]),
        jnp.concatenate([jnp.zeros((few, batch.action.shape[-1])), batch.action]),
        jnp.concatenate([starts, batch.next_observation]),
    )
    alive = jnp.concatenate([jnp.ones(few, bool), ~batch.terminated])
    everywhere = robust.draw_batch(state, origin, alive, uncertainty.scales, key)
    found, drawn, _ = robust.worst_case(state, value, everywhere, ε)
    draws, worst, values = jax.tree.map(lambda a: a[few:], (everywhere, found, drawn))
    signal = _signal(robust, draws, worst, values, ε)
    signal |= {
        "start_value": jnp.mean(found.value[:few]),
        "reward_scale": jnp.mean(jnp.abs(batch.reward)),
    }
    return SignalOutput(signal, _log(robust, draws, worst, values, signal, ε))


def _signal(
    robust: "Transitions", draws: "DrawBatch", worst: Worst, values: Array, ε: Array
) -> Numbers:
    alive = draws.alive
    multiplier = jnp.where(alive, worst.multiplier, 0.0)
    return {
        "multiplier": jnp.mean(multiplier),
        "weighted_multiplier": _weighted(robust, jnp.where(alive, worst.value, 0.0), multiplier, ε),
        "slope": jnp.mean(jnp.where(alive, worst.slope, 0.0)),
        "robust_value": jnp.mean(jnp.where(alive, worst.value, 0.0)),
        "value_spread": jnp.mean(
            jnp.where(alive, jax.vmap(deviation)(values, draws.probabilities), 0.0)
        ),
        "draws": jnp.where(alive[:, None], values, 0.0),
    }


def _weighted(robust: "Transitions", value: Array, multiplier: Array, ε: Array) -> Array:
    """The mean multiplier where the worst case would be: at the low-valued states.

    The envelope theorem weights multipliers by the occupancy under the worst case, which a replay
    of the nominal world does not show. This re-weights its states by the worst case of the same
    radius over their own values: a proxy, between the replay mean and the minimum's multiplier.
    """
    divergence = robust.dual.ball
    if divergence is None:
        return jnp.mean(multiplier)
    nominal = jnp.full_like(value, 1.0 / value.shape[0])
    weights = divergence.worst_case(value, nominal, ε).weights
    return jnp.sum(jnp.where(weights > 0, weights * multiplier, 0.0))


def _log(
    robust: "Transitions",
    draws: "DrawBatch",
    worst: Worst,
    values: Array,
    signal: Numbers,
    ε: Array,
) -> Numbers:
    alive, n = draws.alive, values.shape[1]
    multiplier = jnp.where(alive, worst.multiplier, 0.0)
    effective = 1.0 / jnp.sum(jnp.square(worst.weights), axis=1)
    spread = jax.vmap(deviation)(values, draws.probabilities)
    # No multiplier although the draws differ: the worst case is their minimum already.
    saturated = alive & (multiplier <= 0.0) & (spread > 0.0)
    numbers = {
        "beta": signal["multiplier"],
        "beta_weighted": signal["weighted_multiplier"],
        "robust_value": signal["robust_value"],
        "value_spread": signal["value_spread"],
        "slope": signal["slope"],
        "slope_in_rewards": signal["slope"] / jnp.maximum(signal["reward_scale"], 1e-6),
        "start_value": signal["start_value"],
        "reward_scale": signal["reward_scale"],
        "effective_draws": jnp.mean(jnp.where(alive, effective, float(n))),
        "saturated": jnp.mean(saturated.astype(values.dtype)),
    }
    # An infinite multiplier must not be averaged with its neighbour.
    numbers |= {q: jnp.quantile(multiplier, x, method="lower") for q, x in QUANTILES.items()}
    p = draws.probabilities
    return numbers | robust.dual.numbers(worst, values, p, alive, ε)
