"""`drspcrl export`, from its arguments to its files."""

import json

import numpy as np
import pytest

from drspcrl.cli import main
from drspcrl.policy import Policy, save_policy


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "Pendulum-v1-ppo-vanilla-s0"
    folder.mkdir()
    identity = {"env": "Pendulum-v1", "algorithm": "ppo", "method": "vanilla", "seed": 0}
    (folder / "run.json").write_text(json.dumps({"format_version": 1, **identity}))
    (folder / "config.yaml").write_text(json.dumps(identity))
    policy = Policy(
        kind="gaussian",
        activation="tanh",
        layers=((np.ones((3, 1), np.float32), np.zeros(1, np.float32)),),
        action_low=np.full(1, -2, np.float32),
        action_high=np.full(1, 2, np.float32),
        observation_mean=np.zeros(3, np.float32),
        observation_scale=np.ones(3, np.float32),
        observation_clip=10.0,
        noise_log_std=np.zeros(1, np.float32),
    )
    save_policy(folder / "policy.safetensors", policy)
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("policy.onnx", "observation [batch, 3] → action [batch, 1], float32"),
        ("policy.h", "3 multiply-adds per step"),
        ("policy.npz", "1 layers, 3 observations → 1 actions"),
    ],
)
def test_each_format_says_what_it_needs(run_folder, tmp_path, capsys, name, said):
    out = tmp_path / name
    assert main(["export", str(run_folder), "--out", str(out)]) == 0
    assert out.stat().st_size > 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{out}: ")
    assert said in printed
    assert "note:" not in printed


def test_a_folder_of_several_runs_is_an_input_error(run_folder, capsys):
    run_folder.rename(run_folder.with_name("a"))
    other = run_folder.with_name("b")
    other.mkdir()
    for name in ("run.json", "config.yaml", "policy.safetensors"):
        (other / name).write_bytes((run_folder.with_name("a") / name).read_bytes())
    assert main(["export", str(run_folder.parent), "--out", "policy.h"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{run_folder.with_name('a')}, {other}" in line
