"""The example of a user's own environment works, and its physics really is perturbed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from drspcrl.envs import make
from drspcrl.perturbations import Perturbation

PATH = Path(__file__).parents[2] / "examples" / "own_environment.py"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("own_environment", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:.*Box observation space (min|max)imum.*")
def test_the_environment_is_a_proper_one(example):
    check_env(example.Crane(), skip_render_check=True)


def test_perturbations_cost_return(example):
    results = example.main(episodes=6)
    nominal = results.pop("none")
    assert nominal > 150.0  # of at most 200
    assert len(set(results.values()) | {nominal}) == 9  # all differ
    assert max(results.values()) < nominal + 5.0
    assert results["scale[gear]=0.2"] < nominal - 1.0
    assert results["action_delay=3"] < nominal - 20.0


def test_a_saved_crane_continues_bit_for_bit(example):
    setting = (Perturbation("environment", 0.3), Perturbation("push", 0.1, {"frequency": 0.5}))

    def steps(env, first: int) -> list[np.ndarray]:
        actions = np.sin(np.arange(first, first + 230))[:, None, None] * np.ones((2, 1))
        return [env.step(a.astype(np.float32)).final_observation for a in actions]

    env = make(example.crane, 2, seed=3, perturbations=setting)
    env.reset()
    steps(env, 0)
    saved = env.state()
    onwards = steps(env, 230)
    fresh = make(example.crane, 2, seed=4, perturbations=setting)
    fresh.restore(saved)
    np.testing.assert_array_equal(steps(fresh, 230), onwards)
