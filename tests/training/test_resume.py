"""Stopping and resuming change nothing: rows and policies are those of an uninterrupted run."""

import os
import signal
from io import StringIO

import pytest
import yaml
from rich.console import Console
from without_clock import without_clock

from drspcrl.errors import InputError
from drspcrl.runfolder.runs import read_config, read_info, read_run
from drspcrl.training import resume, settings, train
from drspcrl.training.run import Trainer

QUIET = Console(quiet=True)
TASK = "probe/noise"
POLICIES = ("policy.safetensors", "policy-best.safetensors")


def assert_same_runs(one, two) -> None:
    """Equal in everything but the clock."""
    for left, right in zip(one, two, strict=True):
        for file in POLICIES:
            assert (left / file).read_bytes() == (right / file).read_bytes(), file
        assert without_clock(left) == without_clock(right)
        assert read_info(left).get("best") == read_info(right).get("best")


class Killed(BaseException):
    """Stands for a process that is gone: nothing is tidied up after it."""


def die_at(monkeypatch, step: int, method: str) -> None:
    """Let a training die in one of its methods, once that step is reached."""
    own = getattr(Trainer, method)

    def dying(self, *arguments):
        if self.loop.steps >= step:
            monkeypatch.setattr(Trainer, "__exit__", lambda *_: None)
            raise Killed
        return own(self, *arguments)

    monkeypatch.setattr(Trainer, method, dying)


@pytest.fixture(
    scope="module",
    params=["sac", "ppo", *(pytest.param(a, marks=pytest.mark.slow) for a in ("ddpg", "td3"))],
)
def straight(request, small, tmp_path_factory):
    """An uninterrupted training of a population."""
    out = tmp_path_factory.mktemp("straight")
    config = small(request.param, out, env=TASK, checkpoint_every=64)
    return request.param, train(config, QUIET)


@pytest.mark.parametrize(("step", "method"), [(100, "_log"), (192, "save")])
def test_a_killed_run_continues_as_if_never_stopped(
    straight, small, tmp_path, monkeypatch, step, method
):
    algorithm, whole = straight
    with monkeypatch.context() as patch:
        die_at(patch, step, method)
        with pytest.raises(Killed):
            train(small(algorithm, tmp_path, env=TASK, checkpoint_every=64), QUIET)
    folders = resume(tmp_path, console=QUIET)
    assert_same_runs(whole, folders)
    info = read_info(folders[0])
    assert info["status"] == "finished"
    assert info["resume"] == "exact"
    assert [piece["step"] for piece in info["resumed"]] == [64 if step == 100 else 128]
    assert not (folders[0] / ".lock").exists()


@pytest.mark.parametrize("algorithm", ["sac", pytest.param("ddpg", marks=pytest.mark.slow)])
def test_a_run_killed_before_its_first_row(algorithm, small, tmp_path, monkeypatch):
    """Robust learners name their numbers in two groups, and a checkpoint knows no groups."""
    settings = {"hidden": [16, 16], "batch_size": 32, "learning_starts": 220, "envs_per_member": 4}
    given = {"env": TASK, "checkpoint_every": 64, "log_every": 200, "evaluate_every": 0}
    given |= {"methods": ("fixed",), "seeds": (3,), "settings": settings}
    whole = train(small(algorithm, tmp_path / "straight", **given), QUIET)
    with monkeypatch.context() as patch:
        die_at(patch, 192, "_log")
        with pytest.raises(Killed):
            train(small(algorithm, tmp_path / "killed", **given), QUIET)
    folders = resume(tmp_path / "killed", console=QUIET)
    assert [piece["step"] for piece in read_info(folders[0])["resumed"]] == [192]
    for one, two in zip(whole, folders, strict=True):
        assert without_clock(one) == without_clock(two)
        assert (one / POLICIES[0]).read_bytes() == (two / POLICIES[0]).read_bytes()


