"""What a loop tells a curriculum."""

import jax
import numpy as np
import pytest

from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty

SMALL = {
    "hidden": [16, 16],
    "batch_size": 32,
    "learning_starts": 40,
    "envs_per_member": 4,
    "draws": 4,
    "actor_draws": "one",
}
NUMBERS = (
    "multiplier",
    "slope",
    "weighted_multiplier",
    "robust_value",
    "start_value",
    "value_spread",
    "reward_scale",
)


@pytest.fixture(scope="module")
def loop():
    """Three members: ε = 0, 0.5, and no noise at all."""
    settings = resolve("sac", SMALL, 200)
    collector = Collector("Pendulum-v1", [3, 4, 5], settings.learner.envs_per_member)
    cpu = jax.devices("cpu")[0]
    against = member_uncertainty(settings, [0.0, 0.5, 0.5], plain=[False, False, True])
    loop = make_loop("sac", settings, collector, [3, 4, 5], 200, cpu, cpu, against)
    assert loop.signal() == {}
    assert all(np.isnan(values).all() for values in loop.metrics.values())
    for _ in range(14):
        loop.iterate()
    return loop


def test_what_is_told(loop):
    told = loop.signal()
    assert set(told) == {*NUMBERS, "draws"}
    assert told["draws"].shape == (3, 256, 4)
    assert all(told[name].shape == (3,) for name in NUMBERS)
    # The multiplier is infinite at ε = 0 where values differ; the slope never is.
    assert np.isinf(told["multiplier"][0])
    assert np.isfinite(told["multiplier"][1:]).all()
    assert np.isfinite(told["slope"]).all()
    assert (told["slope"][:2] > 0).all()
    assert told["slope"][2] == told["value_spread"][2] == 0.0
    np.testing.assert_allclose(told["slope"][0], np.sqrt(2) * told["value_spread"][0], rtol=1e-4)
    np.testing.assert_allclose(
        told["robust_value"][0], told["draws"][0].mean(axis=1).mean(), rtol=1e-4
    )
    assert told["robust_value"][1] < told["draws"][1].mean()
    for name in ("beta", "beta_median", "effective_draws", "saturated", "slope_in_rewards"):
        assert loop.metrics[name].shape == (3,)


def test_asking_changes_nothing(loop):
    before, first = jax.tree.map(np.asarray, loop.state), loop.signal()
    again = loop.signal()
    jax.tree.map(np.testing.assert_array_equal, before, jax.tree.map(np.asarray, loop.state))
    jax.tree.map(np.testing.assert_array_equal, first, again)


def test_another_epsilon_is_felt_and_compiles_nothing(loop):
    before = loop.signal()
    compiled = loop._signal_of._cache_size(), loop._update._cache_size()
    loop.set_epsilon(np.array([0.0, 1.0, 0.5]))
    assert loop.signal()["robust_value"][1] < before["robust_value"][1]
    loop.iterate()
    assert (loop._signal_of._cache_size(), loop._update._cache_size()) == compiled
