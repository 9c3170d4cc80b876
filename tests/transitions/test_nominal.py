"""The noise model: what is drawn, in which units, and what it remembers."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from drspcrl.errors import InputError
from drspcrl.transitions.nominal import Noise, Scales, Single, Transition, include

AT = Transition(jnp.zeros(3), jnp.zeros(2), jnp.array([1.0, 0.0, -3.0]))
SCALES = Scales(sensor=0.1, actuator=0.5, process=2.0)


def seen(model, batches: int = 40):
    """A state after batches whose observations have sd (1, 2, 3) and whose changes (.1, .2, .3)."""
    random = np.random.default_rng(0)
    state = model.init(jax.random.key(0), 3, 2)
    sd = jnp.array([1.0, 2.0, 3.0])
    for _ in range(batches):
        observation, change = random.normal(size=(2, 256, 3)).astype(np.float32)
        observation = 5.0 + jnp.asarray(observation) * sd[None]
        following = observation + 0.1 * sd[None] * jnp.asarray(change)
        batch = SimpleNamespace(
            observation=observation, action=jnp.zeros((256, 2)), next_observation=following
        )
        state, metrics = model.update(state, batch)
        assert metrics == {}
    return state


def spreads(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draws = model.sample(seen(model), jax.random.key(1), SCALES, AT, 20_000)
    assert draws.log_weight.shape == (20_000,)
    assert len(set(draws.log_weight.tolist())) == 1
    return tuple(np.std(part, axis=0) for part in (draws.sensor, draws.actuator, draws.process))


@pytest.mark.parametrize(
    ("relative", "sensor", "process"),
    [
        ("none", [0.1, 0.1, 0.1], [2.0, 2.0, 2.0]),
        ("process", [0.1, 0.1, 0.1], [0.2, 0.4, 0.6]),
        ("all", [0.1, 0.2, 0.3], [0.2, 0.4, 0.6]),
        ("step", [0.1, 0.1, 0.1], [2.0, 0.0, 6.0]),
    ],
)
def test_units(relative, sensor, process):
    η, ν, w = spreads(Noise(relative))
    np.testing.assert_allclose(η, sensor, rtol=0.03)
    np.testing.assert_allclose(ν, [0.5, 0.5], rtol=0.03)
    np.testing.assert_allclose(w, process, rtol=0.03)


def test_what_is_left_out_is_zero():
    draws = Noise("none", ("actuator",)).sample(
        Noise().init(jax.random.key(0), 3, 2), jax.random.key(1), SCALES, AT, 4
    )
    assert not draws.sensor.any()
    assert not draws.process.any()
    assert draws.actuator.all()


def test_the_three_are_independent():
    draws = Noise("none").sample(
        Noise().init(jax.random.key(0), 3, 2), jax.random.key(1), Scales(1.0, 1.0, 1.0), AT, 20_000
    )
    together = np.concatenate([draws.sensor, draws.actuator, draws.process], axis=1)
    np.testing.assert_allclose(np.corrcoef(together.T), np.eye(8), atol=0.03)


def test_a_level_is_shared_by_all_draws_of_a_state_and_uniform_over_states():
    model = Noise("none")
    state = model.init(jax.random.key(0), 3, 2)
    keys = jax.random.split(jax.random.key(1), 2000)

    def draws(spread):
        at = SCALES._replace(level_spread=spread)
        return jax.vmap(lambda key: model.sample(state, key, at, AT, 4))(keys)

    full, mixed = draws(None), draws(jnp.float32(0.75))
    level = np.asarray(mixed.sensor[:, :1, :1] / full.sensor[:, :1, :1])
    for kind in ("sensor", "actuator", "process"):
        np.testing.assert_allclose(getattr(mixed, kind), level * getattr(full, kind), rtol=2e-5)
    assert stats.kstest(level.ravel(), stats.uniform(0.25, 0.75).cdf).pvalue > 0.01
    jax.tree.map(np.testing.assert_array_equal, draws(jnp.float32(0.0)), full)


def test_running_statistics_are_those_of_all_samples_at_first():
    random = np.random.default_rng(0)
    batches = random.normal(3.0, 2.0, size=(5, 64, 2)).astype(np.float32)
    spread = Noise().init(jax.random.key(0), 2, 1).observation
    for batch in batches:
        spread = include(spread, jnp.asarray(batch))
    everything = batches.reshape(-1, 2)
    np.testing.assert_allclose(spread.mean, everything.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(spread.variance, everything.var(axis=0), rtol=1e-4)


def test_single_is_the_state_itself():
    model = Single()
    draws = model.sample(model.init(jax.random.key(0), 3, 2), jax.random.key(1), SCALES, AT, 8)
    assert not model.sampled
    assert draws.process.shape == (1, 3)
    assert not any(part.any() for part in draws)


def test_unknown_names():
    with pytest.raises(InputError, match="relative is 'some'"):
        Noise("some")
    with pytest.raises(InputError, match="kind 'thermal'"):
        Noise(kinds=("thermal",))
