"""What may go wrong with a run's folder or one of its members, and the one line that says so."""

import errno
import io
import json
import os
import shutil

import jax
import numpy as np
import pytest
from full_disk import fill_up
from rich.console import Console

from drspcrl import files
from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import FolderLock
from drspcrl.runfolder.checkpoint import store as stores
from drspcrl.runfolder.runs import read_info, read_run
from drspcrl.training import resume, train
from drspcrl.training.onpolicy import OnPolicyLoop
from drspcrl.training.run import Trainer

QUIET = Console(quiet=True)
TASK = "probe/noise"
STEPS = ("step-000000000192", "step-000000000256")


@pytest.fixture(scope="module")
def made(small, tmp_path_factory):
    """A finished training, whose folder the tests copy and break."""
    out = tmp_path_factory.mktemp("made")
    train(small("ppo", out, env=TASK, checkpoint_every=64), QUIET)
    return out


@pytest.fixture
def broken(made, tmp_path):
    """A copy of the training, as if it had been killed when its last row was written."""
    out = tmp_path / "runs"
    shutil.copytree(made, out)
    for folder in out.iterdir():
        info = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(info | {"status": "running"}))
    return out


def told(out, **options) -> str:
    """What a resumption prints."""
    console = Console(file=io.StringIO(), width=1000)
    resume(out, console=console, **options)
    return console.file.getvalue()  # type: ignore[attr-defined]


def folders(out):
    return sorted(out.iterdir())


def test_a_damaged_newest_checkpoint_falls_back(broken, made):
    (folders(broken)[1] / "checkpoint" / STEPS[1] / "state.safetensors").write_bytes(b"half")
    printed = told(broken)
    assert "state.safetensors is damaged; falling back to the checkpoint before" in printed
    assert "going on at step 192" in printed
    for one, two in zip(folders(broken), folders(made), strict=True):
        name = "policy.safetensors"
        assert (one / name).read_bytes() == (two / name).read_bytes()
        assert len(read_run(one).metrics["step"]) == len(read_run(two).metrics["step"])


def test_no_checkpoint_that_is_whole(broken):
    for step in STEPS:
        (folders(broken)[0] / "checkpoint" / step / "manifest.json").write_text("{")
    before = snapshot(broken)
    with pytest.raises(InputError, match=r"no checkpoint that is whole .* 192, 256"):
        resume(broken, console=QUIET)
    assert snapshot(broken) == before


def test_members_without_a_common_checkpoint(broken):
    shutil.rmtree(folders(broken)[0] / "checkpoint" / STEPS[0])
    shutil.rmtree(folders(broken)[1] / "checkpoint" / STEPS[1])
    with pytest.raises(InputError, match="no checkpoint that is whole for all of its 2 runs"):
        resume(broken, console=QUIET)


def test_a_member_that_is_gone(broken):
    gone = folders(broken)[1]
    shutil.rmtree(gone)
    with pytest.raises(
        InputError, match=f"{gone.name} is missing; a population continues as a whole"
    ):
        resume(broken, console=QUIET)


def test_another_process_writes_there(broken):
    lock = FolderLock(folders(broken)[1])
    before = snapshot(broken)
    with pytest.raises(InputError, match=f"is being written by process {os.getpid()}"):
        resume(broken, console=QUIET)
    assert snapshot(broken) == before
    lock.release()


def test_other_versions_are_named(broken):
    for folder in folders(broken):
        info = json.loads((folder / "run.json").read_text())
        info["versions"] |= {"mujoco": "3.3.7", "drspcrl": "0.0.9"}
        (folder / "run.json").write_text(json.dumps(info))
    printed = told(broken, steps=320)
    assert "mujoco 4" in printed
    assert "(it was 3.3.7)" in printed
    assert "(it was 0.0.9)" in printed


def test_rows_that_are_lost_are_named(broken):
    file = folders(broken)[0] / "metrics.csv"
    file.write_text(file.read_text()[:-20])
    printed = told(broken, steps=320)
    assert "metrics.csv is shorter than it was at its checkpoint" in printed
    assert read_run(file.parent).metrics["step"][-1] == 320


def test_rows_that_are_damaged_are_named(broken):
    file = folders(broken)[0] / "metrics.csv"
    file.write_text(file.read_text().replace("\n64,", "\n65,"))
    assert "metrics.csv is damaged: its rows are not those of its checkpoint" in told(
        broken, steps=320
    )


