"""The command line of training: settings are read, and mistakes are one line."""

import pytest

from drspcrl.cli import main
from drspcrl.cli.train import Train, parse_settings
from drspcrl.errors import InputError
from drspcrl.runfolder.runs import read_runs


def test_settings_are_read_as_numbers_and_lists():
    given = parse_settings(["critic_lr=3e-4", "hidden=[64, 64]", "batch_size=128", "tau=0.01"])
    assert given == {"critic_lr": 3e-4, "hidden": [64, 64], "batch_size": 128, "tau": 0.01}
    assert type(given["batch_size"]) is int


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (("critic_lr",), "is not name=value"),
        (("=3",), "is not name=value"),
        (("a=1", "a=2"), "given twice"),
        (("a=[1",), "no readable value"),
        (("a=!!python/object/apply:os.getcwd []",), "no readable value"),
    ],
)
def test_unreadable_settings(pairs, message):
    with pytest.raises(InputError, match=message):
        parse_settings(list(pairs))


def test_options_from_the_command_line():
    tyro = pytest.importorskip("tyro")
    line = "--env Hopper --algorithm sac --methods vanilla --seeds 0 1 2 --steps 1000 --out runs"
    command = tyro.cli(Train, args=[*line.split(), "--set", "tau=0.01", "batch_size=64"])
    assert (command.seeds, command.steps, command.methods) == ((0, 1, 2), 1000, ("vanilla",))
    assert command.settings == {"tau": 0.01, "batch_size": 64}


def test_uncertainty_from_the_command_line(tmp_path, capsys):
    tyro = pytest.importorskip("tyro")
    line = "--env Hopper --algorithm sac --out runs --methods self_paced"
    assert tyro.cli(Train, args=line.split()).uncertainty == "worlds"
    given = [*line.split(), "--uncertainty", "transitions", "--set", "draws=4"]
    assert tyro.cli(Train, args=given).resolved.flat()["draws"] == 4
    file = tmp_path / "tank.yaml"
    file.write_text("sensor: 0.1\n")
    made = tyro.cli(Train, args=[*line.split(), "--worlds", str(file)])
    assert made.declared.sensor == 0.1
    assert made.worlds_file["path"] == str(file)
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = capsys.readouterr().out
    assert "--uncertainty {worlds,transitions}" in said
    assert "--worlds {None}|PATH" in said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--uncertainty balls", "Expected one of ('worlds', 'transitions')"),
        ("--uncertainty transitions --worlds tank.yaml", "leave out one of the two"),
        ("--worlds tank.yaml", "worlds file tank.yaml is no file"),
        ("--set draws=4", "'draws' is about noise in every transition"),
        ("--methods nominal", "use probes_only"),
    ],
)
def test_uncertainty_that_does_not_fit(more, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = f"train --env Hopper --algorithm sac --out runs {more}"
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("9m", 540), ("1h30m", 5400), ("1.5h", 5400), ("1m5", 65)],
)
def test_durations(text, seconds):
    tyro = pytest.importorskip("tyro")
    line = "--env Hopper --algorithm sac --out runs --time-limit"
    assert tyro.cli(Train, args=[*line.split(), text]).time_limit == seconds


@pytest.mark.parametrize("text", ["9q", "", "m", "-3", "0", "nan", "1m1h", "1..5s", "1e400", "inf"])
def test_durations_that_are_none(text, capsys):
    line = "train --env Hopper --algorithm sac --out runs"
    assert main([*line.split(), f"--time-limit={text}"]) == 2
    assert "give seconds above 0 or a text such as 90s, 9m" in capsys.readouterr().err


def test_a_run_from_the_command(tmp_path, capsys):
    Train(
        env="Pendulum-v1",
        algorithm="ppo",
        out=tmp_path,
        steps=64,
        settings={"rollout_size": 64, "minibatches": 2, "epochs": 1, "hidden": [8]},
    ).run()
    (run,) = read_runs(tmp_path).runs
    assert run.status == "finished"
    assert str(run.path) in capsys.readouterr().out


def test_unknown_method_is_refused(tmp_path):
    with pytest.raises(InputError, match="method is 'magic'"):
        Train(env="Hopper", algorithm="sac", out=tmp_path, methods=("magic",)).run()
    assert not list(tmp_path.iterdir())
