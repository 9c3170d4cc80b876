"""Training on a user's own environment: what is recorded, resumed and told."""

import io
import os
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import own_environments
import pytest
from rich.console import Console

from drspcrl.errors import InputError
from drspcrl.evaluation import evaluate_runs
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import read_config, read_info, read_run
from drspcrl.training import TrainConfig, resume, train
from drspcrl.training.resuming import populations
from drspcrl.training.stopping import Stop

QUIET = Console(quiet=True)
NAME = "own_environments:make_saved_tank"
STILL_CLOCK = {"steps_per_second"}


def training(small, out, env, **changes) -> TrainConfig:
    given = {"seeds": (3,), "evaluate_every": 0, "tensorboard": False} | changes
    return small("ppo", out, env=env, **given)


def printed(config: TrainConfig) -> tuple[str, tuple[Path, ...]]:
    """What a training prints, and its folders."""
    console = Console(file=io.StringIO(), width=1000)
    folders = train(config, console)
    return console.file.getvalue(), folders  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def stopped(small, tmp_path_factory):
    """A training of a function that stopped after its first rollout."""
    out = tmp_path_factory.mktemp("stopped")
    config = training(small, out, own_environments.make_saved_tank, time_limit=1e-3)
    return train(config, QUIET)[0]


def test_a_function_is_recorded_by_its_name(stopped):
    assert read_config(stopped)["env"] == read_info(stopped)["env"] == NAME
    assert stopped.name == "own_environments_make_saved_tank-ppo-vanilla-s3"
    assert read_info(stopped)["resume"] == "exact"
    assert TrainConfig(own_environments.Tank, "ppo", Path()).env == "own_environments:Tank"


def test_a_function_without_a_name_is_refused():
    with pytest.raises(
        InputError, match=r"env is <function .*<lambda>.*top of a file my_module\.py"
    ):
        TrainConfig(lambda: own_environments.Tank(), "ppo", Path())


def test_a_folder_alone_imports_nothing(stopped):
    for name in ((), ("os:path",), ("own_environments:Tank",)):
        with pytest.raises(InputError, match=f"would be imported.*--trust {NAME}"):
            resume(stopped, console=QUIET, trust=name)
        (result,) = evaluate_runs(stopped, load_policy, episodes=1, show=None, trust=name)
        assert f"--trust {NAME}" in result.reason


def assert_same(straight, resumed) -> None:
    one, two = read_run(straight).metrics, read_run(resumed).metrics
    assert set(one) == set(two)
    for name in one.keys() - STILL_CLOCK:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    file = "policy.safetensors"
    assert (straight / file).read_bytes() == (resumed / file).read_bytes()


@pytest.mark.slow
def test_so_is_one_that_learns_off_policy(small, tmp_path, monkeypatch):
    config = small("sac", tmp_path / "one", env=NAME, seeds=(3,))
    (straight,) = train(config, QUIET)
    with monkeypatch.context() as clock:
        clock.setattr(Stop, "out_of_time", property(lambda self: True))
        pieces = replace(config, out=tmp_path / "two")
        (resumed,) = train(pieces, QUIET)
        for _ in range(3):
            resume(resumed, console=QUIET, trust=(NAME,))
    resume(resumed, console=QUIET, trust=(NAME,))
    assert_same(straight, resumed)


def test_a_saved_environment_is_resumed_bit_for_bit(stopped, small, tmp_path):
    resume(stopped, console=QUIET, trust=(NAME,))
    (straight,) = train(training(small, tmp_path, NAME), QUIET)
    assert_same(straight, stopped)
    (result,) = evaluate_runs(stopped, load_policy, "noise", episodes=1, show=None, trust=(NAME,))
    assert result.table is not None


