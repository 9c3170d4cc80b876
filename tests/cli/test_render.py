"""`drspcrl render`: what its arguments mean; tests/video has the clips."""

import json

import pytest
import sb3_files
from hopper_runs import hopper_policy

from drspcrl.cli import main
from drspcrl.cli.render import names_of, setting
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.policy import save_policy


def scale(parameter: str, factor: float) -> Perturbation:
    return Perturbation("scale", factor, {"parameter": parameter})


def test_worlds_are_inside_of_what_goes_wrong_in_them():
    assert setting(("mass:torso=1.5", "friction=0.5,gravity=1.2"), ("action=0.3", "push=0.1")) == (
        scale("mass:torso", 1.5), scale("friction", 0.5), scale("gravity", 1.2),
        Perturbation("action", 0.3), Perturbation("push", 0.1),
    )  # fmt: skip
    assert setting((), ("none",)) == ()


@pytest.mark.parametrize(
    ("world", "perturb", "message"),
    [
        (("mass",), (), "--world 'mass' is not understood"),
        (("mass=heavy",), (), "e.g. mass:torso=1.5"),
        (("mass=nan",), (), "not understood"),
        (("mass=0",), (), "physics scale level is 0"),
        ((), ("actoin=0.3",), "perturbation is 'actoin'; choose one of action, observation"),
        ((), ("action=2",), "between 0 and 1"),
    ],
)
def test_what_is_not_understood(world, perturb, message):
    with pytest.raises(InputError, match=message):
        setting(world, perturb)


def test_names_tell_policies_apart(tmp_path):
    usual = "policy.safetensors"
    files = [tmp_path / name / usual for name in ("a/Hopper-s0", "b/Hopper-s0", "b/Hopper-s1")]
    assert names_of(files[1:]) == ["Hopper-s0", "Hopper-s1"]
    assert names_of(files) == ["a/Hopper-s0", "b/Hopper-s0", "b/Hopper-s1"]
    best = tmp_path / "b/Hopper-s1/policy-best.safetensors"
    assert names_of([files[2], best]) == ["Hopper-s1", "Hopper-s1/policy-best.safetensors"]
    with pytest.raises(InputError, match="given twice"):
        names_of([files[0], files[0]])


def write_run(folder, env: str):
    folder.mkdir()
    told = {"env": env, "algorithm": "sac", "method": "vanilla", "seed": 0}
    (folder / "run.json").write_text(json.dumps({"format_version": 1, **told}))
    (folder / "config.yaml").write_text(json.dumps(told))
    (folder / "policy.safetensors").write_bytes(b"")
    return str(folder)


def test_what_to_show_and_which_task(tmp_path, capsys):
    def mistake(*arguments: str) -> str:
        assert main(["render", *arguments, "--out", str(tmp_path / "clip.gif")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    hopper = write_run(tmp_path / "a", "Hopper")
    walker = write_run(tmp_path / "b", "Walker2d")
    assert "nothing to show" in mistake()
    assert "say it with --env" in mistake("--policy", "json:dumps")
    assert f"{hopper}: Hopper, {walker}: Walker2d" in mistake(hopper, walker)
    assert "--env: Walker2d" in mistake(hopper, "--env", "Walker2d")
    assert f"2 runs; give one of them: {hopper}, {walker}" in mistake(str(tmp_path))
    assert "module json has no nothing" in mistake("--policy", "json:nothing", "--env", "Hopper")
    assert "there is none on the Python path" in mistake(
        "--policy", "no_such_module:act", "--env", "Hopper"
    )
    assert "give module:function" in mistake("--policy", "json", "--env", "Hopper")


def test_what_a_run_names_is_imported_only_where_the_user_names_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "trap.py").write_text("raise SystemExit('sprung')")
    monkeypatch.syspath_prepend(tmp_path)
    model = sb3_files.save_model(tmp_path / "model.zip", sb3_files.ppo(11, 3))
    folder = write_run(tmp_path / "a", "trap:make")
    save_policy(tmp_path / "a" / "policy.safetensors", hopper_policy(0))
    out = ["--out", str(tmp_path / "clip.gif")]
    for more in ([], ["--policy", str(model)]):
        assert main(["render", folder, *more, *out]) == 2
        assert "--trust trap:make" in capsys.readouterr().err
