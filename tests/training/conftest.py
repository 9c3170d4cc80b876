"""Small trainings that many tests look at."""

from pathlib import Path

import jax
import pytest
from rich.console import Console

from drspcrl.training import TrainConfig, train
from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.settings import resolve

SMALL = {
    "sac": {"hidden": [16, 16], "batch_size": 32, "learning_starts": 40, "envs_per_member": 4},
    "ddpg": {"hidden": [16, 16], "batch_size": 32, "learning_starts": 40, "envs_per_member": 4},
    "td3": {"hidden": [16, 16], "batch_size": 32, "learning_starts": 40, "envs_per_member": 4},
    "ppo": {"hidden": [16, 16], "rollout_size": 64, "minibatches": 4, "envs_per_member": 4},
}


def small_training(algorithm: str, out: Path, **changes) -> TrainConfig:
    """A training of moments on Pendulum."""
    given = {
        "env": "Pendulum-v1",
        "seeds": (3, 4),
        "steps": 256,
        "settings": SMALL[algorithm],
        "log_every": 50,
        "evaluate_every": 128,
        "evaluate_episodes": 2,
    }
    return TrainConfig(algorithm=algorithm, out=out, **(given | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def small():
    """The function that configures a training of moments."""
    return small_training


@pytest.fixture(scope="session")
def small_loop():
    """The function that makes the loop of a training of moments."""

    def make(algorithm: str, seeds=(3, 4), task="Pendulum-v1", steps=256, **changes):
        settings = resolve(algorithm, SMALL[algorithm] | changes, steps)
        collector = Collector(task, seeds, settings.learner.envs_per_member)
        cpu = jax.devices("cpu")[0]
        return make_loop(algorithm, settings, collector, seeds, steps, cpu, cpu), settings

    return make


@pytest.fixture(
    scope="session",
    params=["sac", *(pytest.param(a, marks=pytest.mark.slow) for a in ("ddpg", "td3")), "ppo"],
)
def trained(request, tmp_path_factory) -> tuple[TrainConfig, tuple[Path, ...]]:
    """A finished training and its folders."""
    config = small_training(request.param, tmp_path_factory.mktemp("runs"))
    return config, train(config, Console(quiet=True))
