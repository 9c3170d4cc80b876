"""The batched tasks against Gymnasium itself: equal bit for bit, in float64."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from drspcrl.envs import make, task_names
from drspcrl.envs.simulator import MujocoSimulation
from drspcrl.perturbations import Perturbation, Setting, wrap
from drspcrl.physics.engine import mujoco

COMBINED = (
    Perturbation("environment", 0.2),
    Perturbation("action", 0.2),
    Perturbation("environment", 0.2, {"parameters": ["mass"]}),
    Perturbation("value", 0.7, {"parameter": "friction:floor"}),
    Perturbation("value", 2.5, {"parameter": "mass:torso"}),
    Perturbation("observation_bias", 0.1),
    Perturbation("action_delay", 2),
    Perturbation("observation_dropout", 0.1),
    Perturbation("push", 0.05, {"frequency": 1.0}),
    Perturbation("gusts", 0.05),
    Perturbation("observation", 0.1),
)


def assert_same_bits(actual: Any, expected: Any, where: str) -> None:
    assert np.asarray(actual).dtype == np.asarray(expected).dtype == np.float64, where
    if np.asarray(actual).tobytes() != np.asarray(expected).tobytes():
        np.testing.assert_array_equal(actual, expected, where)
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected), where)


def compare(task: str, steps: int, size: float, setting: Setting = None, dtype: type = np.float32):
    """Step both from the same seeds with the same actions; count falls and time limits."""
    seeds = [7, 8, 9]
    batch = make(task, len(seeds), threads=2, perturbations=setting)
    envs = [wrap(gymnasium.make(f"{task}-v5"), setting) for _ in seeds]
    first = batch.reset(seeds=seeds)
    for i, (env, seed) in enumerate(zip(envs, seeds, strict=True)):
        assert_same_bits(first[i], env.reset(seed=seed)[0], f"reset of {i}")
    rng = np.random.default_rng(1)
    falls = limits = 0
    for t in range(steps):
        shape = (len(seeds), *batch.action_space.shape)
        actions = (rng.uniform(-size, size, shape) * batch.action_space.high).astype(dtype)
        step = batch.step(actions)
        for i, env in enumerate(envs):
            where = f"environment {i}, step {t}"
            observation, reward, terminated, truncated, _ = env.step(actions[i])
            assert_same_bits(step.final_observation[i], observation, where)
            assert_same_bits(step.reward[i], np.float64(reward), where)
            assert step.terminated[i] == terminated, where
            assert step.truncated[i] == truncated, where
            assert not step.diverged[i], where
            if terminated or truncated:
                falls, limits = falls + terminated, limits + truncated
                observation, _ = env.reset()
            assert_same_bits(step.observation[i], observation, where)
    return falls, limits


@pytest.mark.parametrize("task", task_names())
def test_random_actions_with_falls(task):
    falls, limits = compare(task, steps=1050 if task == "HalfCheetah" else 300, size=1.0)
    assert limits if task == "HalfCheetah" else falls > 10


@pytest.mark.parametrize("task", task_names())
def test_all_perturbations_at_once(task):
    compare(task, steps=150, size=1.0, setting=COMBINED)


BOXES = {
    "Hopper": {"friction:floor": 3.0, "mass:torso": 0.1, "mass:thigh": 4.0},
    "HalfCheetah": {"friction": 4.0, "mass:torso": 0.1, "mass:bthigh": 3.0},
    "Walker2d": {"friction:floor": 4.0, "mass:torso": 0.1, "mass:thigh": 6.0},
}


@pytest.mark.parametrize("task", BOXES)
@pytest.mark.parametrize("wrapped", [False, True], ids=["batch", "wrapper"])
def test_values_are_fields_set_by_hand_and_nothing_else(task, wrapped):
    """As M2TD3 and RRLS set them: in a plain Gymnasium environment, before its reset."""
    friction, torso, thigh = BOXES[task].values()
    setting = tuple(Perturbation("value", v, {"parameter": p}) for p, v in BOXES[task].items())
    plain: Any = gymnasium.make(f"{task}-v5")
    model = plain.unwrapped.model
    model.geom_friction[slice(None) if task == "HalfCheetah" else 0, 0] = friction
    model.body_mass[1], model.body_mass[2] = torso, thigh
    batch = make(task, 2, perturbations=[None, setting])
    env = wrap(gymnasium.make(f"{task}-v5"), setting)
    first, _ = plain.reset(seed=5)
    assert_same_bits(batch.reset(seeds=[5, 5])[1], first, "reset")
    env.reset(seed=5)
    random, differs, t = np.random.default_rng(0), False, 0
    for t in range(200):
        action = random.uniform(-1, 1, batch.action_space.shape).astype(np.float32)
        seen, reward, terminated, truncated, _ = plain.step(action)
        if wrapped:
            mine, given, *_ = env.step(action)
        else:
            step = batch.step(np.stack([action, action]))
            mine, given = step.final_observation[1], step.reward[1]
            differs |= not np.array_equal(step.final_observation[0], mine)
        assert_same_bits(mine, seen, f"step {t}")
        assert_same_bits(np.float64(given), np.float64(reward), f"reward {t}")
        if terminated or truncated:
            break
    assert t > 10
    assert wrapped or differs


@pytest.mark.parametrize("task", task_names())
def test_float64_actions_beyond_their_bounds(task):
    compare(task, steps=60, size=1.5, dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [None, COMBINED], ids=["nominal", "combined"])
@pytest.mark.parametrize("task", task_names())
def test_thousands_of_steps(task, setting):
    falls, limits = compare(task, steps=3000, size=0.7, setting=setting)
    assert limits if task == "HalfCheetah" else falls > 50


@pytest.mark.parametrize("task", ["Hopper", "Walker2d", "Humanoid"])
def test_time_limit_of_tasks_that_fall(task):
    """A thousand steps without a fall need a trained policy; put the robots upright instead."""
    batch = make(task, 2)
    env = gymnasium.make(f"{task}-v5")
    base: Any = env.unwrapped
    batch.reset(seeds=[3, 4])
    env.reset(seed=3)
    simulation = batch.simulation
    assert isinstance(simulation, MujocoSimulation)
    upright = simulation.batch.state[0].copy()
    rng = np.random.default_rng(2)
    for t in range(1, 1001):
        simulation.batch.state[:] = upright
        mujoco.mj_setState(base.model, base.data, upright, mujoco.mjtState.mjSTATE_INTEGRATION)
        action = rng.uniform(-0.1, 0.1, batch.action_space.shape).astype(np.float32)
        step = batch.step(np.stack([action, action]))
        observation, reward, terminated, truncated, _ = env.step(action)
        assert_same_bits(step.final_observation[0], observation, f"step {t}")
        assert_same_bits(step.reward[0], np.float64(reward), f"step {t}")
        assert not step.terminated.any()
        assert not terminated
        assert step.truncated[0] == truncated == (t == 1000)
