"""The minibatch as P0: what is drawn, and that its worst case knows no state."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from drspcrl.divergences import KL
from drspcrl.transitions.minibatch import SIZE, Minibatch
from drspcrl.transitions.nominal import Scales, Transition

SCALES = Scales()
PLACES = (jnp.array([3.0, -1.0]), jnp.array([-20.0, 7.0]))


class Steps(NamedTuple):
    observation: jax.Array
    action: jax.Array
    next_observation: jax.Array


def after(size: int) -> tuple[Any, np.ndarray]:
    """What the model knows after a minibatch of so many transitions, and their next states."""
    following = np.random.default_rng(0).normal(size=(size, 2)).astype(np.float32)
    batch = Steps(
        observation=jnp.zeros((size, 2)),
        action=jnp.zeros((size, 1)),
        next_observation=jnp.asarray(following),
    )
    model = Minibatch()
    return model.update(model.init(jax.random.key(0), 2, 1), batch)[0], following


def drawn(known: Any, place: jax.Array, n: int, key: int = 1) -> np.ndarray:
    """States s' + w of n draws around a place."""
    at = Transition(jnp.zeros(2), jnp.zeros(1), place)
    draws = Minibatch().sample(known, jax.random.key(key), SCALES, at, n)
    assert not draws.sensor.any()
    assert not draws.actuator.any()
    return np.asarray(place[None] + draws.process)


def test_before_the_first_minibatch_there_is_the_stored_state_alone():
    known = Minibatch().init(jax.random.key(0), 2, 1)
    np.testing.assert_array_equal(drawn(known, PLACES[0], 4), np.tile(PLACES[0], (4, 1)))


def test_draws_are_the_next_states_of_the_minibatch():
    known, following = after(SIZE)
    for place in PLACES:
        found = drawn(known, place, SIZE)
        order = np.lexsort(found.T), np.lexsort(following.T)
        np.testing.assert_allclose(found[order[0]], following[order[1]], atol=1e-5)


def test_of_a_larger_minibatch_rows_are_taken_and_of_a_smaller_one_all():
    for size in (SIZE // 4, 8 * SIZE):
        known, following = after(size)
        found = np.unique(drawn(known, PLACES[0], SIZE).round(4), axis=0)
        assert len(found) == min(size, SIZE)
        assert {tuple(row) for row in found} <= {tuple(row) for row in following.round(4)}


def test_the_worst_case_is_the_same_in_every_state_and_radius_0_is_the_mean_over_the_minibatch():
    known, following = after(SIZE)
    p = jnp.full(SIZE, 1 / SIZE)
    for radius in (0.0, 0.5):
        cases = [
            KL().worst_case(jnp.asarray(drawn(known, place, SIZE)[:, 0]), p, radius).value
            for place in PLACES
        ]
        np.testing.assert_allclose(cases[0], cases[1], atol=1e-4)
        if radius == 0:
            np.testing.assert_allclose(cases[0], following[:, 0].mean(), atol=1e-5)
        else:
            assert cases[0] < following[:, 0].mean() - 0.5