def test_pieces_of_a_time_limit_make_the_whole(straight, small, tmp_path):
    algorithm, whole = straight
    config = small(algorithm, tmp_path, env=TASK, checkpoint_every=0, time_limit=1e-3)
    (folder, _) = train(config, QUIET)
    assert read_info(folder)["status"] == "stopped"
    stopped = read_info(folder)["steps"]
    assert 0 < stopped < 256
    resume(folder, time_limit="1s", console=QUIET)  # one run's folder stands for its population
    folders = resume(tmp_path, console=QUIET) if read_info(folder)["status"] == "stopped" else None
    assert_same_runs(whole, folders or sorted(tmp_path.iterdir()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_a_checkpoint(small, tmp_path, monkeypatch, number):
    own = Trainer._log

    def log(self, scores):
        own(self, scores)
        os.kill(os.getpid(), number)

    handler = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_log", log)
        expected = KeyboardInterrupt if number == signal.SIGINT else SystemExit
        with pytest.raises(expected):
            train(small("ppo", tmp_path, env=TASK, seeds=(3,)), QUIET)
    assert signal.getsignal(number) is handler
    (folder,) = tmp_path.iterdir()
    info = read_info(folder)
    assert (info["status"], info["steps"]) == ("interrupted", 64)
    assert (folder / "checkpoint" / "step-000000000064").is_dir()


@pytest.mark.parametrize("algorithm", ["sac", pytest.param("ppo", marks=pytest.mark.slow)])
def test_finished_runs_are_made_longer(algorithm, small, tmp_path):
    # Long episodes: where they are very short, transitions leave the shorter run's buffer early.
    env = "probe/constant"
    train(small(algorithm, tmp_path / "a", env=env, steps=128), QUIET)
    with pytest.raises(InputError, match="--steps N above 128 makes finished ones longer"):
        resume(tmp_path / "a", console=QUIET)
    with pytest.raises(InputError, match="made for 128, give at least that"):
        resume(tmp_path / "a", steps=100, console=QUIET)
    folders = resume(tmp_path / "a", steps=256, console=QUIET)
    assert [read_run(f).metrics["step"][-1] for f in folders] == [256, 256]
    assert read_run(folders[0]).config["steps"] == 256
    if algorithm != "ppo":  # its learning rate falls over the length of the run
        whole = train(small(algorithm, tmp_path / "b", env=env, steps=256), QUIET)
        for one, two in zip(folders, whole, strict=True):
            assert (one / POLICIES[0]).read_bytes() == (two / POLICIES[0]).read_bytes()


def test_runs_keep_the_settings_that_they_began_with(small, tmp_path, monkeypatch):
    """Defaults may change between two pieces of a run; the run does not."""
    methods = ("vanilla", "vanilla:discount=0.9")
    for out in ("a", "b"):
        train(small("sac", tmp_path / out, env=TASK, methods=methods, seeds=(3,)), QUIET)
    as_before = resume(tmp_path / "a", steps=320, console=QUIET)
    changed = {"tau": 0.9, "discount": 0.5}
    settings_today = settings.preset
    began = settings.resolve("sac", {}, 1000).flat()
    monkeypatch.setattr(
        settings, "preset", lambda algorithm: {**settings_today(algorithm), **changed}
    )
    said = StringIO()
    (tmp_path / "b" / as_before[1].name / "config.yaml").unlink()  # as after a kill
    one = tmp_path / "b" / as_before[0].name
    later = resume(one, steps=320, console=Console(file=said, width=300))
    assert_same_runs(as_before, later)
    assert f"with discount={began['discount']}, tau={began['tau']} as it began" in said.getvalue()
    configs = [read_run(folder).config for folder in later]
    assert [config["settings"]["discount"] for config in configs] == [began["discount"], 0.9]
    # What was asked for is as before, so that a grid knows its own run again.
    asked = read_config(as_before[0])["population"]
    assert [config["population"] for config in configs] == [asked, asked]
    configs[0]["settings"]["tau"] = 0.1
    (later[0] / "config.yaml").write_text(yaml.safe_dump(configs[0]))
    with pytest.raises(InputError, match=r"began with tau=0\.005, other runs of .* with 0\.1"):
        resume(tmp_path / "b", steps=400, console=QUIET)
