"""Each learner solves a small control task within a stated budget."""

import numpy as np
import pytest
from rich.console import Console

from drspcrl.runs import read_run
from drspcrl.trainer import TrainConfig, train

QUIET = Console(quiet=True)


def final_returns(**given) -> np.ndarray:
    """The best evaluations of the members, each a mean over ten episodes."""
    shared = {"evaluate_episodes": 10, "tensorboard": False}
    folders = train(TrainConfig(**(shared | given)), QUIET)
    return np.array([read_run(folder).info["best"]["return"] for folder in folders])


def test_sac_swings_the_pendulum_up(tmp_path):
    # A random policy has about −1200, a good one about −150.
    settings = {"hidden": [64, 64], "batch_size": 128, "learning_starts": 400, "actor_lr": 1e-3}
    returns = final_returns(
        env="Pendulum-v1",
        algorithm="sac",
        out=tmp_path,
        steps=10_000,
        evaluate_every=2000,
        settings=settings | {"envs_per_member": 4},
    )
    assert returns.min() > -250


@pytest.mark.slow
def test_ddpg_swings_the_pendulum_up(tmp_path):
    settings = {"hidden": [64, 64], "batch_size": 128, "learning_starts": 800, "actor_lr": 1e-3}
    returns = final_returns(
        env="Pendulum-v1",
        algorithm="ddpg",
        out=tmp_path,
        steps=16_000,
        seeds=(0, 1),
        evaluate_every=4000,
        settings=settings | {"envs_per_member": 4, "critic_lr": 1e-3},
    )
    assert returns.min() > -250


@pytest.mark.slow
def test_ppo_balances_the_inverted_pendulum(tmp_path):
    # The task is solved at 950 of 1000.
    returns = final_returns(
        env="InvertedPendulum-v5",
        algorithm="ppo",
        out=tmp_path,
        steps=81_920,
        seeds=(0, 1),
        evaluate_every=20_480,
    )
    assert returns.min() > 900
