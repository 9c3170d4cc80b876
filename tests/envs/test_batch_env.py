"""Streams, resets, divergence and errors of the batched environment."""

import numpy as np
import pytest

from drspcrl.envs import BatchEnv, make, task_names
from drspcrl.envs.simulator import MujocoSimulation
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation

MIXED = [
    None,
    Perturbation("action", 0.3),
    Perturbation("observation", 0.2),
    (Perturbation("environment", 0.3), Perturbation("action", 0.1)),
    Perturbation("push", 0.1, {"frequency": 2.0}),
    Perturbation("action_delay", 1),
    Perturbation("scale", 2.0, {"parameter": "mass:torso"}),
]


def policy(observations: np.ndarray, env: BatchEnv) -> np.ndarray:
    """Any function of single observations."""
    size = env.action_space.shape[0]
    return (env.action_space.high * np.sin(7.0 * observations[:, :size] + 1.0)).astype(np.float32)


def trajectory(env: BatchEnv, steps: int, seeds=None) -> dict[str, np.ndarray]:
    observation = env.reset(seeds=seeds)
    rows = [observation]
    rewards, ends = [], []
    for _ in range(steps):
        step = env.step(policy(observation, env))
        observation = step.observation
        rows += [step.final_observation, observation]
        rewards.append(step.reward)
        ends.append(step.ended)
    return {"rows": np.array(rows), "rewards": np.array(rewards), "ends": np.array(ends)}


@pytest.mark.parametrize("task", task_names())
def test_results_do_not_depend_on_the_number_of_threads(task):
    one, two = (trajectory(make(task, 5, seed=3, threads=t), 60) for t in (1, 2))
    for key in one:
        np.testing.assert_array_equal(one[key], two[key])


@pytest.mark.parametrize("task", ["Hopper", "Humanoid"])
def test_batch_of_one_is_the_same_member_in_a_batch_of_a_hundred(task):
    perturbation = (Perturbation("environment", 0.3), Perturbation("observation", 0.1))
    alone = trajectory(make(task, 1, seed=3, perturbations=perturbation), 60)
    crowd = trajectory(make(task, 100, seed=3, perturbations=perturbation), 60)
    assert alone["ends"].any()
    for key in alone:
        np.testing.assert_array_equal(alone[key][:, 0], crowd[key][:, 0])


def test_members_with_different_perturbations_do_not_touch_each_other():
    seeds = [(5, k) for k in range(len(MIXED))]
    together = trajectory(make("Hopper", len(MIXED), perturbations=MIXED), 100, seeds)
    for k, setting in enumerate(MIXED):
        alone = trajectory(make("Hopper", 1, perturbations=setting), 100, [seeds[k]])
        for key in alone:
            np.testing.assert_array_equal(alone[key][:, 0], together[key][:, k])


def test_an_episode_depends_on_its_seed_and_setting_alone():
    """A slot that has seen other settings and episodes gives what a fresh environment gives."""
    env = make("Hopper", 4, seed=0)
    trajectory(env, 30)
    for k in range(len(MIXED)):
        env.perturb([2], [MIXED[k]])
        first = env.reset([2], seeds=[(9, k, 0)])
        fresh = make("Hopper", 1, seed=1, perturbations=MIXED[k])
        np.testing.assert_array_equal(first, fresh.reset(seeds=[(9, k, 0)]))
        observation = np.repeat(first, 4, axis=0)
        for _ in range(15):
            actions = policy(observation, env)
            step, expected = env.step(actions), fresh.step(actions[2:3])
            np.testing.assert_array_equal(step.final_observation[2], expected.final_observation[0])
            assert step.reward[2] == expected.reward[0]
            observation = np.repeat(step.observation[2:3], 4, axis=0)


def test_nominal_physics_comes_back_exactly():
    nominal = trajectory(make("Walker2d", 2), 40, [1, 2])
    env = make("Walker2d", 2, perturbations=Perturbation("environment", 0.5))
    perturbed = trajectory(env, 40, [1, 2])
    assert not np.array_equal(nominal["rows"], perturbed["rows"])
    env.perturb([0, 1], [None, Perturbation("environment", 0.0)])
    for key, again in trajectory(env, 40, [1, 2]).items():
        np.testing.assert_array_equal(nominal[key], again)


