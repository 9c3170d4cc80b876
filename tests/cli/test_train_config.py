"""`--config FILE`, and every number in the help of `train` and on its page."""

import pytest
import yaml

import settings_page
from drspcrl.cli import main
from drspcrl.cli.train import from_file
from drspcrl.config.transitions import NOMINAL_MODELS
from drspcrl.curricula.registry import METHODS
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.learners.registry import LEARNERS
from drspcrl.runfolder.runs import read_config, read_run
from drspcrl.training.settings import specs_of

TINY = ["hidden=[8]", "rollout_size=64", "minibatches=2", "epochs=1", "learning_rate=1e-3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("config")
    line = ["train", "--env", "Pendulum-v1", "--algorithm", "ppo", "--steps", "64", "--seeds", "7"]
    assert main([*line, "--out", str(out), "--no-tensorboard", "--set", *TINY]) == 0
    return out / "Pendulum-v1-ppo-vanilla-s7"


def test_a_runs_file_trains_the_same_again(run, tmp_path):
    config = str(run / "config.yaml")
    assert main(["train", "--config", config, "--out", str(tmp_path)]) == 0
    again = tmp_path / run.name
    assert (again / "policy.safetensors").read_bytes() == (run / "policy.safetensors").read_bytes()
    assert read_config(again)["settings"] == read_config(run)["settings"]


def test_options_go_before_the_file(run, tmp_path):
    given = ["--config", str(run / "config.yaml"), "--out", str(tmp_path), "--seeds", "8", "9"]
    made = from_file([*given, "--set", "clip=0.3"])
    assert (made.env, made.seeds, made.steps) == ("Pendulum-v1", (8, 9), 64)
    numbers = made.resolved.flat()
    assert (numbers["clip"], numbers["hidden"], numbers["epochs"]) == (0.3, [8], 1)
    assert read_run(run).config["settings"]["clip"] == 0.2


def test_a_file_written_by_hand(tmp_path):
    mine = {"env": "Hopper", "algorithm": "sac", "methods": ["vanilla", "self_paced"], "seeds": 3}
    mine |= {"settings": {"tau": 0.01}, "worlds": {"sensor": 0.3}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    made = from_file([f"--config={tmp_path / 'mine.yaml'}", "--out", "runs"])
    assert (made.methods, made.seeds) == (("vanilla", "self_paced"), (3,))
    assert made.resolved.flat()["tau"] == 0.01
    assert made.declared is not None
    assert made.declared.sensor == 0.3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("env: Hopper\nalgorithm: sac\n", "says nothing of out; give --out"),
        (
            "env: Hopper\nlearner: sac\n",
            "has learner, which no training has; it may",
        ),
        ("- Hopper\n", r"has \['Hopper'\], which no training has"),
        ("env: [\n", "is not valid YAML"),
        ("env: Hopper\nalgorithm: sac\nout: runs\nsteps: many\n", "steps is 'many'; give a whole"),
    ],
)
def test_wrong_files(text, told, tmp_path):
    (tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(InputError, match=told):
        from_file(["--config", str(tmp_path / "wrong.yaml")])


def test_a_missing_file():
    with pytest.raises(InputError, match="cannot be read"):
        from_file(["--config", "nowhere.yaml"])
    with pytest.raises(InputError, match="needs a file"):
        from_file(["--out", "runs", "--config"])


@pytest.mark.parametrize("algorithm", ["ppo", "td3"])
def test_help_shows_every_number(algorithm, capsys):
    with pytest.raises(SystemExit):
        main(["train", "--algorithm", algorithm, "--help"])
    out = capsys.readouterr().out
    assert "--checkpoint-every" in out
    for form in ("worlds", "transitions"):
        for name in specs_of(algorithm, form):
            assert f"  {name} = " in out
    assert ("  trace = " in out) == (algorithm == "ppo")
    for parts in (LEARNERS, METHODS, DIVERGENCES, NOMINAL_MODELS):
        for name, entry in parts.items():
            assert f"  {name}: {entry.help}\n" in out


def test_the_page_is_what_the_components_say():
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), (
        "run python scripts/settings_page.py"
    )


@pytest.mark.parametrize(
    ("change", "typed"),
    [
        # What makes the environment and the ball is imported when the training begins.
        ({"env": "trap:make"}, ["--env", "trap:make"]),
        ({"algorithm": "trap:Mine"}, ["--algorithm", "trap:Mine"]),
        ({"methods": ["fixed", "trap:Mine:rate=1"]}, ["--methods", "trap:Mine:rate=1"]),
        ({"method": "trap:Mine"}, ["--methods", "trap:Mine"]),
        ({"settings": {"divergence": "trap:Mine"}}, ["--set", "divergence=trap:Mine"]),
    ],
)
def test_code_that_a_file_names_is_imported_only_where_it_is_typed_too(
    change, typed, tmp_path, monkeypatch
):
    (tmp_path / "trap.py").write_text("raise RuntimeError('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    given = {"env": "probe/noise", "algorithm": "ppo", "out": str(tmp_path / "runs")} | change
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump(given))
    line = ["--config", str(tmp_path / "theirs.yaml")]
    with pytest.raises(InputError, match=r"names 'trap:.*, whose module would be imported"):
        from_file(line)
    if "env" in change or "settings" in change:
        assert from_file([*line, *typed]).env == change.get("env", "probe/noise")
        return
    with pytest.raises(InputError, match="it was imported"):
        from_file([*line, *typed])
