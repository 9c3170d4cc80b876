"""`drspcrl evaluate --policy …`: a policy from elsewhere becomes a run folder beside the others."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import sb3_files

from drspcrl.cli import main
from drspcrl.evaluation import EvaluationTable
from drspcrl.evaluation.foreign import evaluate_foreign
from drspcrl.evaluation.foreign.evaluate import folder_name
from drspcrl.runfolder.runs import read_run, read_runs

POLICY = """
import numpy as np

def swing(observations):
    return -np.sign(observations[:, 1:2])

def rest(observations):
    return np.zeros((len(observations), 1))

def strong(observations):
    return np.full((len(observations), 1), 3.0)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a module of policies, a saved model and a small suite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.startswith("policies_of_a_user")]:
        monkeypatch.delitem(sys.modules, name)
    Path("policies_of_a_user.py").write_text(POLICY)
    sb3_files.save_model(Path("model.zip"), sb3_files.td3(3, 1))
    Path("small.yaml").write_text("settings: [none, action=0.2]")
    return tmp_path


def evaluate(policy: str, *options: str) -> int:
    usual = {"--env": "Pendulum-v1", "--out": "runs", "--suite": "small.yaml", "--episodes": "2"}
    rest = [part for pair in usual.items() if pair[0] not in options for part in pair]
    return main(["evaluate", "--policy", policy, "--threads", "1", *rest, *options])


def test_a_function_becomes_a_run_folder(here, capsys):
    assert evaluate("policies_of_a_user:swing", "--name", "my policy") == 0
    out = capsys.readouterr().out
    (folder,) = (here / "runs").iterdir()
    assert folder.name == folder_name("Pendulum-v1", "my policy", 0)
    assert f"evaluated runs/{folder.name}: nominal" in out
    run = read_run(folder)
    assert run.identity == ("Pendulum-v1", "foreign", "my policy", 0)
    assert run.foreign
    assert run.info["foreign"]["policy"] == "policies_of_a_user:swing"
    assert len(run.info["foreign"]["sha256"]) == 64
    table = EvaluationTable.from_csv(folder / "evaluation-small.csv")
    assert len(table) == 4
    assert table.info["policy_file"] == "policies_of_a_user:swing"
    assert table.info["random_return"]["episodes"] == 20
    assert -1500 < table.info["random_return"]["mean"] < -900  # of random torque on Pendulum
    assert run.evaluations["small"].random_return == (table.info["random_return"]["mean"], 20)


def test_the_same_command_keeps_what_is_there(here, capsys):
    for _ in range(2):
        assert evaluate("policies_of_a_user:rest") == 0
    out = capsys.readouterr().out
    assert "evaluated runs/" in out
    assert "evaluation-small.csv is there already\n" in out
    (folder,) = (here / "runs").iterdir()
    assert read_run(folder).method == "rest"


def test_the_same_name_is_another_seed_or_refused(here, capsys):
    assert evaluate("policies_of_a_user:rest", "--name", "mine") == 0
    assert evaluate("policies_of_a_user:swing", "--name", "mine") == 2
    told = capsys.readouterr().err
    assert "holds 'mine' already, another policy (policies_of_a_user:rest" in told
    assert "--run-seed" in told
    assert "--overwrite" in told
    assert evaluate("policies_of_a_user:swing", "--name", "mine", "--run-seed", "1") == 0
    assert evaluate("model.zip", "--name", "mine 2") == 0
    names = {run.identity[2:] for run in read_runs("runs").runs}
    assert names == {("mine", 0), ("mine", 1), ("mine 2", 0)}
    # Replacing it takes away what was another policy's.
    first = here / "runs" / folder_name("Pendulum-v1", "mine", 0)
    (first / "evaluation-old.csv").write_text("perturbation,level,episode,return,length\n")
    (first / "notes.txt").write_text("mine")
    assert evaluate("model.zip", "--name", "mine", "--overwrite") == 0
    assert {file.name for file in first.iterdir()} == {
        *("run.json", "config.yaml", "policy.safetensors", "notes.txt"),
        *("evaluation-small.csv", "evaluation-small.json"),
    }
    assert read_run(first).info["foreign"]["policy"] == "model.zip"


def test_a_saved_model_is_a_run_like_any_other(here, capsys):
    assert evaluate("model.zip", "--name", "TD3, elsewhere") == 0
    (folder,) = (here / "runs").iterdir()
    first = EvaluationTable.from_csv(folder / "evaluation-small.csv")
    options = ["--episodes", "2", "--suite", "small.yaml", "--jobs", "1", "--overwrite"]
    assert main(["evaluate", "runs", *options]) == 0
    again = EvaluationTable.from_csv(folder / "evaluation-small.csv")
    np.testing.assert_array_equal(first.returns, again.returns)
    assert again.info["random_return"] == first.info["random_return"]
    assert main(["export", str(folder), "--out", "policy.npz"]) == 0
    assert "TD3 or DDPG of Stable-Baselines3, weights only" in (folder / "run.json").read_text()