@pytest.mark.parametrize("left", ["a file", "a run", "something else", "another config.yaml"])
def test_a_folder_that_holds_something_is_left_alone(small, tmp_path, left):
    config = small("ppo", tmp_path, seeds=(3,))
    path = config.folder(config.members[0])
    if left == "a file":
        path.write_text("mine")
    else:
        path.mkdir()
        names = {"a run": "run.json", "something else": "thesis.tex"}
        (path / names.get(left, "config.yaml")).write_text("{}")
    before = snapshot(tmp_path)
    what = "a run" if left == "a run" else "something else"
    expected = "is a file or a link" if left == "a file" else f"already holds {what}"
    with pytest.raises(InputError, match=expected):
        train(config, QUIET)
    assert snapshot(tmp_path) == before


def test_a_folder_that_cannot_be_made(small, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        train(small("ppo", tmp_path / "file" / "runs"), QUIET)
    with pytest.raises(InputError, match="cannot be made: File exists"):
        train(small("ppo", tmp_path / "file"), QUIET)


def test_a_folder_that_may_not_be_written_to(small, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to; choose another folder"):
        train(small("ppo", tmp_path), QUIET)


def test_a_full_disk_is_one_line_and_loses_nothing(small, made, tmp_path, monkeypatch):
    own = files.write_and_sync

    def full(path, content):
        if (path.parent.parent / "step-000000000128").exists():  # while 192 is written
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        own(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "write_and_sync", full)
        with pytest.raises(
            InputError, match=r"cannot be written: No space left on device; .* whole"
        ):
            train(small("ppo", tmp_path, env=TASK, checkpoint_every=64), QUIET)
    first = folders(tmp_path)[0]
    assert read_info(first)["status"] == "failed"
    assert not (first / ".lock").exists()
    resume(tmp_path, console=QUIET)
    for one, two in zip(folders(tmp_path), folders(made), strict=True):
        name = "policy.safetensors"
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_a_disk_that_stays_full_gets_its_status_all_the_same(small, made, tmp_path, monkeypatch):
    """Nothing can be made and nothing grows, from the moment that a checkpoint is due."""
    own = Trainer.save
    with monkeypatch.context() as patch:

        def save(self):
            if self.loop.steps == 192:
                fill_up(patch)
            own(self)

        patch.setattr(Trainer, "save", save)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            train(small("ppo", tmp_path, env=TASK, checkpoint_every=64, tensorboard=False), QUIET)
    for folder in folders(tmp_path):
        info = read_info(folder)
        assert (info["status"], info["steps"]) == ("failed", 192)
        assert not [name for name in os.listdir(folder) if name.startswith(".")]
        assert read_run(folder).metrics["step"][-1] == 192  # by their check value they are whole
    resume(tmp_path, console=QUIET)
    for one, two in zip(folders(tmp_path), folders(made), strict=True):
        name = "policy.safetensors"
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_a_disk_that_takes_nothing_at_all_still_tells_the_first_error(small, tmp_path, monkeypatch):
    own = files.write_durably
    config = small("ppo", tmp_path, env=TASK, seeds=(3,), steps=64)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def full_later(path, content):
        if (tmp_path / config.folder(config.members[0]).name / "metrics.csv").exists():
            full()
        own(path, content)

    monkeypatch.setattr("drspcrl.training.folder.write_durably", full_later)
    monkeypatch.setattr(files.Reserve, "write", full)
    monkeypatch.setattr(stores, "write_and_sync", full_later)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        train(config, QUIET)


class Killed(BaseException):
    """Stands for a process that is gone."""


def killed_at(monkeypatch, n: int, config) -> None:
    """Begin a training that is killed when its folders get their n-th file."""
    own, count = files.write_durably, 0

    def write(path, content):
        nonlocal count
        count += 1
        if count == n:
            (path.parent / ".drspcrl-aside-0123456789abcdef").write_bytes(content[:10])
            raise Killed
        own(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("drspcrl.training.folder.write_durably", write)
        patch.setattr(Trainer, "__exit__", lambda *_: None)
        with pytest.raises(Killed):
            train(config, QUIET)
    for folder in map(config.folder, config.members):
        folder.mkdir(exist_ok=True)
        (folder / ".lock").touch()


@pytest.mark.parametrize(
    ("n", "takes"),
    [
        (1, train),  # nothing but locks
        (2, train),  # a config.yaml
        (2, resume),
        (3, resume),  # one member's config.yaml and run.json
        pytest.param(4, resume, marks=pytest.mark.slow),
    ],
)
def test_a_kill_before_every_run_json_is_there(small, tmp_path, monkeypatch, n, takes):
    given = {"env": TASK, "steps": 64, "evaluate_every": 0, "tensorboard": False}
    config = small("ppo", tmp_path, **given)
    killed_at(monkeypatch, n, config)
    if n > 2:
        with pytest.raises(InputError, match="already holds a run; continue with `drspcrl resume`"):
            train(config, QUIET)
    if takes is resume:
        resume(tmp_path, console=QUIET)
    else:
        with pytest.raises(InputError, match=r"s4 is empty: .* its train command again"):
            resume(tmp_path / config.folder(config.members[1]).name, console=QUIET)
        train(config, QUIET)
    for folder in folders(tmp_path):
        assert read_info(folder)["status"] == "finished"
        assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_an_error_before_the_first_checkpoint_is_whole_loses_nothing(small, tmp_path, monkeypatch):
    config = small("ppo", tmp_path, env=TASK, steps=64, evaluate_every=0)
    own = stores.Store.write

    def write(self, *given):
        if "s4" in str(self._folder):
            raise OSError(errno.ENOSPC, "No space left on device")
        own(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(stores.Store, "write", write)
        with pytest.raises(InputError, match="then drspcrl resume"):
            train(config, QUIET)
    assert [read_info(folder)["status"] for folder in folders(tmp_path)] == ["failed", "failed"]
    resume(tmp_path, console=QUIET)
    assert [read_info(folder)["status"] for folder in folders(tmp_path)] == ["finished"] * 2


def test_a_member_that_leaves_the_numbers_stops_alone(small, made, tmp_path, monkeypatch):
    own = OnPolicyLoop.iterate

    def iterate(self):
        own(self)
        if self.steps == 192:  # one member's network, as an exploding gradient leaves it
            spoilt = jax.tree.map(lambda a: a.at[1].set(np.nan), self.state.parameters)
            self.state = self.state._replace(parameters=spoilt)

    console = Console(file=io.StringIO(), width=1000)
    with monkeypatch.context() as patch:
        patch.setattr(OnPolicyLoop, "iterate", iterate)
        good, bad = train(small("ppo", tmp_path, env=TASK, checkpoint_every=64), console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"{bad.name} diverged: its parameters are not finite at step 192" in printed
    assert "its last good checkpoint is of step 128; the other runs continue" in printed
    assert read_info(bad)["status"] == "diverged"
    assert read_info(bad)["fault"] == "its parameters are not finite"
    assert read_run(bad).metrics["step"][-1] == 128
    assert (bad / "checkpoint" / "step-000000000128").is_dir()
    assert read_info(good)["status"] == "finished"
    whole = folders(made)[0]
    assert (good / "policy.safetensors").read_bytes() == (whole / "policy.safetensors").read_bytes()

    # Made longer, the one that is left continues, and the one that diverged stays as it is.
    before = snapshot(bad)
    resume(tmp_path, steps=320, console=QUIET)
    assert read_run(good).metrics["step"][-1] == 320
    assert snapshot(bad) == before


def test_actions_that_are_no_numbers_are_seen_at_once(small, tmp_path, monkeypatch):
    own = OnPolicyLoop.iterate

    def iterate(self):
        if self.steps == 64:
            spoilt = jax.tree.map(lambda a: a * np.nan, self.state.parameters)
            self.state = self.state._replace(parameters=spoilt)
        own(self)

    monkeypatch.setattr(OnPolicyLoop, "iterate", iterate)
    config = small("ppo", tmp_path, env=TASK, seeds=(3,), log_every=10**6, evaluate_every=0)
    (folder,) = train(config, QUIET)
    info = read_info(folder)
    assert (info["status"], info["steps"]) == ("diverged", 128)
    assert info["fault"] == "its actions or observations are not finite"
    with pytest.raises(InputError, match="is finished or has diverged"):
        resume(tmp_path, console=QUIET)


def test_environments_without_a_state_restart_their_episode(small, tmp_path):
    config = small("ppo", tmp_path, env="Pendulum-v1", seeds=(3,), time_limit=1e-3)
    (folder,) = train(config, QUIET)
    assert read_info(folder)["resume"] == "episode"
    assert read_info(folder)["steps"] == 64
    resume(folder, console=QUIET)
    assert read_run(folder).metrics["step"].tolist() == [64, 128, 192, 256]


def snapshot(root) -> dict:
    """Every file with its content."""
    return {
        file.relative_to(root): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file() and file.name != ".lock"
    }