def test_an_environment_that_learned_to_save_itself_restarts_its_episodes(small, tmp_path):
    kind = type("Late", (own_environments.Tank,), {"__module__": __name__, "__qualname__": "Late"})
    globals()["Late"] = kind
    name = f"{__name__}:Late"
    (folder,) = train(training(small, tmp_path, kind, time_limit=1e-3), QUIET)
    assert read_info(folder)["resume"] == "episode"
    for method in ("get_state", "set_state"):
        setattr(kind, method, getattr(own_environments.SavedTank, method))
    resume(folder, console=QUIET, trust=(name,))
    assert (read_info(folder)["status"], read_info(folder)["resume"]) == ("finished", "exact")


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """A run folder of an id that a module registers, which nobody has imported."""
    (tmp_path / "registers_tank.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Forgotten-v0', entry_point='own_environments:make_tank')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    gymnasium.registry.pop("Forgotten-v0", None)
    sys.modules.pop("registers_tank", None)


def test_what_a_program_registered_is_found_again_by_trust(registered, small, monkeypatch):
    with monkeypatch.context() as program:
        __import__("registers_tank")
        (folder,) = train(training(small, registered / "runs", "Forgotten-v0"), QUIET)
        program.delitem(gymnasium.registry, "Forgotten-v0")
        program.delitem(sys.modules, "registers_tank")
        (result,) = evaluate_runs(folder, load_policy, episodes=1, show=None)
        assert "'Forgotten-v0' is unknown" in result.reason
        assert "--trust my_module:My-v0" in result.reason
        trust = ("registers_tank:Forgotten-v0",)
        (result,) = evaluate_runs(folder, load_policy, episodes=1, show=None, trust=trust)
        assert result.table is not None
    gymnasium.registry.pop("Forgotten-v0", None)
    sys.modules.pop("registers_tank", None)
    populations(folder)
    assert "Forgotten-v0" not in gymnasium.registry
    populations(folder, trust)
    assert "Forgotten-v0" in gymnasium.registry


class Faulty(own_environments.Tank):
    """The fifth of its kind (the first is only looked at) goes wrong in its ninth step."""

    made, taken, value, at = 0, 0, np.nan, 5

    def __init__(self):
        type(self).made += 1
        self.number = self.made

    def step(self, action):
        self.taken += 1
        observation, reward, terminated, truncated, info = super().step(action)
        if self.number == self.at and self.taken >= 9:
            observation[1] = self.value
        return observation, reward, terminated, truncated, info


@pytest.fixture
def faulty(monkeypatch):
    monkeypatch.setattr(Faulty, "made", 0)
    return monkeypatch


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_readings_that_are_no_finite_numbers_stop_their_member(faulty, small, tmp_path, value):
    faulty.setattr(Faulty, "value", value)
    faulty.setattr(Faulty, "at", 7)  # environment 1 of the second member
    said, (good, bad) = printed(training(small, tmp_path, Faulty, seeds=(3, 4)))
    fault = f"its environment 1 gave observation[1] = {value:g} at step 9 of an episode, at step 36"
    assert read_info(bad)["status"] == "diverged"
    assert read_info(bad)["fault"] == fault
    assert f"{bad.name} diverged: {fault}; its last good checkpoint is of step 0" in said
    assert read_info(good)["status"] == "finished"
    assert np.isfinite(read_run(good).metrics["episode_return"]).any()


def test_a_wrong_reading_in_an_evaluation_stops_the_member_too(faulty, small, tmp_path):
    faulty.setattr(Faulty, "at", 7)  # 1 to look, 4 to train, 1 to look: the first that is judged
    changes = {"evaluate_every": 64, "evaluate_episodes": 1, "steps": 128}
    _, (bad,) = printed(training(small, tmp_path, Faulty, **changes))
    fault = read_info(bad)["fault"]
    assert fault == (
        "its environment 0 gave observation[1] = nan at step 9 of an episode, in an evaluation"
    )


class Rude(own_environments.Tank):
    """Does what it is told to in a step."""

    deed, begun = staticmethod(lambda: None), False

    def step(self, action):
        self.begun = True
        self.deed()
        return super().step(action)


def refuse():
    raise PermissionError(13, "Permission denied", "log.txt")


def leave():
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("deed", "told"),
    [(refuse, r"PermissionError: .*log\.txt"), (leave, "SystemExit: 0")],
    ids=["refused", "left"],
)
def test_errors_of_an_environment_are_not_those_of_the_disk_nor_hidden(
    monkeypatch, small, tmp_path, deed, told
):
    monkeypatch.setattr(Rude, "deed", staticmethod(deed))
    monkeypatch.setattr(Rude, "close", lambda self: self.np_random.nothing if self.begun else None)
    with pytest.raises(InputError, match=rf"environment .*Rude \(number 0\) failed in .*{told}"):
        train(training(small, tmp_path, Rude), QUIET)
    (folder,) = tmp_path.iterdir()
    assert read_info(folder)["status"] == "failed"


def test_an_environment_that_changes_directories_moves_no_output(monkeypatch, small, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Rude, "deed", staticmethod(lambda: os.chdir(tmp_path / "elsewhere")))
    (folder,) = train(training(small, Path("runs"), Rude, steps=64), QUIET)
    assert folder == tmp_path / "runs" / folder.name
    assert read_info(folder)["status"] == "finished"
    os.chdir(tmp_path)
    (result,) = evaluate_runs(
        "runs", load_policy, "noise", episodes=1, show=None, trust=(read_info(folder)["env"],)
    )
    assert result.status == "evaluated"
    assert (folder / "evaluation-noise.csv").is_file()
    assert not list((tmp_path / "elsewhere").iterdir())
