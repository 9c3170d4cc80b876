"""Saved and restored environments continue bit for bit."""

import numpy as np
import pytest
from safetensors.numpy import load, save

from drspcrl.envs import make, task_names
from drspcrl.envs.probe import PROBES
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation

EVERYTHING = (
    Perturbation("environment", 0.3),
    Perturbation("action", 0.3),
    Perturbation("observation_bias", 0.1),
    Perturbation("observation_dropout", 0.1),
    Perturbation("action_delay", 3),
    Perturbation("push", 0.1, {"frequency": 1.5}),
    Perturbation("gusts", 0.1),
    Perturbation("observation", 0.1),
)


def run(env, rng, steps):
    rows = []
    for _ in range(steps):
        low, high = env.action_space.low, env.action_space.high
        actions = rng.uniform(low, high, (env.num_envs, *low.shape)).astype(np.float32)
        step = env.step(actions)
        rows += [step.observation, step.final_observation]
        rows += [step.reward[:, None], step.terminated[:, None], step.truncated[:, None]]
    return np.concatenate([row.astype(float) for row in rows], axis=1)


@pytest.mark.parametrize("setting", [None, EVERYTHING], ids=["nominal", "perturbed"])
@pytest.mark.parametrize("task", [*task_names(), *PROBES])
def test_restored_continues_as_if_never_stopped(task, setting):
    if task in PROBES and setting is not None:
        setting = tuple(p for p in setting if p.name not in ("environment", "push", "gusts"))
    env = make(task, 3, seed=4, perturbations=setting)
    env.reset()
    run(env, np.random.default_rng(0), 37)
    saved = env.state()
    straight = run(env, np.random.default_rng(1), 60)

    # Through a file format without pickle, into an environment of another seed and thread count.
    other = make(task, 3, seed=99, threads=1, perturbations=setting)
    other.restore(load(save(saved)))
    np.testing.assert_array_equal(run(other, np.random.default_rng(1), 60), straight)

    env.restore(saved)  # and back in time
    np.testing.assert_array_equal(run(env, np.random.default_rng(1), 60), straight)


def test_the_time_limit_counts_on():
    env = make("HalfCheetah", 2, seed=4)
    env.reset()
    run(env, np.random.default_rng(0), 990)
    other = make("HalfCheetah", 2, seed=5)
    other.restore(env.state())
    actions = np.zeros((2, 6), np.float32)
    assert [bool(other.step(actions).truncated.all()) for _ in range(11)] == [False] * 9 + [
        True,
        False,
    ]


def test_scales_set_by_the_caller_are_restored():
    env = make("Hopper", 2, seed=4)
    env.reset()
    scales = np.linspace(0.8, 1.3, len(env.physics.names))
    env.physics.set_scales(np.array([1]), scales)
    run(env, np.random.default_rng(0), 10)
    saved = env.state()
    straight = run(env, np.random.default_rng(1), 30)
    other = make("Hopper", 2, seed=5)
    other.restore(saved)
    np.testing.assert_array_equal(other.physics.scales, env.physics.scales)
    np.testing.assert_array_equal(run(other, np.random.default_rng(1), 30), straight)


def test_the_state_is_a_copy():
    env = make("Hopper", 2)
    env.reset()
    saved = env.state()
    kept = {key: value.copy() for key, value in saved.items()}
    run(env, np.random.default_rng(0), 5)
    for key, value in kept.items():
        np.testing.assert_array_equal(saved[key], value)


def test_states_that_do_not_fit():
    env = make("Hopper", 2)
    with pytest.raises(InputError, match="before reset"):
        env.state()
    env.reset()
    with pytest.raises(InputError, match=r"does not fit.*num_envs"):
        make("Hopper", 3).restore(env.state())
    with pytest.raises(InputError, match="does not fit"):
        make("Hopper", 2, perturbations=Perturbation("action", 0.1)).restore(env.state())


def test_environments_that_cannot_say_so():
    env = make("Pendulum-v1", 2)
    assert not env.can_restore
    env.reset()
    with pytest.raises(InputError, match="cannot save its state"):
        env.state()
    with pytest.raises(InputError, match="cannot save its state"):
        env.restore({})
