"""Experience gathered under the nominal noise: what the policy meets, what the replay holds."""

import jax
import numpy as np
import pytest

from drspcrl.nominal import Scales, Uncertainty
from drspcrl.trainer.algorithms import make_loop
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.settings import resolve

SEEDS, ENVS, STEPS = (3, 3, 3), 64, 640


def population(algorithm: str, **scales: float):
    """Members that differ in `rollout_noise` alone: 0, 1 and 2, before they have learned."""
    fixed = {"hidden": [16], "envs_per_member": ENVS, "batch_size": 64, "updates_per_step": 1 / 64}
    # learning_starts = 0: the first action is the policy's own, not a uniform one.
    changes = fixed | {"learning_starts": 0} | scales
    each = [resolve(algorithm, changes | {"rollout_noise": k}, STEPS) for k in (0.0, 1.0, 2.0)]
    three = np.ones(3, np.float32)
    model = Scales(*(three * np.float32(scales.get(kind, 0.0)) for kind in Scales._fields))
    against = Uncertainty(np.zeros(3, np.float32), model)
    cpu = jax.devices("cpu")[0]
    collector = Collector("Pendulum-v1", SEEDS, ENVS)
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
    loop = population("sac", sensor=0.1)
    seen = []
    act = loop.learner.act.__func__

    def watched(self, state, observations, key, hyper):
        jax.debug.callback(lambda o: seen.append(np.asarray(o)), observations)
        return act(self, state, observations, key, hyper)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(loop.learner), "act", watched)
        loop._compile()
        acts(loop)
        jax.effects_barrier()
    true = np.asarray(loop._outcome)[..., :3]
    quiet, once, twice = (np.asarray(seen) - true if len(seen) == 3 else seen[0] - true)
    np.testing.assert_array_equal(quiet, 0.0)
    np.testing.assert_allclose(twice, 2 * once, atol=1e-6)
    assert np.std(once) == pytest.approx(0.1, rel=0.3)


def test_the_replay_holds_true_states_and_arrived_actions():
    loop = population("sac", sensor=0.3, actuator=0.3)
    taken, outcomes = [], []
    step = loop.collector.step
    loop.collector.step = lambda a: taken.append(a) or outcomes.append(step(a)) or outcomes[-1]
    first = np.asarray(loop._outcome)[..., :3]
    loop.iterate()
    held = loop.replay
    np.testing.assert_array_equal(np.asarray(held.action)[:, :, 0], taken[0])
    batch = jax.vmap(lambda r: jax.tree.map(lambda x: x, r))(held)
    observations = np.asarray(batch.observation)
    np.testing.assert_array_equal(observations[:, :, 0], first)
    np.testing.assert_array_equal(observations[:, :, 1], outcomes[0][..., :3])


def test_a_member_without_it_acts_as_in_a_population_without_it():
    loop = population("sac", sensor=0.1)
    settings = resolve("sac", {"hidden": [16], "envs_per_member": ENVS, "batch_size": 64,
                               "updates_per_step": 1 / 64, "learning_starts": 0}, STEPS)  # fmt: skip
    cpu = jax.devices("cpu")[0]
    plain = make_loop(
        *("sac", settings, Collector("Pendulum-v1", SEEDS, ENVS), SEEDS, STEPS, cpu, cpu),
        loop.uncertainty,
    )
    np.testing.assert_array_equal(acts(plain)[0], acts(loop)[0])