def test_a_folder_that_names_a_function_is_trusted_by_name_alone(here, capsys):
    assert evaluate("policies_of_a_user:swing") == 0
    (folder,) = (here / "runs").iterdir()
    options = ["--episodes", "1", "--suite", "quick", "--jobs", "1"]
    assert main(["evaluate", "runs", *options]) == 2
    assert "--trust policies_of_a_user:swing" in capsys.readouterr().err
    assert main(["evaluate", "runs", *options, "--trust", "policies_of_a_user:swing"]) == 0
    assert (folder / "evaluation-quick.csv").is_file()
    # What is there needs no trust.
    assert main(["evaluate", "runs", *options]) == 0
    assert main(["stress", str(folder), "--budget", "10"]) == 2
    assert "--trust policies_of_a_user:swing" in capsys.readouterr().err


def test_a_training_of_either_form_may_follow(here):
    from drspcrl.runfolder.runs import check_uncertainty

    assert evaluate("policies_of_a_user:rest") == 0
    for form in ("worlds", "transitions"):
        check_uncertainty("runs", form)


@pytest.mark.parametrize(
    ("policy", "options", "why"),
    [
        ("nothing", [], "give last or best for runs, or a policy from elsewhere"),
        ("no.zip", [], "there is no file no.zip"),
        ("policies_of_a_user:jump", [], "module policies_of_a_user has no jump"),
        ("policies_of_nobody:act", [], "there is none on the Python path and the working directo"),
        ("policies_of_a_user:strong", [], "action component 0 is 3, which is out of range"),
        ("model.zip", ["--env", "Hopper"], "gives 1 action, and the task takes an action of shap"),
        ("model.zip", ["--env", "Hoper"], "Hoper"),
        ("model.zip", ["--name", "vanilla"], "what reports call a method of this library"),
        ("model.zip", ["--name", "self-paced"], "what reports call a method of this library"),
        ("model.zip", ["--name", "fixed:pacing=1"], "what reports call a method of this library"),
        ("model.zip", ["--name", "a\nb"], "give letters, digits and the like on one line"),
        ("model.zip", ["--name", "x" * 61], "has 61 characters; give at most 60"),
        ("model.zip", ["--stochastic"], "of model.zip the mean action alone is read"),
        ("model.zip", ["--run-seed", "-1"], "give a whole number, at least 0"),
        ("model.zip", ["--suite", "none"], "none"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(here, policy, options, why, capsys):
    assert evaluate(policy, *options) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("drspcrl: error: ")
    assert why in told
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "nothing is given; give a folder with runs alone, or --policy"),
        (["runs", "--name", "mine"], "--name is for a policy from elsewhere"),
        (["--policy", "model.zip", "--out", "runs"], "nothing tells the task; say it with --env"),
        (["--policy", "model.zip", "--env", "Pendulum-v1"], "as --out"),
        (["runs", "--policy", "model.zip", "--env", "Pendulum-v1"], "is to join as --out"),
        (["model.zip"], "model.zip is a file; give a run folder or a folder with runs (a policy"),
    ],
)
def test_what_is_missing_is_said(here, arguments, why, capsys):
    assert main(["evaluate", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_names_are_made_safe_and_stay_distinct(here):
    names = ["my policy", "my_policy", "my/policy", "../up", "ünder", "=1+1"]
    folders = [folder_name("Pendulum-v1", name, 0) for name in names]
    assert len(set(folders)) == len(names)
    assert not any(set("/ =\\") & set(folder) for folder in folders)
    suite = here / "small.yaml"
    result = evaluate_foreign(
        lambda o: np.zeros((len(o), 1)), "Pendulum-v1", "runs", name="../up", suite=suite,
        episodes=1, threads=1, show=None,
    )  # fmt: skip
    assert result.path.parent == Path("runs")
    assert result.path.is_dir()
    # Nothing tells two functions of Python apart, so none is taken for the other.
    with pytest.raises(ValueError, match="already, another policy"):
        evaluate_foreign(
            lambda o: np.ones((len(o), 1)), "Pendulum-v1", "runs", name="../up", suite=suite,
            episodes=1, threads=1, show=None,
        )  # fmt: skip


def test_somebody_elses_folder_is_left_alone(here, capsys):
    folder = here / "runs" / folder_name("Pendulum-v1", "model", 0)
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    assert evaluate("model.zip") == 2
    assert "is there and is no run folder" in capsys.readouterr().err
    told = {"format_version": 1, "env": "Pendulum-v1", "algorithm": "sac", "method": "model"}
    (folder / "run.json").write_text(json.dumps(told))
    assert evaluate("model.zip", "--overwrite") == 2
    assert "holds a run that was trained" in capsys.readouterr().err


def test_the_papers_tasks_have_one_name_and_no_random_play(here):
    from drspcrl.evaluation.random_return import random_return

    assert random_return("Hopper", 2) is None
    result = evaluate_foreign(
        lambda o: np.zeros((len(o), 3)), "Hopper-v5",
        "runs", name="still", suite=here / "small.yaml", episodes=1, threads=1, show=None,
    )  # fmt: skip
    assert read_run(result.path).environment == "Hopper"
    assert result.table is not None
    assert "random_return" not in result.table.info


def test_random_actions_that_cannot_be_played_are_a_reason():
    import gymnasium

    from drspcrl.evaluation.random_return import random_return

    class Fragile(gymnasium.Wrapper):
        def step(self, action):
            if abs(action[0]) > 1.9:
                raise RuntimeError("the rod broke")
            return super().step(action)

    found = random_return(lambda: Fragile(gymnasium.make("Pendulum-v1")), 1, threads=1)
    assert found is not None
    assert "the rod broke" in found.pop("undefined")
    assert not found
