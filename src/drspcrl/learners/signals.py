"""What a rollout's worst cases say: numbers for the log, and the signal for a curriculum.

All values are in the critic's units, those of normalised rewards, and so is `reward_scale`: their
quotient does not depend on the normalisation. After a termination nothing is left to lose, so it
counts with value, multiplier and spread 0.
"""

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners.outlook import RobustBootstrap

Numbers = dict[str, Array]
QUANTILES = {"beta_low": 0.1, "beta_median": 0.5, "beta_high": 0.9}
SIGNAL_STATES = 256


def metrics_of(ahead: RobustBootstrap, terminated: Array, signal: Numbers) -> Numbers:
    """Scalars for the log, named as those of the other learners.

    Args:
        ahead: what the next states are worth.
        terminated: whether the task ended the episode, [T, E].
        signal: what the curriculum is told.
    """
    worst, n = ahead.worst, ahead.values.shape[-1]
    multiplier = jnp.where(terminated, 0.0, worst.multiplier)
    effective = 1.0 / jnp.sum(jnp.square(worst.weights), axis=-1)
    # No multiplier although the draws differ: the worst case is their minimum already.
    saturated = ~terminated & (multiplier <= 0.0) & (deviation(ahead) > 0.0)
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
    ahead: RobustBootstrap, rewards: Array, terminated: Array, ended: Array, key: Array
) -> Numbers:
    """What a curriculum is told, but for the start states.

    Args:
        ahead: what the next states are worth.
        rewards: normalised, [T, E].
        terminated: whether the task ended the episode, [T, E].
        ended: whether the episode ended for whatever reason, [T, E].
        key: chooses the states whose draws are passed on.
    """
    worst = ahead.worst
    multiplier = jnp.where(terminated, 0.0, worst.multiplier)
    reached = reached_by_nature(ahead.ratio, ended)
    draws = jnp.where(terminated[..., None], 0.0, ahead.values).reshape(-1, ahead.values.shape[-1])
    chosen = jax.random.permutation(key, len(draws))[:SIGNAL_STATES]
    weighted = jnp.where(reached > 0.0, reached * multiplier, 0.0)
    return {
        "multiplier": jnp.mean(multiplier),
        "weighted_multiplier": jnp.sum(weighted) / jnp.sum(reached),
        "slope": jnp.mean(jnp.where(terminated, 0.0, worst.slope)),
        "robust_value": jnp.mean(jnp.where(terminated, 0.0, worst.value)),
        "value_spread": jnp.mean(jnp.where(terminated, 0.0, deviation(ahead))),
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


def deviation(ahead: RobustBootstrap) -> Array:
    """The nominal standard deviation of the draws' values, [T, E]."""
    p, v = ahead.nominal, ahead.values
    mean = jnp.sum(p * v, axis=-1, keepdims=True)
    return jnp.sqrt(jnp.sum(p * jnp.square(v - mean), axis=-1))
