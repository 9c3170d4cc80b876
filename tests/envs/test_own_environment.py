"""The example of a user's own environment works, and its physics really is perturbed."""

import importlib.util
from pathlib import Path

import pytest
from gymnasium.utils.env_checker import check_env

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
