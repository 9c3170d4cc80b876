"""Experience gathered under the nominal noise: what the policy meets, what the replay holds."""

from typing import Any

import jax
import numpy as np
import pytest

from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.settings import resolve
from drspcrl.transitions.nominal import KINDS, Scales, Strength

SEEDS, STEPS = (3, 3, 3), 640
# Without a phase of uniform actions the first ones are the policy's own.
SMALL = {
    "hidden": [16],
    "envs_per_member": 64,
    "batch_size": 64,
    "updates_per_step": 1 / 64,
    "learning_starts": 0,
}


def population(algorithm: str, multiples=(0.0, 1.0, 2.0), **scales: float) -> Any:
    """Members that differ in `rollout_noise` alone, before they have learned."""
    changes = SMALL | scales
    each = [resolve(algorithm, changes | {"rollout_noise": k}, STEPS) for k in multiples]
    three = np.ones(3, np.float32)
    model = Scales(*(three * np.float32(scales.get(kind, 0.0)) for kind in KINDS))
    against = Strength(np.zeros(3, np.float32), model)
    cpu = jax.devices("cpu")[0]
    collector = Collector("Pendulum-v1", SEEDS, SMALL["envs_per_member"])
    return make_loop(algorithm, each[0], collector, SEEDS, STEPS, cpu, cpu, against, each)


def acts(loop) -> np.ndarray:
    members = loop.state, loop._outcome, loop._act_keys, loop.hyper, loop.uncertainty
    return np.asarray(loop._act(*members, np.int32(loop.steps)))


@pytest.mark.parametrize("algorithm", ["sac", "ddpg"])
def test_actuator_noise_is_added_to_what_the_policy_wants(algorithm):
    quiet, once, twice = acts(population(algorithm, sensor=0.0, actuator=0.05))
    inside = np.max(np.abs([quiet, once, twice]), axis=0) < 1.0
    assert inside.mean() > 0.5
    noise = (once - quiet)[inside]
    np.testing.assert_allclose((twice - quiet)[inside], 2 * noise, atol=1e-6)
    assert np.std(noise) == pytest.approx(0.05, rel=0.35)
    assert np.abs(twice).max() <= 1.0


def test_sensor_noise_moves_what_the_policy_sees():
    loop = population("sac", sensor=0.1, actuator=0.2)
    states, key = np.zeros((4096, 3), np.float32), jax.random.key(5)
    form, known = loop.learner.uncertainty, jax.tree.map(lambda a: a[0], loop.state.robust)
    met = form.noisy_inputs(known, states, Strength(0.0, Scales(0.1, 0.2)), 1, key)
    np.testing.assert_array_equal(met.true, states)
    np.testing.assert_allclose(np.std(met.seen, axis=0), 0.1, rtol=0.05)
    np.testing.assert_allclose(np.std(met.actuator, axis=0), 0.2, rtol=0.05)


def test_the_replay_holds_true_states_and_arrived_actions():
    loop = population("sac", sensor=0.3, actuator=0.3)
    taken, outcomes = [], []
    step = loop.collector.step
    loop.collector.step = lambda a: taken.append(a) or outcomes.append(step(a)) or outcomes[-1]
    first, expected = np.asarray(loop._outcome)[..., :3], acts(loop)
    loop.iterate()
    np.testing.assert_array_equal(taken[0], expected)
    assert not np.isclose(taken[0][0], taken[0][1]).any()  # with noise, and without
    np.testing.assert_array_equal(np.asarray(loop.replay.action)[:, :, 0], taken[0])
    observations = np.asarray(loop.replay.observation)
    np.testing.assert_array_equal(observations[:, :, 0], first)
    np.testing.assert_array_equal(observations[:, :, 1], outcomes[0][..., :3])


def test_sensor_noise_alone_changes_what_is_done():
    quiet, once, twice = acts(population("sac", sensor=0.5))
    assert not np.isclose(quiet, once).any()
    assert not np.isclose(once, twice).any()


def test_a_member_without_it_acts_as_in_a_population_without_it():
    mixed, quiet = population("sac", sensor=0.1), population("sac", (0.0, 0.0, 0.0), sensor=0.1)
    np.testing.assert_array_equal(acts(quiet)[0], acts(mixed)[0])
