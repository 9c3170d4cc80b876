"""One process at a time, and a killed one's lock is recognised."""

import os
import subprocess
import sys

import pytest
from hanging import no_hang

from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import FolderLock

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
