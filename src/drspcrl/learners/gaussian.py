"""Gaussian policies: squashed by tanh (SAC) and plain (PPO). Functions of one action [A]."""

import math

import jax
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
    log(1 − tanh²u) = 2(log 2 − u − softplus(−2u)), which does not round to log 0 for large |u|.

    Args:
        output: mean and raw log std, [..., 2A].
        z: standard normal noise, [..., A].
    """
    mean, log_std = split(output)
    u = mean + jnp.exp(log_std) * z
    squeeze = jnp.sum(2.0 * (math.log(2.0) - u - jax.nn.softplus(-2.0 * u)), axis=-1)
    return jnp.tanh(u), log_density(u, mean, log_std) - squeeze
