"""Gaussian policies: squashed by tanh (SAC) and plain (PPO). Functions of one action [A]."""

import math

import jax.numpy as jnp
from jax import Array

from drspcrl.policy import LOG_STD_RANGE

_LOG_TWO_PI = math.log(2.0 * math.pi)


def log_density(x: Array, mean: Array, log_std: Array) -> Array:
    """log N(x; mean, diag std²), summed over the last axis."""
    z = (x - mean) * jnp.exp(-log_std)
    return jnp.sum(-0.5 * jnp.square(z) - log_std - 0.5 * _LOG_TWO_PI, axis=-1)


def entropy(log_std: Array) -> Array:
    """The entropy of a diagonal Gaussian, summed over the last axis."""
    return jnp.sum(log_std + 0.5 * (_LOG_TWO_PI + 1.0), axis=-1)


def split(output: Array) -> tuple[Array, Array]:
    """A network's output [..., 2A] as mean and log std, the latter squashed into its range."""
    mean, raw = jnp.split(output, 2, axis=-1)
    low, high = LOG_STD_RANGE
    return mean, low + (high - low) * (jnp.tanh(raw) + 1.0) / 2.0


def tanh_sample(output: Array, z: Array) -> tuple[Array, Array]:
    """The action tanh(mean + std·z) in [−1, 1] and its log density.

    The density of a = tanh(u) is that of u divided by Π(1 − tanh²u), and
    log(1 − tanh²u) = 2(log 2 − |u| − log(1 + exp(−2|u|))), which does not round to log 0 for large
    |u|. That of u at mean + std·z needs no division by std: it is −z²/2 − log std − log(2π)/2.

    Args:
        output: mean and raw log std, [..., 2A].
        z: standard normal noise, [..., A].
    """
    mean, log_std = split(output)
    u = mean + jnp.exp(log_std) * z
    size = jnp.abs(u)
    squeeze = 2.0 * (math.log(2.0) - size - jnp.log1p(jnp.exp(-2.0 * size)))
    of_z = jnp.sum(-0.5 * jnp.square(z) - 0.5 * _LOG_TWO_PI, axis=-1)
    return jnp.tanh(u), of_z - jnp.sum(log_std + squeeze, axis=-1)
