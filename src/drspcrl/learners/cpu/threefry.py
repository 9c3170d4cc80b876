"""JAX's own random numbers in less time on a CPU: the same bits, made by other instructions.

On a CPU JAX runs Threefry (Salmon et al. 2011) as a loop that writes its state to memory after
every four rounds. Written out, all 20 rounds are one pass.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend import random as implementations

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_JAX = implementations.threefry_prng_impl


def quick(keys: Array, platform: str) -> Array:
    """The same keys, of the implementation that is the quickest on a JAX platform such as `cpu`."""
    # JAX's older way of counting, which a switch brings back, is not the one below.
    partitionable = getattr(jax.config, "jax_threefry_partitionable", True)
    if platform != "cpu" or not partitionable or jax.random.key_impl(keys) != _JAX.name:
        return keys
    return jax.random.wrap_key_data(jax.random.key_data(keys), impl=WRITTEN_OUT)


def normal(key: Array, shape: Sequence[int]) -> Array:
    """`jax.random.normal`'s numbers, which on a CPU are made once and in a row.

    XLA would copy the polynomial that makes them into each kernel that uses them and evaluate it
    for every use of a number; and of actions [B, 6] it would make six at a time, which leaves
    vector registers idle.
    """
    return _settled(jax.random.normal(key, (math.prod(shape),))).reshape(shape)


def _settled(numbers: Array) -> Array:
    """The same numbers, made before they are used: XLA does not look into a loop."""

    def once(x: Array) -> Array:
        return lax.fori_loop(0, 2, lambda _, before: x, jnp.zeros_like(x))

    return lax.platform_dependent(numbers, cpu=once, default=lambda x: x)


def _threefry(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds: a bijection of pairs of 32-bit numbers, one for each key."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(_PARITY))
    high, low = high + schedule[0], low + schedule[1]
    for block in range(5):
        for places in _ROTATIONS[block % 2]:
            high = high + low
            low = high ^ ((low << jnp.uint32(places)) | (low >> jnp.uint32(32 - places)))
        high = high + schedule[(block + 1) % 3]
        low = low + schedule[(block + 2) % 3] + jnp.uint32(block + 1)
    return high, low


def _of_counts(key: Array, first: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    """Threefry of `first`, `first` + 1, …, as JAX counts the numbers of an array."""
    counts = first + lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _threefry(key, jnp.zeros_like(counts), counts)


def _random_bits(key: Array, bit_width: int, shape: Sequence[int]) -> Array:
    size = math.prod(shape)
    if bit_width != 32 or size >= 1 << 32:
        return _JAX.random_bits(key, bit_width, shape)
    # A loop, if only of two rounds, because XLA would copy what is outside of one into each of the
    # kernels that use it: three of them for every normal number.
    half = -(-size // 2)

    def bits(first: Array) -> Array:
        high, low = _of_counts(key, first, (half,))
        return high ^ low

    return lax.map(bits, jnp.array([0, half], jnp.uint32)).reshape(-1)[:size].reshape(shape)


def _split(key: Array, shape: Sequence[int]) -> Array:
    return jnp.stack(_of_counts(key, jnp.zeros((), jnp.uint32), shape), axis=-1)


def _fold_in(key: Array, data: Array | int) -> Array:
    return jnp.stack(_threefry(key, jnp.zeros((), jnp.uint32), jnp.asarray(data, jnp.uint32)))


WRITTEN_OUT = implementations.define_prng_impl(
    key_shape=_JAX.key_shape,
    seed=_JAX.seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="threefry2x32_written_out",
    tag="fryw",
)
