"""`drspcrl stress`, from its arguments to its files."""

import json

import pytest
import sb3_files
import spiral
import yaml
from hopper_runs import make_run

from drspcrl.cli import main

OWN = ["--policy", "spiral:act", "--env", "spiral:Spiral", "--limit", "0", "--episodes", "1"]


@pytest.fixture
def worlds(tmp_path):
    path = tmp_path / "worlds.yaml"
    path.write_text(yaml.safe_dump(spiral.WORLDS))
    return path


def run(*arguments) -> int:
    return main(["stress", *map(str, arguments)])


def test_a_foreign_policy_on_an_own_environment(worlds, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [*OWN, "--worlds", worlds, "--budget", 320, "--out", out, "--plot"]
    assert run(*arguments, "--parameters", "gain", "twist", "--within", 1.5) == 0
    printed = capsys.readouterr()
    assert "nearest failing world: 3.2" in printed.out or "world: 3.3" in printed.out
    assert "worst within 1.5" in printed.out
    assert "320 of 320 episodes" in printed.err
    assert json.loads((out / "stress.json").read_text())["policy"] == {"name": "spiral:act"}
    names = {"stress.json", "stress-state.json", "stress.png", "stress.svg"}
    assert {path.name for path in out.iterdir()} == names


def test_a_saved_model_goes_through_the_same_door(tmp_path, capsys):
    path = sb3_files.save_model(tmp_path / "model.zip", sb3_files.ppo(11, 3))
    options = ["--env", "Hopper", "--parameters", "gravity", "--budget", 300, "--episodes", 1]
    out = tmp_path / "out"
    assert run("--policy", path, *options, "--steps", 5, "--threads", 1, "--out", out) == 0
    assert json.loads((out / "stress.json").read_text())["policy"] == {"name": "model.zip"}
    capsys.readouterr()
    (tmp_path / "vn.pkl").write_bytes(b"")
    assert run("--policy", path, *options, "--normalizer", tmp_path / "vn.pkl") == 2
    assert "is a pickle, which runs code" in capsys.readouterr().err


def test_a_run_folder_keeps_its_result(tmp_path, capsys):
    folder = make_run(tmp_path, 0)
    options = ["--parameters", "gravity", "--budget", 300, "--episodes", 1, "--steps", 5]
    assert run(folder, *options, "--threads", 1) == 0
    content = json.loads((folder / "stress.json").read_text())
    assert content["env"] == "Hopper"
    assert len(content["policy"]["sha256"]) == 64
    assert content["alone"][0]["name"] == "gravity"
    assert content["alone"][0]["nominal"] == pytest.approx(-9.81, rel=0.01)
    assert "× nominal" in capsys.readouterr().out
    # The worlds of its training, where it says so.
    config = json.loads((folder / "config.yaml").read_text())
    config["worlds"] = {"physics": {"gravity": 0.4}, "sensor": 0, "actuator": 0}
    (folder / "config.yaml").write_text(json.dumps(config))
    assert run(folder, *options, "--overwrite", "--threads", 1) == 0
    content = json.loads((folder / "stress.json").read_text())
    assert content["alone"][0]["tolerance"] == 0.4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a run folder or --policy module:function (with --env), not neither"),
        (["--policy", "spiral:act"], "nothing tells the task; say it with --env"),
        (["--policy", "spiral", "--env", "Hopper"], "give module:function"),
        (["nowhere"], "nowhere does not exist; give a run folder"),
        ([*OWN, "--parameters"], "parameters is (); name at least one of gain, twist"),
        ([*OWN, "--parameters", "wings"], "parameter 'wings' is not in this task; choose from"),
        ([*OWN, "--budget", "3"], "a budget of 3 episodes is too small for one generation"),
        ([*OWN[:4], "--limit", "1.5"], "limit is 1.5; give the share of the nominal return"),
        ([*OWN, "--shape", "cube"], "--shape"),
        ([*OWN, "--worlds", "no.yaml"], "worlds file no.yaml is no file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(
    arguments, message, capsys, tmp_path, monkeypatch, worlds
):
    monkeypatch.chdir(tmp_path)
    if "--policy" in arguments and "--worlds" not in arguments:
        arguments = [*arguments, "--worlds", worlds]
    assert run(*arguments) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("drspcrl: error: ")
    assert printed.count("\n") == 1
    assert message in printed
    assert not (tmp_path / "stress-output").exists()


def test_a_run_that_names_code_is_not_trusted(tmp_path, capsys):
    folder = make_run(tmp_path, 0, env="spiral:Spiral")
    assert run(folder) == 2
    assert "--trust spiral:Spiral" in capsys.readouterr().err


def test_one_run_is_taken_and_several_are_listed(tmp_path, capsys):
    make_run(tmp_path, 0)
    (tmp_path / "Hopper-sac-vanilla-s0" / "policy.safetensors").unlink()
    assert run(tmp_path) == 2
    assert "Hopper-sac-vanilla-s0 holds no policy; give a run" in capsys.readouterr().err
    make_run(tmp_path, 1)
    assert run(tmp_path) == 2
    printed = capsys.readouterr().err
    assert "holds 2 runs; give one of them: " in printed
    assert "Hopper-sac-vanilla-s0, " in printed


def test_a_question_that_fails_in_the_simulator_can_be_corrected(worlds, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--worlds", worlds, "--parameters", "gain", "twist", "--budget", 320, "--out", out]
    assert run(*OWN, *options, "--least", 39) == 2
    assert "fails in the simulator as it is" in capsys.readouterr().err
    assert run(*OWN, *options, "--least", 0) == 0


def test_what_leads_out_of_a_run_folder_is_refused(tmp_path, capsys):
    folder = make_run(tmp_path, 0)
    config = json.loads((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(json.dumps(config | {"worlds": "/etc/hostname"}))
    assert run(folder) == 2
    assert "config.yaml has the worlds '/etc/hostname'" in capsys.readouterr().err
    (folder / "config.yaml").write_text(json.dumps(config))
    policy = folder / "policy.safetensors"
    policy.rename(tmp_path / "elsewhere")
    policy.symlink_to(tmp_path / "elsewhere")
    assert run(folder) == 2
    assert "policy.safetensors is a symbolic link" in capsys.readouterr().err


def test_a_policy_that_fails_is_told_as_one(worlds, tmp_path, monkeypatch, capsys):
    (tmp_path / "failing.py").write_text(
        "def end(observations):\n    raise SystemExit(0)\n"
        "def fail(observations):\n    raise KeyError('mine')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name, code, told in (
        ("end", 2, "the policy ended the program with SystemExit(0)"),
        ("fail", 1, "KeyError: 'mine' The policy was asked for an action in the world of the"),
    ):
        options = ["--policy", f"failing:{name}", "--env", "spiral:Spiral", "--budget", 320]
        options += ["--worlds", worlds, "--out", tmp_path / name]
        assert run(*options, "--episodes", 1, "--parameters", "gain", "twist") == code
        assert told in capsys.readouterr().err


def test_names_are_printed_and_drawn_as_they_are(tmp_path, capsys):
    name = "[red]$\\frac{\x1b[31m"
    parameters = [{"name": name, "nominal": 1.0, "tolerance": 0.5}]
    worlds = {"sensor": 0, "actuator": 0, "parameters": parameters}
    (tmp_path / "worlds.yaml").write_text(json.dumps(worlds))
    out = tmp_path / "\x1b[31mout"
    arguments = [*OWN, "--worlds", tmp_path / "worlds.yaml", "--budget", 320, "--out", out]
    assert run(*arguments, "--plot") == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "[red]$\\frac{\\x1b[31m" in printed.out
