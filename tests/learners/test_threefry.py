"""Random numbers written out for a CPU: JAX's own bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners.cpu.threefry import normal, quick
from drspcrl.runfolder.checkpoint import tree

SHAPES = [(), (5, 7)]


def data(keys) -> np.ndarray:
    return np.asarray(jax.random.key_data(keys))


@pytest.fixture
def keys():
    return jax.random.split(jax.random.key(7), 3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "draw",
    [
        lambda key, shape: jax.random.bits(key, shape),
        lambda key, shape: jax.random.bits(key, shape, "uint16"),
        lambda key, shape: jax.random.normal(key, shape),
        lambda key, shape: jax.random.uniform(key, shape, minval=-1.0),
        lambda key, shape: jax.random.randint(key, shape, 0, 1000),
        lambda key, shape: jax.random.categorical(key, jnp.zeros(4), shape=shape),
        lambda key, shape: jax.random.key_data(jax.random.split(key, shape)),
    ],
    ids=["bits", "bits16", "normal", "uniform", "randint", "categorical", "split"],
)
def test_every_draw_is_that_of_jax(keys, draw, shape):
    many = jax.jit(jax.vmap(lambda key: draw(key, shape)))
    np.testing.assert_array_equal(many(quick(keys, "cpu")), many(keys))


@pytest.mark.parametrize("number", [0, 1, 12345, 1 << 30, (1 << 32) - 1])
def test_a_number_folded_in_gives_the_key_of_jax(keys, number):
    fold = jax.jit(jax.vmap(lambda key: jax.random.fold_in(key, number)))
    np.testing.assert_array_equal(data(fold(quick(keys, "cpu"))), data(fold(keys)))


def test_a_permutation_is_that_of_jax(keys):
    np.testing.assert_array_equal(
        jax.random.permutation(quick(keys, "cpu")[0], 50), jax.random.permutation(keys[0], 50)
    )


def test_a_program_of_it_has_the_bits_made_once(keys):
    # Three kernels make a normal number of its bits; the shifts of the 20 rounds are in none of
    # them.
    normal = jax.jit(jax.vmap(lambda key: jax.random.normal(key, (64, 64))))
    program = normal.lower(quick(keys, "cpu")).compile().as_text()
    assert program is not None
    rotating = [part for part in program.split("\n\n") if part.count("shift-left(") >= 20]
    assert len(rotating) == 1


def test_normal_numbers_are_those_of_jax_and_made_once(keys):
    def used(key, draw):
        z = draw(key, (2, 64, 6))
        several = z[:, :, None] + jnp.arange(8.0)[None, None, :, None]
        return z, jnp.sum(jnp.square(several), axis=-1), jnp.tanh(several)

    def program(draw):
        text = jax.jit(jax.vmap(lambda key: used(key, draw))).lower(keys).compile().as_text()
        assert text is not None
        # A coefficient of the polynomial that makes normal numbers.
        return text.count("constant(2.81022636e-08)")

    ours = jax.jit(lambda key: normal(key, (2, 64, 6)))(keys[0])
    np.testing.assert_array_equal(ours, jax.random.normal(keys[0], (2, 64, 6)))
    assert program(normal) == 1 < program(jax.random.normal)


def test_keys_stay_what_they_are_on_a_gpu(keys):
    assert quick(keys, "gpu").dtype == keys.dtype


def test_keys_of_another_kind_stay_what_they_are():
    keys = jax.random.split(jax.random.key(7, impl="rbg"), 3)
    assert quick(keys, "cpu").dtype == keys.dtype


def test_keys_stay_what_they_are_where_jax_counts_in_another_way(keys):
    with jax.threefry_partitionable(False):
        assert quick(keys, "cpu").dtype == keys.dtype


def test_a_checkpoint_of_either_kind_of_key_becomes_the_other(keys):
    others = jax.random.split(jax.random.key(8), 3)
    for here, there in ((keys, quick(others, "cpu")), (quick(keys, "cpu"), others)):
        back = tree.to_place(tree.to_host(here), there)
        assert back.dtype == there.dtype
        np.testing.assert_array_equal(data(back), data(keys))
