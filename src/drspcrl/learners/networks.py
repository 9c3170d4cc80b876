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


def uniform(key: Array, sizes: Sequence[int]) -> Network:
    """A network with kernels and biases uniform in ±1/√inputs, PyTorch's default."""
    shapes = list(itertools.pairwise(sizes))
    counts = [(inputs + 1) * outputs for inputs, outputs in shapes]
    layers = []
    for (inputs, outputs), part in zip(
        shapes, _parts(jax.random.uniform, key, counts), strict=True
    ):
        numbers = (2.0 * part - 1.0) / math.sqrt(inputs)
        kernel, bias = numbers[:-outputs], numbers[-outputs:]
        layers.append(Layer(kernel.reshape(inputs, outputs), bias))
    return tuple(layers)


def orthogonal(key: Array, sizes: Sequence[int], last_gain: float) -> Network:
    """A network with orthogonal kernels, √2 long but for the last, and zero biases."""
    shapes = list(itertools.pairwise(sizes))
    gains = [math.sqrt(2.0)] * (len(shapes) - 1) + [last_gain]
    parts = _parts(jax.random.normal, key, [inputs * outputs for inputs, outputs in shapes])
    return tuple(
        Layer(gain * _rotation(part, *shape), jnp.zeros(shape[1]))
        for gain, part, shape in zip(gains, parts, shapes, strict=True)
    )


def _parts(draw: Callable[..., Array], key: Array, counts: Sequence[int]) -> list[Array]:
    # One draw for all layers: each further one would cost a second of compilation.
    return jnp.split(draw(key, (sum(counts),)), list(itertools.accumulate(counts))[:-1])


def _rotation(numbers: Array, rows: int, columns: int) -> Array:
    """Orthonormal rows or columns, whichever are fewer, uniform among all such matrices."""
    tall = numbers.reshape(max(rows, columns), min(rows, columns))
    q, r = jnp.linalg.qr(tall)
    q = q * jnp.sign(jnp.diagonal(r))[None]
    return q if rows >= columns else q.T


def apply(network: Network, x: Array, activation: Callable[[Array], Array] = jax.nn.relu) -> Array:
    """The network's output for inputs [..., inputs]; for kernels of 16 bits see `rounded`."""
    if network[0].kernel.dtype.itemsize < 4:
        return _apply_rounded(network, x, activation)
    for layer in network[:-1]:
        x = activation(_affine(layer, x))
    return _affine(network[-1], x)


def rounded(network: Network, precision: str) -> Network:
    """The network with kernels in another number format, in which `apply` then keeps its layers.

    A wide forward pass on a GPU takes as long as its bytes. float16 has the ten bits of mantissa
    to which TF32, JAX's default there, rounds the factors of a float32 product anyway; what it
    lacks is range, so numbers beyond it are clipped. Sums and outputs stay in float32.
    """
    return tuple(layer._replace(kernel=layer.kernel.astype(precision)) for layer in network)


def _apply_rounded(network: Network, x: Array, activation: Callable[[Array], Array]) -> Array:
    precision = network[0].kernel.dtype
    largest = float(jnp.finfo(precision).max)
    x = jnp.clip(x, -largest, largest).astype(precision)
    for kernel, bias in network[:-1]:
        x = x @ kernel
        x = jnp.minimum(activation(x + jnp.broadcast_to(bias.astype(precision), x.shape)), largest)
    kernel, bias = network[-1]
    y = jnp.matmul(x, kernel, preferred_element_type=bias.dtype)
    return y + jnp.broadcast_to(bias, y.shape)


def _affine(layer: Layer, x: Array) -> Array:
    y = x @ layer.kernel
    return y + jnp.broadcast_to(layer.bias, y.shape)


def move_towards(target: Network, network: Network, share: Array | float) -> Network:
    """Polyak averaging: (1 − share)·target + share·network."""
    return jax.tree.map(lambda t, n: t + share * (n - t), target, network)
