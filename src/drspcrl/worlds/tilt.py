"""The worst case over worlds, within a ball of radius τ around their law.

inf over q with D(q‖P_ρ) ≤ τ of E_q V(s₀, f), solved over candidate worlds at a few start states:
the paper's dual (`eq:robust_q_dual`) once an episode instead of once a step. τ = 0 is the law.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from drspcrl.divergences import Divergence

CANDIDATES = 64
"""Worlds over which a tilt is solved."""
STARTS = 4
"""Start states over whose mean a tilt values a world."""


class Tilt(NamedTuple):
    """The worst case over candidate worlds, as a function of a world's value.

    Attributes:
        values: V of the candidates in order, [n].
        ratios: how much likelier the worst case makes each, [n]; 1 throughout without a tilt.
        starts: start states at which worlds are valued, [STARTS, O].
    """

    values: Array
    ratios: Array
    starts: Array


class SolvedTilt(NamedTuple):
    """A solved tilt.

    Attributes:
        tilt: the worst case as a function of a world's value.
        multiplier: β*, the slope −dJ/dτ; 0 without a tilt.
        weights: how likely each candidate is, [n].
    """

    tilt: Tilt
    multiplier: Array
    weights: Array


def no_tilt(starts: Array) -> SolvedTilt:
    """The law itself, at start states [STARTS, O]."""
    even = jnp.ones(CANDIDATES)
    return SolvedTilt(Tilt(0.0 * even, even, starts), jnp.zeros(()), even / CANDIDATES)


def solve_tilt(divergence: Divergence, values: Array, starts: Array, τ: Array) -> SolvedTilt:
    """The worst case over candidates of values [n], within a ball of radius τ."""
    τ, uniform = jnp.asarray(τ), jnp.full(values.shape, 1.0 / len(values))
    found = divergence.worst_case(values, uniform, τ)
    order = jnp.argsort(values)
    ratios = jnp.where(τ > 0, found.weights * len(values), 1.0)
    β = jnp.where(τ > 0, found.multiplier, 0.0)
    return SolvedTilt(Tilt(values[order], ratios[order], starts), β, ratios / len(values))


def tilt_weight(tilt: Tilt, values: Array, τ: Array) -> Array:
    """How much likelier the worst case makes worlds of these values [...]; 1 where τ = 0.

    Between candidates it is interpolated: for every f-divergence the ratio is a falling function of
    the value, for KL exp(−V/β*) up to a constant. It is normalised to a mean of 1.
    """
    ratio = jnp.interp(values, tilt.values, tilt.ratios)
    ratio = ratio / jnp.maximum(jnp.mean(ratio), 1e-6)
    return lax.stop_gradient(jnp.where(τ > 0, ratio, 1.0))


def at_starts(starts: Array, worlds: Array) -> tuple[Array, Array]:
    """Each of the starts [S, O] in every world [..., W]: states and worlds [S, ..., O or W]."""
    between = (1,) * (worlds.ndim - 1)
    states = starts.reshape(len(starts), *between, starts.shape[-1])
    shape = len(starts), *worlds.shape[:-1]
    return (
        jnp.broadcast_to(states, (*shape, starts.shape[-1])),
        jnp.broadcast_to(worlds, (*shape, worlds.shape[-1])),
    )
