"""Multilayer perceptrons as plain trees of arrays."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Layer(NamedTuple):
    """An affine map: kernel [inputs, outputs] and bias [outputs]."""

    kernel: Array
    bias: Array


Network = tuple[Layer, ...]
Initializer = Callable[[Array, int, int], Layer]


def uniform(key: Array, inputs: int, outputs: int) -> Layer:
    """Kernel and bias uniform in ±1/√inputs, PyTorch's default for linear layers."""
    bound = 1.0 / math.sqrt(inputs)
    kernel_key, bias_key = jax.random.split(key)
    return Layer(
        jax.random.uniform(kernel_key, (inputs, outputs), minval=-bound, maxval=bound),
        jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound),
    )


def orthogonal(gain: float) -> Initializer:
    """An orthogonal kernel times `gain` and a zero bias."""

    def layer(key: Array, inputs: int, outputs: int) -> Layer:
        kernel = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs), jnp.zeros(()).dtype)
        return Layer(kernel, jnp.zeros(outputs))

    return layer


def init(
    key: Array,
    sizes: Sequence[int],
    hidden: Initializer = uniform,
    last: Initializer = uniform,
) -> Network:
    """A network with layers between consecutive `sizes`."""
    keys = jax.random.split(key, len(sizes) - 1)
    kinds = [hidden] * (len(sizes) - 2) + [last]
    pairs = itertools.pairwise(sizes)
    return tuple(
        kind(k, inputs, outputs)
        for kind, k, (inputs, outputs) in zip(kinds, keys, pairs, strict=True)
    )


def apply(network: Network, x: Array, activation: Callable[[Array], Array] = jax.nn.relu) -> Array:
    """The network's output for inputs [..., inputs]."""
    for layer in network[:-1]:
        x = activation(_affine(layer, x))
    return _affine(network[-1], x)


def _affine(layer: Layer, x: Array) -> Array:
    y = x @ layer.kernel
    return y + jnp.broadcast_to(layer.bias, y.shape)


def move_towards(target: Network, network: Network, share: Array | float) -> Network:
    """Polyak averaging: (1 − share)·target + share·network."""
    return jax.tree.map(lambda t, n: t + share * (n - t), target, network)
