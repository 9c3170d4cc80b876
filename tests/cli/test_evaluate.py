"""`drspcrl evaluate`, from its arguments to its files."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tyro

from drspcrl.cli.evaluate import Evaluate
from drspcrl.errors import InputError
from drspcrl.evaluation import SUITES, EvaluationTable
from drspcrl.policy import Policy, save_policy


def run_command(*arguments):
    tyro.cli(Evaluate, args=list(map(str, arguments))).run()


def policy(action: float) -> Policy:
    """A policy that always does the same."""
    return Policy(
        kind="gaussian",
        activation="relu",
        layers=((np.zeros((3, 1), np.float32), np.full(1, action / 2, np.float32)),),
        action_low=np.full(1, -2, np.float32),
        action_high=np.full(1, 2, np.float32),
        observation_mean=np.zeros(3, np.float32),
        observation_scale=np.ones(3, np.float32),
        observation_clip=np.inf,
        noise_log_std=np.zeros(1, np.float32),
    )


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "Pendulum-v1-sac-vanilla-s0"
    folder.mkdir()
    identity = {"env": "Pendulum-v1", "algorithm": "sac", "method": "vanilla", "seed": 0}
    (folder / "run.json").write_text(json.dumps({"format_version": 1, **identity}))
    (folder / "config.yaml").write_text(json.dumps(identity))
    save_policy(folder / "policy.safetensors", policy(0.0))
    save_policy(folder / "policy-best.safetensors", policy(1.0))
    return folder


def test_a_run_is_evaluated_and_the_table_shown(run_folder, capsys):
    run_command(run_folder.parent, "--suite", "noise", "--episodes", 2, "--seed", 3)
    table = EvaluationTable.from_csv(run_folder / "evaluation-noise.csv")
    assert len(table) == 22
    assert (table.info["seed"], table.info["episodes"]) == (3, 2)
    out, err = capsys.readouterr()
    assert f"evaluated {run_folder}: nominal {np.mean(table.returns[:2]):.1f}, perturbed" in out
    assert "(10 settings)" in out
    assert str(table) in out
    assert "22 of 22 episodes" in err
    run_command(run_folder.parent, "--suite", "noise", "--episodes", 2, "--seed", 3)
    assert f"kept {run_folder}: evaluation-noise.csv is there already\n" in capsys.readouterr().out


def test_a_grid_is_summed_up_by_its_worst(run_folder, tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text(
        "{statistic: worst, settings: [none, action=0.1, action=0.9]}"
    )
    run_command(run_folder, "--suite", tmp_path / "mine.yaml", "--episodes", 2)
    printed = capsys.readouterr().out
    table = EvaluationTable.from_csv(run_folder / "evaluation-mine.csv")
    worst = min(s.mean for s in table.summary()[1:])
    assert printed.count(f"worst of 2 means {worst:.1f} at action=") == 2  # the line, the table


def test_an_own_suite_and_the_best_policy(run_folder, tmp_path):
    suite = tmp_path / "mine.yaml"
    suite.write_text("settings: [none]")
    returns = {}
    for which in ("last", "best"):
        run_command(run_folder, "--suite", suite, "--episodes", 1, "--policy", which, "--overwrite")
        table = EvaluationTable.from_csv(run_folder / "evaluation-mine.csv")
        returns[which] = table.returns[0]
    assert table.info["policy_file"] == "policy-best.safetensors"
    assert returns["last"] != returns["best"]
    run_command(run_folder, "--suite", suite, "--episodes", 1, "--stochastic", "--overwrite")
    assert (
        EvaluationTable.from_csv(run_folder / "evaluation-mine.csv").returns[0]
        not in returns.values()
    )


def test_the_only_run_that_cannot_be_evaluated_is_an_input_error(run_folder):
    # Pendulum has no MuJoCo model.
    suite = run_folder.parent / "masses.yaml"
    suite.write_text("settings: [environment=0.1]")
    with pytest.raises(InputError, match="cannot be evaluated: suite 'masses' has no setting for"):
        run_command(run_folder, "--episodes", 1, "--suite", suite)


def test_a_run_that_is_left_out_gives_exit_code_1(run_folder, tmp_path, capsys):
    suite = tmp_path / "mine.yaml"
    suite.write_text("settings: [none]")
    (run_folder.parent / "Hopper-sac-vanilla-s0").mkdir()
    with pytest.raises(SystemExit) as stopped:
        run_command(run_folder.parent, "--episodes", 1, "--suite", suite)
    assert stopped.value.code == 1
    printed = capsys.readouterr().out
    assert "skipped" in printed
    assert "evaluated" in printed


def test_no_runs_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no run at or below"):
        run_command(tmp_path)


def test_help_names_every_suite(capsys):
    with pytest.raises(SystemExit) as stopped:
        run_command("--help")
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert all(name in out for name in SUITES)


def test_what_the_suite_asks_of_a_task_that_has_it_not_is_one_line(run_folder, capsys):
    run_command(run_folder.parent, "--episodes", 1)
    left = "left out: environment=0.1, 0.2, 0.3, 0.4, 0.5 (the task has no MuJoCo model)"
    assert capsys.readouterr().out.count(left) == 1
    assert len(EvaluationTable.from_csv(run_folder / "evaluation.csv")) == 11
    other = run_folder.with_name("Pendulum-v1-sac-vanilla-s1")
    shutil.copytree(run_folder, other)
    run_command(run_folder.parent, "--episodes", 1, "--jobs", 1)
    assert capsys.readouterr().out.count(f"Pendulum-v1: {left}") == 1


def test_an_environment_of_a_module_in_the_working_directory(run_folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(run_folder.parent)
    Path("tank_of_a_user.py").write_text(
        "import gymnasium\n\ndef swing():\n    return gymnasium.make('Pendulum-v1')\n"
    )
    for name in ("run.json", "config.yaml"):
        told = json.loads((run_folder / name).read_text())
        (run_folder / name).write_text(json.dumps(told | {"env": "tank_of_a_user:swing"}))
    with pytest.raises(InputError, match="say so with --trust tank_of_a_user:swing"):
        run_command(run_folder, "--episodes", 1)
    assert "tank_of_a_user" not in sys.modules
    run_command(run_folder, "--episodes", 1, "--trust", "tank_of_a_user:swing")
    assert f"evaluated {run_folder}" in capsys.readouterr().out
