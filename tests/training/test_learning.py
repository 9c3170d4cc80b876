"""Each learner solves a small control task within a stated budget."""

import jax
import numpy as np
import pytest
from rich.console import Console

from drspcrl.runfolder.runs import read_run
from drspcrl.training import TrainConfig, train

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
@pytest.mark.parametrize("algorithm", ["ddpg", "td3"])
def test_deterministic_policies_swing_the_pendulum_up(algorithm, tmp_path):
    settings = {"hidden": [64, 64], "batch_size": 128, "learning_starts": 800, "actor_lr": 1e-3}
    returns = final_returns(
        env="Pendulum-v1",
        algorithm=algorithm,
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


@pytest.mark.slow
def test_robust_ppo_balances_the_inverted_pendulum_under_noise():
    """Three members meet nominal noise, at ε = 0, .3 and 1; the first of four is vanilla."""
    from drspcrl.training.collector import Collector, TrainEvaluator
    from drspcrl.training.loop import make_loop
    from drspcrl.training.settings import resolve
    from drspcrl.training.transitions import member_uncertainty

    steps, task, seeds = 98_304, "InvertedPendulum-v5", (0, 0, 0, 0)
    settings = resolve("ppo", {"sensor": 0.05, "actuator": 0.05}, steps)
    against = member_uncertainty(settings, [0.0, 0.0, 0.3, 1.0], [True, False, False, False])
    collector, cpu = Collector(task, seeds, settings.learner.envs_per_member), jax.devices("cpu")[0]
    loop = make_loop("ppo", settings, collector, seeds, steps, cpu, cpu, against)
    while loop.steps < steps:
        loop.iterate()
    scores = TrainEvaluator(task, seeds, 10, 0).returns(loop.deterministic_actions).mean(axis=1)
    # The task is solved at 950 of 1000; noise of 0.05 is a quarter of the angle that ends it.
    assert scores[0] > 900
    assert scores.min() > 500
    # The larger the ball, the less a start state is worth.
    assert np.all(np.diff(loop.signal()["start_value"][1:]) < 0)
