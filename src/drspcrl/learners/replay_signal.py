"""What SAC's and DDPG's worst cases say: the signal for a curriculum, and numbers for the log.

It looks at a fixed number of replay transitions with the target networks, draws noise as an
update would, and learns nothing. Values are in the task's units. After a termination nothing is
left to lose: it counts with value, multiplier and spread 0.
"""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners.dual import Worst, deviation
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import NoisyValue, Numbers, SignalOutput
from drspcrl.nominal import Strength, Transition

if TYPE_CHECKING:
    from drspcrl.learners.backup import DrawBatch, RobustState, Transitions

QUANTILES = {"beta_low": 0.1, "beta_median": 0.5, "beta_high": 0.9}


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
    everywhere = robust.face(state, origin, alive, uncertainty.scales, key)
    found, drawn, _ = robust.worst_case(state, value, everywhere, ε)
    faced, worst, values = jax.tree.map(lambda a: a[few:], (everywhere, found, drawn))
    signal = _signal(robust, faced, worst, values, ε)
    signal |= {
        "start_value": jnp.mean(found.value[:few]),
        "reward_scale": jnp.mean(jnp.abs(batch.reward)),
    }
    return SignalOutput(signal, _log(robust, faced, worst, values, signal, ε))


def _signal(
    robust: "Transitions", faced: "DrawBatch", worst: Worst, values: Array, ε: Array
) -> Numbers:
    alive = faced.alive
    multiplier = jnp.where(alive, worst.multiplier, 0.0)
    return {
        "multiplier": jnp.mean(multiplier),
        "weighted_multiplier": _weighted(robust, jnp.where(alive, worst.value, 0.0), multiplier, ε),
        "slope": jnp.mean(jnp.where(alive, worst.slope, 0.0)),
        "robust_value": jnp.mean(jnp.where(alive, worst.value, 0.0)),
        "value_spread": jnp.mean(jnp.where(alive, deviation(values, faced.probabilities), 0.0)),
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
    faced: "DrawBatch",
    worst: Worst,
    values: Array,
    signal: Numbers,
    ε: Array,
) -> Numbers:
    alive, n = faced.alive, values.shape[1]
    multiplier = jnp.where(alive, worst.multiplier, 0.0)
    effective = 1.0 / jnp.sum(jnp.square(worst.weights), axis=1)
    spread = deviation(values, faced.probabilities)
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
    p = faced.probabilities
    return numbers | robust.dual.numbers(worst, values, p, alive, ε)
