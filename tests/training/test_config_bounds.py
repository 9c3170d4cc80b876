"""Values that nobody means: refused at once, and told in a short line."""

import io
from pathlib import Path

import pytest

from drspcrl import display
from drspcrl.errors import InputError
from drspcrl.training import TrainConfig
from drspcrl.training.telemetry import TrainProgress

BOMB = [["x" * 1000] * 1000] * 1000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": ""}, "out is empty"),
        ({"out": " "}, "out is empty"),
        ({"out": 3}, "out is 3; give a folder"),
        ({"out": "a\0b"}, "a folder's name has no null byte"),
        ({"evaluate_episodes": 10**25}, "give at most 1,000,000"),
        ({"evaluate_episodes": 10**5000}, "a whole number of 5001 digits; give at most"),
        ({"steps": -(10**5000)}, "steps is a whole number of 5001 digits"),
        ({"seeds": (10**5000,)}, "seed is a whole number of 5001 digits"),
        ({"settings": BOMB}, "settings are"),
        ({"settings": {"hidden": BOMB}}, "hidden is"),
        ({"settings": {"hidden": [2] * 9000}}, "hidden has 9,000 layers; give at most 32"),
        ({"settings": {"critic_lr": BOMB}}, "critic_lr is"),
        ({"settings": {"x" * 10**6: 1}}, "has no setting"),
        ({"methods": (BOMB,)}, "method is"),
        ({"time_limit": BOMB}, "time_limit is"),
        ({"device": "\x1b[31m"}, r"device is '\\x1b\[31m'"),
    ],
)
def test_refused_in_a_short_line(changes, message):
    given = {"env": "Pendulum-v1", "algorithm": "sac", "out": Path("runs"), "steps": 1000}
    with pytest.raises(InputError, match=message) as refused:
        TrainConfig(**(given | changes))
    assert len(str(refused.value)) < 2500


def test_a_runs_file_does_not_lead_to_another(tmp_path):
    config = TrainConfig("Pendulum-v1", "sac", out=tmp_path, steps=1000)
    described = config.describe(config.members[0])
    assert TrainConfig.of_run(described, tmp_path).declared == config.declared
    with pytest.raises(InputError, match=r"config\.yaml has the worlds '/etc/hostname'"):
        TrainConfig.of_run(described | {"worlds": "/etc/hostname"}, tmp_path)


@pytest.mark.parametrize("terminal", [False, True])
def test_the_name_of_a_method_is_no_markup(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    console = display.literal_console()
    console.file, console._force_terminal = io.StringIO(), terminal
    with TrainProgress(["mine[/b]:X\x1b[2J", "[red]red:X"], 64, console) as progress:
        row = {"step": 64, "episode_return": 1.0, "steps_per_second": 1.0}
        progress.show([row, row])
    told = console.file.getvalue()
    assert r"mine[/b]:X\x1b[2J" in told
    assert "[red]red:X" in told


def test_progress_says_how_long_it_takes_without_what_compiling_took():
    console = display.literal_console()
    console.file = io.StringIO()
    clock = iter([100.0, 110.0, 120.0])
    with TrainProgress(["sac"], 4000, console) as progress:
        progress._pace = display.Pace(4000, now=lambda: next(clock))
        progress._shown = -1e9
        for step in (1000, 2000, 4000):
            progress.show([{"step": step, "episode_return": 1.0}])
            progress._shown = -1e9
    lines = console.file.getvalue().splitlines()
    assert [line.rpartition("left ")[2] for line in lines] == ["–", "0:20", "done"]
