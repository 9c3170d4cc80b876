"""Running statistics of observations and returns, as Gymnasium's normalising wrappers keep them."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

CLIP = 10.0
"""Bound on normalised observations and rewards."""

_EPSILON = 1e-8


class Moments(NamedTuple):
    """Mean and variance of everything seen so far, and how many samples that is."""

    mean: Array
    variance: Array
    weight: Array


def init(shape: tuple[int, ...] = ()) -> Moments:
    """Mean 0 and variance 1, worth a ten-thousandth of a sample."""
    return Moments(jnp.zeros(shape), jnp.ones(shape), jnp.full((), 1e-4))


def include(moments: Moments, samples: Array) -> Moments:
    """Moments that include `samples` [n, ...], by Chan's parallel formula."""
    n = samples.shape[0]
    total = moments.weight + n
    delta = jnp.mean(samples, axis=0) - moments.mean
    squares = moments.variance * moments.weight + jnp.var(samples, axis=0) * n
    squares = squares + jnp.square(delta) * (moments.weight * n / total)
    return Moments(moments.mean + delta * (n / total), squares / total, total)


def scale(moments: Moments) -> Array:
    """The standard deviation, kept from 0."""
    return jnp.sqrt(moments.variance + _EPSILON)


def standardise(moments: Moments, x: Array) -> Array:
    """(x − mean)/std for x [n, ...], clipped."""
    return jnp.clip((x - moments.mean[None]) / scale(moments)[None], -CLIP, CLIP)
