"""One process at a time, and a killed one's lock is recognised."""

import json
import os
import subprocess
import sys
import time

import pytest
from hanging import no_hang

from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import FolderLock
from drspcrl.runfolder.checkpoint.lock import SILENCE

HOLD = """
import sys, time
from pathlib import Path
from drspcrl.runfolder.checkpoint.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def holder(folder) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_is_named_and_a_killed_one_is_no_obstacle(tmp_path):
    process = holder(tmp_path)
    with process:
        with pytest.raises(InputError, match=f"is being written by process {process.pid} on "):
            FolderLock(tmp_path)
        process.kill()
    assert (tmp_path / ".lock").exists()
    lock = FolderLock(tmp_path)
    assert lock.left_by is not None
    assert f"process {process.pid}" in lock.left_by
    lock.release()
    assert not (tmp_path / ".lock").exists()


def test_the_same_process_twice(tmp_path):
    lock = FolderLock(tmp_path)
    with pytest.raises(InputError, match=f"process {os.getpid()}"):
        FolderLock(tmp_path)
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]"])
def test_a_lock_file_that_says_nothing(tmp_path, content):
    (tmp_path / ".lock").write_bytes(content)
    lock = FolderLock(tmp_path)
    assert lock.left_by is None
    lock.release()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be written to: No such file"):
        FolderLock(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "fifo"])
def test_a_lock_that_leads_elsewhere_is_refused(tmp_path, kind):
    folder, mine = tmp_path / "run", tmp_path / "mine"
    folder.mkdir()
    lock = folder / ".lock"
    if kind == "fifo":
        os.mkfifo(lock)
    elif kind == "dangling link":
        lock.symlink_to(mine)
    else:
        mine.write_text("mine")
        lock.symlink_to(mine) if kind == "link" else os.link(mine, lock)
    with no_hang(), pytest.raises(InputError, match=r"\.lock is (a|no)"):
        FolderLock(folder)
    assert os.path.lexists(lock)
    assert mine.exists() == ("link" in kind and kind != "dangling link")
    if mine.exists():
        assert mine.read_text() == "mine"


def of_another_machine(folder, silent: float) -> None:
    """A lock as another machine leaves it whose file locks are not seen here."""
    said = {"process": 7, "machine": "node-b", "since": "2026-11-19T12:00:00+00:00"}
    (folder / ".lock").write_text(json.dumps(said | {"kernel": "another", "token": "ab"}))
    when = time.time() - silent
    os.utime(folder / ".lock", (when, when))


def test_another_machine_that_was_there_a_moment_ago_keeps_the_folder(tmp_path):
    of_another_machine(tmp_path, SILENCE - 10)
    with pytest.raises(InputError, match=r"process 7 on node-b since .*, which was there \d+s ago"):
        FolderLock(tmp_path)
    assert json.loads((tmp_path / ".lock").read_text())["token"] == "ab"
    assert os.listdir(tmp_path) == [".lock"]


def test_another_machine_that_has_been_silent_is_no_obstacle(tmp_path):
    of_another_machine(tmp_path, SILENCE + 10)
    lock = FolderLock(tmp_path)
    assert lock.left_by is not None
    assert "node-b" in lock.left_by
    lock.check()
    lock.release()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("how", ["overwritten", "replaced", "removed"])
def test_whoever_was_taken_over_writes_nothing_more(tmp_path, how):
    lock = FolderLock(tmp_path)
    if how != "overwritten":
        (tmp_path / ".lock").unlink()
    if how != "removed":
        of_another_machine(tmp_path, 0)
    with pytest.raises(InputError, match=r"taken over by .* while this process was silent"):
        lock.check()
    lock.release()
    assert (tmp_path / ".lock").exists() == (how != "removed")


@pytest.mark.slow
def test_a_holder_touches_its_lock_for_other_machines_to_see(tmp_path):
    with holder(tmp_path) as process:
        os.utime(tmp_path / ".lock", (0, 0))
        end = time.monotonic() + 60
        while (tmp_path / ".lock").stat().st_mtime < time.time() - SILENCE:
            assert time.monotonic() < end
            time.sleep(0.2)
        process.kill()
