"""The command line of training: settings are read, and mistakes are one line."""

import pytest

from drspcrl.cli import main
from drspcrl.cli.train import Train, parse_settings
from drspcrl.errors import InputError
from drspcrl.runs import read_runs


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
    with pytest.raises(InputError, match="unknown method 'magic'"):
        Train(env="Hopper", algorithm="sac", out=tmp_path, methods=("magic",)).run()
    assert not list(tmp_path.iterdir())
