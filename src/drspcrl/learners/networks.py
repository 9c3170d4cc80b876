"""Multilayer perceptrons as plain trees of arrays."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners.cpu.products import times


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


def widen(network: Network, inputs: int) -> Network:
    """The same network with further inputs behind the others, blind to them at first.

    Their weights are 0 and not random: what has learned nothing about them knows no price of them.
    Where they are never anything but 0 the network stays the one without them.
    """
    if not inputs:
        return network
    first, *rest = network
    blind = jnp.zeros((*first.kernel.shape[:-2], inputs, first.kernel.shape[-1]))
    return (first._replace(kernel=jnp.concatenate([first.kernel, blind], axis=-2)), *rest)


def _parts(draw: Callable[..., Array], key: Array, counts: Sequence[int]) -> list[Array]:
    # One draw for all layers: each further one would cost a second of compilation.
    return jnp.split(draw(key, (sum(counts),)), list(itertools.accumulate(counts))[:-1])


def _rotation(numbers: Array, rows: int, columns: int) -> Array:
    """Orthonormal rows or columns, whichever are fewer, uniform among all such matrices.

    Gram and Schmidt's way, each column made orthogonal twice, which is what a QR decomposition
    with a positive diagonal gives. LAPACK's own, several in one program, hung for ever on two
    cores, from ten members of a population on, with all of XLA's threads idle.
    """
    tall = numbers.reshape(max(rows, columns), min(rows, columns))
    product = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)

    def make_orthonormal(column: Array, q: Array) -> Array:
        before = jnp.where(jnp.arange(q.shape[1]) < column, q, 0.0)
        v = q[:, column]
        for _ in range(2):
            v = v - product(before, product(before.T, v))
        return q.at[:, column].set(v / jnp.linalg.norm(v))

    q = lax.fori_loop(0, tall.shape[1], make_orthonormal, tall)
    return q if rows >= columns else q.T


def apply(
    network: Network, *inputs: Array, activation: Callable[[Array], Array] = jax.nn.relu
) -> Array:
    """The network's output for inputs [..., inputs]; for kernels of 16 bits see `rounded`.

    Inputs may come in several parts that belong side by side. Their leading axes need only
    broadcast: what many rows have in common is then multiplied once.
    """
    if network[0].kernel.dtype.itemsize < 4:
        return _apply_rounded(network, inputs, activation)
    x = _entering(network[0].kernel, inputs)
    # Rows, as the products have them: a CPU adds and clips more slowly along further axes.
    rows = x.reshape(-1, x.shape[-1])
    for layer, following in itertools.pairwise(network):
        rows = times(activation(_plus(layer.bias, rows)), following.kernel)
    rows = _plus(network[-1].bias, rows)
    return rows.reshape(*x.shape[:-1], rows.shape[-1])


def _entering(kernel: Array, inputs: Sequence[Array]) -> Array:
    """Inputs side by side times the kernel."""
    if len({part.shape[:-1] for part in inputs}) == 1:
        return times(jnp.concatenate(inputs, axis=-1), kernel)
    ends = list(itertools.accumulate(part.shape[-1] for part in inputs))
    rows = jnp.split(kernel, ends[:-1])
    products = [times(part, own) for part, own in zip(inputs, rows, strict=True)]
    return functools.reduce(jnp.add, products)


def rounded(network: Network, precision: str) -> Network:
    """The network with kernels in another number format, in which `apply` then keeps its layers.

    A wide forward pass on a GPU takes as long as its bytes. float16 has the ten bits of mantissa
    to which TF32, JAX's default there, rounds the factors of a float32 product anyway; what it
    lacks is range, so numbers beyond it are clipped. Sums and outputs stay in float32.
    """
    return tuple(layer._replace(kernel=layer.kernel.astype(precision)) for layer in network)


def _apply_rounded(
    network: Network, inputs: Sequence[Array], activation: Callable[[Array], Array]
) -> Array:
    precision = network[0].kernel.dtype
    largest = float(jnp.finfo(precision).max)
    parts = [jnp.clip(part, -largest, largest).astype(precision) for part in inputs]
    x = _entering(network[0].kernel, parts)
    for layer, following in itertools.pairwise(network):
        x = jnp.minimum(activation(_plus(layer.bias.astype(precision), x)), largest)
        # Only the output leaves in the format of the biases.
        kind = layer.bias.dtype if following is network[-1] else precision
        x = times(x, following.kernel, kind)
    return _plus(network[-1].bias, x.astype(network[-1].bias.dtype))


def _plus(bias: Array, x: Array) -> Array:
    return x + jnp.broadcast_to(bias, x.shape)


def move_towards(target: Network, network: Network, share: Array | float) -> Network:
    """Polyak averaging: (1 − share)·target + share·network."""
    return jax.tree.map(lambda t, n: t + share * (n - t), target, network)
