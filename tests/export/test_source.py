"""What is exported, and what is told about it."""

import json
import sys

import numpy as np
import pytest

from drspcrl.envs import make
from drspcrl.envs.described import Description, describe
from drspcrl.errors import InputError
from drspcrl.export import export, read_source
from drspcrl.policy import save_policy

from .conftest import ACTIONS, OBSERVATIONS, made


def test_metadata_of_a_run(write_run):
    told = read_source(write_run(made("sac"))).metadata
    names = ("task", "algorithm", "method", "seed", "steps", "control_period")
    expected = ["HalfCheetah", "sac", "self_paced", 0, 1000, 0.05]
    assert [told[name] for name in names] == expected
    # qpos without rootx, then qvel: half_cheetah.xml lists its joints in this order.
    assert len(told["observation_names"]) == OBSERVATIONS
    assert told["observation_names"][:3] == [
        "position of rootz", "position of rooty", "position of bthigh",
    ]  # fmt: skip
    assert told["observation_names"][8] == "speed of rootx"
    assert told["action_names"] == ["bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"]
    np.testing.assert_allclose(told["action_high"], np.linspace(0.4, 0.9, ACTIONS), rtol=1e-6)
    assert told["training"] == {
        "uncertainty": "transitions",
        "radius": 0.25,
        "settings": {"nominal": "noise", "sensor": 0.2, "divergence": "kl"},
    }


def test_training_worlds_are_told_as_config_has_them(write_run):
    worlds = {"mass": [0.3, "relative"], "radius": 1.0}
    settings = {"epsilon_budget": 0.5}
    folder = write_run(made("sac"), uncertainty="worlds", worlds=worlds, settings=settings)
    assert read_source(folder).metadata["training"] == {
        "uncertainty": "worlds",
        "worlds": worlds,
        "radius": 0.25,
        "radius_budget": 0.5,
        "settings": settings,
    }


def test_a_plain_run_was_trained_in_no_worlds(write_run):
    """Though its config.yaml declares those of the robust runs beside it."""
    changes = {"method": "vanilla", "uncertainty": "worlds", "worlds": {"physics": {"mass": 0.2}}}
    training = read_source(write_run(made("ppo"), **changes)).metadata["training"]
    assert (training["uncertainty"], training["radius"]) == ("none", 0.0)
    assert "worlds" not in training


@pytest.mark.parametrize("task", ["Hopper", "Walker2d", "Humanoid", "Ant-v5"])
def test_every_number_of_a_mujoco_task_has_a_name_of_its_own(task, capfd):
    env = make(task)  # Humanoid's model has a deprecated setting, which MuJoCo reports
    capfd.readouterr()
    told = describe(task)
    assert capfd.readouterr().err == ""
    for names, space in (
        (told.observation_names, env.observation_space),
        (told.action_names, env.action_space),
    ):
        assert names is not None
        assert (len(set(names)),) == (len(names),) == space.shape
    assert told.control_period == env.physics.step_seconds


def test_a_task_without_mujoco_tells_its_period_alone():
    assert describe("Pendulum-v1") == Description(control_period=0.05)
    with pytest.raises(InputError, match="'Nonsense-v0' is unknown"):
        describe("Nonsense-v0")
    assert describe("probe/noise") == Description()


def test_a_function_of_ones_own_is_described_and_its_errors_are_told(tmp_path, monkeypatch):
    (tmp_path / "own_maker.py").write_text(
        "import gymnasium\n"
        "def make():\n    return gymnasium.make('Pendulum-v1')\n"
        "def leave():\n    raise SystemExit(0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert describe("own_maker:make") == Description(control_period=0.05)
    with pytest.raises(InputError, match="'own_maker:leave' cannot be made: SystemExit: 0"):
        describe("own_maker:leave")


def test_a_link_in_a_run_is_not_followed_but_the_one_that_is_named(write_run, tmp_path):
    folder = write_run(made("sac"))
    (tmp_path / "named").symlink_to(folder)
    assert read_source(tmp_path / "named").metadata["task"] == "HalfCheetah"
    policy = folder / "policy.safetensors"
    policy.rename(tmp_path / "secret")
    policy.symlink_to(tmp_path / "secret")
    for path in (folder, folder.parent, tmp_path / "named"):
        with pytest.raises(InputError, match="is a symbolic link"):
            read_source(path)
    policy.unlink()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "secret").rename(tmp_path / "elsewhere" / "policy.safetensors")
    with pytest.raises(InputError, match="is a symbolic link"):
        read_source(folder.parent)


