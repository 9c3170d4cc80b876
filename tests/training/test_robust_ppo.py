"""Robust PPO as a population: vanilla, noise training and a worst case in one program."""

from typing import Any

import jax
import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty

SMALL = {"hidden": [16, 16], "rollout_size": 128, "minibatches": 4, "envs_per_member": 4}
NOISE = {"sensor": 0.2, "actuator": 0.1, "process": 0.05, "draws": 4}
VANILLA, NOMINAL, ROBUST = range(3)
ITERATIONS = 4


def population(robust: bool = True, seeds=(3, 3, 3), task: str = "Pendulum-v1", **changes):
    settings = resolve("ppo", SMALL | NOISE | changes, 4096)
    collector = Collector(task, seeds, settings.learner.envs_per_member)
    against = member_uncertainty(settings, [0.0, 0.0, 0.5], [True, False, False])
    cpu = jax.devices("cpu")[0]
    return make_loop("ppo", settings, collector, seeds, 4096, cpu, cpu, against if robust else None)


def run(loop, iterations: int = ITERATIONS):
    for _ in range(iterations):
        loop.iterate()
    return loop


@pytest.fixture(scope="module")
def loop():
    loop: Any = run(population())
    loop.first_tree = jax.tree.map(np.array, loop.tree())
    return loop


def test_a_vanilla_member_is_the_plain_learner(loop):
    plain = run(population(robust=False)).state
    mixed = jax.tree.map(np.asarray, loop.state)
    for one, other in zip(
        jax.tree.leaves((mixed.parameters.actor, mixed.parameters.log_std, mixed.observations)),
        jax.tree.leaves((plain.parameters.actor, plain.parameters.log_std, plain.observations)),
        strict=True,
    ):
        np.testing.assert_allclose(one[VANILLA], other[VANILLA], rtol=2e-3, atol=2e-4)
    # The others have met noise from the first step on.
    assert np.all(np.abs(mixed.observations.mean[1:] - mixed.observations.mean[:1]) > 0)


def test_the_signal(loop):
    told = loop.signal()
    assert {name: told[name].shape for name in told} == {
        **dict.fromkeys(
            (
                *("multiplier", "weighted_multiplier", "slope", "robust_value", "start_value"),
                *("value_spread", "reward_scale"),
            ),
            (3,),
        ),
        "draws": (3, 128, 4),
    }
    # Without noise nothing costs anything; at ε = 0 the multiplier is infinite, the slope is not.
    assert told["multiplier"][VANILLA] == told["slope"][VANILLA] == 0
    assert np.isinf(told["multiplier"][NOMINAL])
    assert np.isfinite(told["slope"]).all()
    assert 0 < told["multiplier"][ROBUST] < np.inf
    # The draws let another radius be scored: that of training gives the same mean multiplier.
    again = jax.vmap(KL().worst_case, (0, None, None))(
        told["draws"][ROBUST], np.full(4, 0.25, np.float32), np.float32(0.5)
    )
    np.testing.assert_allclose(np.mean(again.multiplier), told["multiplier"][ROBUST], rtol=1e-3)
    np.testing.assert_allclose(np.mean(again.slope), told["slope"][ROBUST], rtol=1e-3)
    np.testing.assert_allclose(np.mean(again.value), told["robust_value"][ROBUST], rtol=1e-3)


def test_metrics(loop):
    told = {name: np.asarray(values) for name, values in loop.metrics.items()}
    assert np.all(told["beta_low"] <= told["beta_median"])
    assert np.all(told["beta_median"] <= told["beta_high"])
    np.testing.assert_allclose(told["effective_draws"][:ROBUST], 4.0, rtol=1e-5)
    assert 1.0 < told["effective_draws"][ROBUST] < 4.0
    assert told["saturated"][VANILLA] == 0.0
    assert told["value_spread"][VANILLA] == 0.0 < told["value_spread"][ROBUST]
    np.testing.assert_allclose(told["beta"], loop.signal()["multiplier"])


def test_a_radius_moves_without_compiling(loop):
    before = loop._update._cache_size(), loop._act._cache_size()
    loop.set_epsilon(np.array([0.0, 0.3, 2.0]))
    run(loop, 1)
    assert (loop._update._cache_size(), loop._act._cache_size()) == before == (1, 1)
    # Past log 4 the worst of 4 draws is their minimum.
    assert loop.metrics["saturated"][ROBUST] > 0.9
    assert np.isfinite(loop.signal()["multiplier"][NOMINAL])


def test_the_same_seed_is_the_same_run(loop):
    other: Any = population()
    told = other.signal()
    assert told["draws"].shape == (3, 128, 4)
    assert all(np.isnan(numbers).all() for numbers in told.values()), "nothing is known yet"
    other._act, other._update = loop._act, loop._update  # compiled already
    run(other)
    for a, b in zip(*map(jax.tree.leaves, (loop.first_tree, other.tree())), strict=True):
        np.testing.assert_array_equal(a, b)


def test_policies_see_observations_alone(loop):
    parts = jax.tree.map(lambda a: np.asarray(a)[ROBUST], loop.learner.policy_parts(loop.state))
    collector = loop.collector
    policy = loop.learner.policy(parts, None, collector.low, collector.high)
    seen = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    acted = loop.deterministic_actions(np.stack([seen] * 3))[ROBUST]
    np.testing.assert_allclose(policy(seen), 2.0 * acted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dual", "divergence"), [("gaussian", "kl"), ("network", "kl"), ("exact", "wasserstein")]
)
def test_other_duals(dual, divergence):
    loop = run(population(dual=dual, divergence=divergence), 2)
    told = loop.signal()
    assert np.isfinite(told["robust_value"]).all()
    assert told["slope"][ROBUST] > 0
    assert ("dual_gap" in loop.metrics) == (dual == "network")
    leaves = jax.tree.leaves(loop.state.parameters)
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in leaves)
