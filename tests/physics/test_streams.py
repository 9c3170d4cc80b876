"""Random streams: independent of blocks, exactly restorable, the ones Gymnasium has."""

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random

from drspcrl.errors import InputError
from drspcrl.physics.streams import Draws, as_sequence, child, generator, pack, unpack

EVERYONE = np.arange(3)


@pytest.mark.parametrize("size", [1, 5, 5000])
@pytest.mark.parametrize("normal", [False, True])
def test_draws_are_those_of_single_calls(size, normal):
    sequences = [np.random.SeedSequence(k) for k in range(3)]
    draws = Draws(3, size, normal=normal)
    draws.seed(EVERYONE, sequences)
    singles = [generator(sequence) for sequence in sequences]
    rng = np.random.default_rng(0)
    for _ in range(150):
        ids = np.flatnonzero(rng.random(3) < 0.7)
        expected = [
            singles[i].standard_normal(size) if normal else singles[i].random(size) for i in ids
        ]
        np.testing.assert_array_equal(draws.take(ids), np.reshape(expected, (len(ids), size)))


@pytest.mark.parametrize("taken", [0, 1, 63, 64, 65])
def test_draws_restore(taken):
    draws, other = Draws(3, 2), Draws(3, 2)
    draws.seed(EVERYONE, [np.random.SeedSequence(k) for k in range(3)])
    for _ in range(taken):
        draws.take(EVERYONE[:2])
    other.restore(draws.state())
    for _ in range(70):
        np.testing.assert_array_equal(draws.take(EVERYONE), other.take(EVERYONE))


def test_generators_pack_and_unpack():
    source, target = generator(np.random.SeedSequence(1)), generator(np.random.SeedSequence(2))
    source.integers(10, dtype=np.uint32)  # leaves half a word behind
    rows = pack([source])
    assert rows.dtype == np.uint64
    unpack([target], rows)
    assert target.bit_generator.state == source.bit_generator.state


def test_an_integer_gives_gymnasiums_generator():
    theirs, _ = np_random(7)
    np.testing.assert_array_equal(generator(as_sequence(7)).random(5), theirs.random(5))
    np.testing.assert_array_equal(generator(as_sequence((7,))).random(5), np_random(7)[0].random(5))


def test_children_are_those_of_spawn_and_leave_no_trace():
    root = as_sequence((1, 2, 3))
    spawned = np.random.SeedSequence([1, 2, 3]).spawn(3)
    for k in (2, 0, 1):
        np.testing.assert_array_equal(
            child(root, k).generate_state(4), spawned[k].generate_state(4)
        )


@pytest.mark.parametrize("seed", [-1, (1, -2), (), (0.5,)])
def test_bad_seeds(seed):
    with pytest.raises(InputError, match="non-negative integers"):
        as_sequence(seed)