def test_a_file_outside_of_a_run_is_exported_with_a_note(tmp_path):
    save_policy(tmp_path / "mine.safetensors", made("ppo"))
    source = read_source(tmp_path / "mine.safetensors")
    assert "task" not in source.metadata
    assert "no run folder" in source.notes[0]


def test_another_policy_of_a_run(write_run):
    folder = write_run(made("sac"))
    save_policy(folder / "policy-best.safetensors", made("sac", seed=5))
    source = read_source(folder / "policy-best.safetensors")
    assert source.metadata["task"] == "HalfCheetah"
    np.testing.assert_array_equal(source.policy.layers[0][0], made("sac", seed=5).layers[0][0])


def test_several_runs_are_listed_and_a_single_one_is_found(write_run):
    folder = write_run(made("sac"))
    assert read_source(folder.parent).metadata["task"] == "HalfCheetah"
    other = write_run(made("sac"), "HalfCheetah-sac-vanilla-s0")
    with pytest.raises(InputError, match=rf"2 runs; give one of them: {folder}, {other}"):
        read_source(folder.parent)


def test_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="at or below"):
        read_source(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_source(tmp_path / "nothing")


def test_a_module_is_imported_only_if_it_is_trusted(write_run, tmp_path, monkeypatch):
    (tmp_path / "own_task.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Own-v0', 'gymnasium.envs.mujoco.half_cheetah_v5:HalfCheetahEnv')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    folder = write_run(made("sac"), env="own_task:Own-v0")
    source = read_source(folder)
    assert "own_task" not in sys.modules
    assert "control_period" not in source.metadata
    assert "--trust own_task:Own-v0" in source.notes[0]
    trusted = read_source(folder, trust=("own_task:Own-v0",))
    assert trusted.metadata["control_period"] == 0.05
    assert trusted.notes == ()


def test_metadata_are_plain_and_bounded(write_run):
    settings = {"a\x1b[31m": "b\n" * 2000, "c": [float("inf"), None, True]}
    folder = write_run(made("sac"), settings=settings, method="\x1b[31m")
    (folder / "config.yaml").write_text(
        json.dumps({"settings": settings}).replace("Infinity", ".inf")
    )
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(run | {"method": "\ud800\x1b[31m"}))
    told = read_source(folder).metadata
    assert json.dumps(told, allow_nan=False, ensure_ascii=False).encode()
    assert told["method"] == "  [31m"
    (key, text), (_, rest) = told["training"]["settings"].items()
    assert key == "a [31m"
    assert len(text) == 1000
    assert text.isprintable()
    assert rest == ["inf", None, True]


def test_aliases_that_unfold_without_end_are_refused(write_run):
    folder = write_run(made("sac"))
    lines = ["env: HalfCheetah", "worlds0: &w0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"worlds{k}: &w{k} [{', '.join([f'*w{k - 1}'] * 9)}]" for k in range(1, 8)]
    (folder / "config.yaml").write_text("\n".join([*lines, "worlds: *w7"]))
    with pytest.raises(InputError, match="unfolds to more than"):
        read_source(folder)


def test_where_it_is_written(write_run, tmp_path):
    source = read_source(write_run(made("sac", width=8)))
    with pytest.raises(InputError, match=r"must end in \.onnx, \.h, \.npz"):
        export(source, tmp_path / "policy.pt")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        export(source, tmp_path / "folder.npz")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export(source, tmp_path / "file" / "policy.npz")
    for out in ("new/policy.npz", "new/policy.h", "new/policy.h"):
        assert export(source, tmp_path / out).path == tmp_path / out
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["policy.h", "policy.npz"]
    first = (tmp_path / "new/policy.npz").read_bytes()
    export(source, tmp_path / "new/policy.npz")
    assert (tmp_path / "new/policy.npz").read_bytes() == first
