"""What must work from an offline bundle, with pytest as the only tool."""

import sys

import numpy as np
import pytest

import drspcrl


def test_the_package_knows_its_version():
    assert drspcrl.__version__.count(".") == 2


def test_a_worst_case_is_exact():
    from drspcrl.divergences import KL

    # A fair coin with values 0 and 1 at the distance of a coin that shows 1 with probability 0.2.
    radius = 0.8 * np.log(1.6) + 0.2 * np.log(0.4)
    assert float(KL().worst_case([0.0, 1.0], [0.5, 0.5], radius).value) == pytest.approx(0.2)


def test_the_physics_is_gymnasiums():
    import gymnasium

    from drspcrl.envs import make

    ours, theirs = make("HalfCheetah", num_envs=1), gymnasium.make("HalfCheetah-v5")
    assert np.array_equal(ours.reset(seeds=[3])[0], theirs.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    for _ in range(50):
        action = rng.uniform(-1, 1, size=6).astype(np.float32)
        step, (observation, reward, *_) = ours.step(action[None]), theirs.step(action)
        assert np.array_equal(step.observation[0], observation)
        assert step.reward[0] == reward


def test_the_command_line_works(capsys):
    from drspcrl.cli import main

    assert main(["doctor"]) == 0
    assert main(["solve", "--budget", "-1"]) == 2
    assert "error" in capsys.readouterr().err


def test_an_environment_of_ones_own_is_trained_and_evaluated(tmp_path, monkeypatch, capsys):
    from drspcrl.cli import main

    (tmp_path / "own_swing.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control.pendulum import PendulumEnv\n"
        "gymnasium.register('Swing-v0', entry_point=PendulumEnv, max_episode_steps=16)\n"
    )
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    settings = ["hidden=[8]", "rollout_size=32", "envs_per_member=2", "minibatches=2"]
    command = ["train", "--env", "own_swing:Swing-v0", "--algorithm", "ppo", "--out", "runs"]
    assert main([*command, "--steps", "64", "--no-tensorboard", "--set", *settings]) == 0
    assert main(["evaluate", "runs", "--episodes", "1"]) == 2
    assert "--trust own_swing:Swing-v0" in capsys.readouterr().err
    assert main(["evaluate", "runs", "--episodes", "1", "--trust", "own_swing:Swing-v0"]) == 0
    assert "left out: environment=0.1, 0.2" in capsys.readouterr().out
    assert main(["resume", "runs", "--steps", "96", "--trust", "own_swing:Swing-v0"]) == 0