def test_final_observation_is_never_that_of_the_next_episode():
    env = make("Hopper", 8, seed=0)
    observation = env.reset()
    ended = 0
    for _ in range(100):
        step = env.step(policy(observation, env))
        same = np.all(step.observation == step.final_observation, axis=1)
        np.testing.assert_array_equal(same, ~step.ended)
        # A fallen hopper is low or tilted; one that has just begun is neither.
        height, tilt = step.final_observation[:, 0], np.abs(step.final_observation[:, 1])
        assert np.all((height < 0.7) | (tilt > 0.2) | ~step.terminated)
        assert np.all(np.abs(step.observation[step.ended, 0] - 1.25) < 0.01)
        ended += step.ended.sum()
        observation = step.observation
    assert ended > 8


def test_returned_arrays_are_the_callers_own():
    env = make("Hopper", 2)
    env.reset()[:] = 7.0
    step = env.step(np.zeros((2, 3), np.float32))
    kept = step.observation.copy()
    env.step(np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(step.observation, kept)


@pytest.mark.parametrize("task", ["HalfCheetah", "Humanoid"])
def test_a_simulation_that_diverges_is_reported_reset_and_alone(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env, twin = make(task, 3), make(task, 3)
    before = env.reset(seeds=[1, 2, 3])
    twin.reset(seeds=[1, 2, 3])
    assert isinstance(env.simulation, MujocoSimulation)
    env.simulation.batch.bind("qvel")[1] = 1e12
    actions = np.zeros((3, *env.action_space.shape), np.float32)
    step, expected = env.step(actions), twin.step(actions)
    np.testing.assert_array_equal(step.diverged, [False, True, False])
    assert step.truncated[1]
    assert not step.terminated[1]
    assert step.reward[1] == 0.0
    np.testing.assert_array_equal(step.final_observation[1], before[1])
    assert np.isfinite(step.observation).all()
    for k in range(20):
        for i in (0, 2):
            np.testing.assert_array_equal(step.final_observation[i], expected.final_observation[i])
        assert not step.diverged.any() or k == 0
        step, expected = env.step(actions), twin.step(actions)
    assert not list(tmp_path.iterdir())  # MuJoCo writes no log file


def test_actions_that_are_no_numbers_end_only_their_own_episode():
    env = make("Hopper", 3)
    env.reset()
    actions = np.zeros((3, 3), np.float32)
    actions[1, 0] = np.nan
    step = env.step(actions)
    np.testing.assert_array_equal(step.diverged, [False, True, False])
    assert np.isfinite(step.reward).all()


def test_errors_name_the_remedy():
    with pytest.raises(InputError, match="num_envs is 0"):
        make("Hopper", 0)
    with pytest.raises(InputError, match=r"unknown.*give Hopper"):
        make("Hoper")
    with pytest.raises(InputError, match="2 settings for 3 environments"):
        make("Hopper", 3, perturbations=[None, None])
    with pytest.raises(InputError, match="non-negative"):
        make("Hopper", 1, seed=-1)
    env = make("Hopper", 2)
    with pytest.raises(InputError, match=r"step\(\) before reset"):
        env.step(np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"reset\(\) all"):
        env.reset([0])
    env.reset()
    with pytest.raises(InputError, match=r"shape \(2, 4\).*takes \(2, 3\)"):
        env.step(np.zeros((2, 4)))
    with pytest.raises(InputError, match="1 seeds for 2"):
        env.reset(seeds=[1])
    with pytest.raises(InputError, match="distinct"):
        env.reset([0, 0])
    with pytest.raises(InputError, match=r"\[0, 2\)"):
        env.reset([2])
    with pytest.raises(InputError, match="no perturbation"):
        env.perturb([0], ["action"])  # type: ignore[list-item]
