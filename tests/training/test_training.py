"""Trainings repeat themselves, count exactly, and act as the policies they leave."""

import jax
import numpy as np
import pytest
from rich.console import Console

from drspcrl.runfolder.runs import read_run
from drspcrl.training import train
from drspcrl.training.collector import Collector, Episodes

QUIET = Console(quiet=True)
ALGORITHMS = ["sac", pytest.param("ddpg", marks=pytest.mark.slow), "td3", "ppo"]


def test_same_seed_same_run(trained, small, tmp_path):
    config, folders = trained
    again = train(small(config.algorithm, tmp_path, threads=1), QUIET)
    for one, two in zip(folders, again, strict=True):
        for file in ("policy.safetensors", "policy-best.safetensors"):
            assert (one / file).read_bytes() == (two / file).read_bytes()
        left, right = read_run(one).metrics, read_run(two).metrics
        for name in set(left) - {"steps_per_second"}:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_exported_policy_equals_the_training_policy(algorithm, small_loop):
    loop, settings = small_loop(algorithm)
    while loop.steps < 128:
        loop.iterate()
    observations = np.random.default_rng(0).normal(size=(2, 100, 3)).astype(np.float32) * 3
    acted = loop.deterministic_actions(observations)
    parts = jax.tree.map(np.asarray, loop.learner.policy_parts(loop.state))
    low, high = loop.collector.low, loop.collector.high
    for k in range(2):
        own = jax.tree.map(lambda leaf: leaf[k], parts)  # noqa: B023
        policy = loop.learner.policy(own, settings.learner, low, high)
        # Pendulum's actions lie in ±2, the learner's in ±1.
        np.testing.assert_allclose(policy(observations[k]), 2 * acted[k], atol=1e-6)


@pytest.mark.parametrize("algorithm", ["ddpg", pytest.param("sac", marks=pytest.mark.slow)])
def test_updates_follow_the_data_exactly(algorithm, small_loop):
    loop, _ = small_loop(algorithm, updates_per_step=0.5)
    for _ in range(30):
        loop.iterate()
    # 4 environments; learning starts at 40 steps, and then 2 updates per 4 steps.
    assert loop.steps == 120
    assert loop.updates == (120 - 40) // 2


def test_acting_lags_one_iteration_and_not_more(small_loop):
    loop, _ = small_loop("sac")
    while loop.steps < 60:
        loop.iterate()
    before = jax.tree.map(np.asarray, loop.state.actor)
    taken = []
    step = loop.collector.step
    loop.collector.step = lambda actions: taken.append(actions) or step(actions)
    outcome, steps = np.asarray(loop.tree()["outcome"]), loop.steps
    loop.iterate()
    after = jax.tree.map(np.asarray, loop.state.actor)
    assert not np.array_equal(before[0].kernel, after[0].kernel)
    state = loop.state._replace(actor=before)
    expected = loop._act(
        *(state, outcome, loop._act_keys, loop.hyper, loop.uncertainty), np.int32(steps)
    )
    np.testing.assert_array_equal(taken[0], expected)


def test_members_meet_the_episodes_of_their_seed_alone():
    together, alone = Collector("Pendulum-v1", [3, 4], 2), Collector("Pendulum-v1", [4], 2)
    np.testing.assert_array_equal(together.reset()[1], alone.reset()[0])
    action = np.full((2, 2, 1), 0.3, np.float32)
    np.testing.assert_array_equal(together.step(action)[1], alone.step(action[1:])[0])


def test_outcome_carries_successors_flags_and_stretched_actions():
    collector = Collector("probe/two_step", [0], 1)
    first = collector.reset()
    np.testing.assert_array_equal(first, [[[0.0]]])
    # Next observation, successor, reward, terminated, ended.
    np.testing.assert_array_equal(collector.step(np.zeros((1, 1, 1))), [[[1, 1, 0, 0, 0]]])
    np.testing.assert_array_equal(collector.step(np.zeros((1, 1, 1))), [[[0, 1, 1, 1, 1]]])
    count, returns, lengths = collector.episodes.take()
    assert (count[0], returns[0], lengths[0]) == (1, 1.0, 2.0)


def test_episodes_average_what_ended_since_the_last_time():
    episodes = Episodes(1, 2)
    for reward, ended in (([1, 10], [0, 0]), ([2, 20], [1, 0]), ([5, 30], [1, 1])):
        episodes.include(np.array([reward], float), np.array([ended], bool))
    count, returns, lengths = episodes.take()
    assert count[0] == 3
    np.testing.assert_allclose(returns, (3 + 5 + 60) / 3)
    np.testing.assert_allclose(lengths, (2 + 1 + 3) / 3)
    assert np.isnan(episodes.take()[1][0])


def test_time_limit_stops_cleanly(small, tmp_path):
    (folder,) = train(small("ppo", tmp_path, steps=10**6, seeds=(0,), time_limit=0.01), QUIET)
    run = read_run(folder)
    assert run.status == "stopped"
    assert 0 < run.info["steps"] < 10**6
    assert (folder / "policy.safetensors").exists()
