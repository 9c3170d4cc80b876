"""No link is followed, nothing hangs, nothing is half there, and nothing foreign is removed."""

import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from full_disk import fill_up
from hanging import no_hang

from drspcrl import files
from drspcrl.errors import InputError

OTHER = "-aside-0123456789abcdef"


def special(path: Path, kind: str) -> None:
    """Put something in place of a regular file."""
    if kind == "link":
        path.symlink_to(path.with_name("elsewhere"))
        path.with_name("elsewhere").write_bytes(b"mine")
    elif kind == "dangling link":
        path.symlink_to(path.with_name("nowhere"))
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


KINDS = ["link", "dangling link", "fifo", "socket", "device", "folder"]
CALLS = {
    "read": files.read_bytes,
    "append": lambda path: files.append(path, b"x"),
    "sync": files.sync_file,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_only_regular_files_are_opened(tmp_path, monkeypatch, kind, call):
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    special(Path("run.json"), kind)
    expected = "symbolic link" if "link" in kind or kind == "device" else "no regular file"
    with no_hang(), pytest.raises(InputError, match=rf"run\.json is (a )?{expected}"):
        CALLS[call](Path("run.json"))
    assert not Path("nowhere").exists()
    if kind == "link":
        assert Path("elsewhere").read_bytes() == b"mine"


def test_what_the_user_names_is_followed_but_must_be_a_file(tmp_path):
    special(tmp_path / "named", "link")
    assert files.read_bytes(tmp_path / "named", follow=True) == b"mine"
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to fifo").symlink_to(tmp_path / "fifo")
    with no_hang(), pytest.raises(InputError, match="no regular file"):
        files.read_bytes(tmp_path / "to fifo", follow=True)


def test_a_file_with_another_name_elsewhere_is_not_written_to(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    os.link(tmp_path / "mine", tmp_path / "metrics.csv")
    assert files.read_bytes(tmp_path / "metrics.csv") == b"mine"
    with pytest.raises(InputError, match="is a hard link"):
        files.append(tmp_path / "metrics.csv", b"x")
    files.write_durably(tmp_path / "metrics.csv", b"new")
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert files.read_text(tmp_path / "a", most=5) == "12345"
    with pytest.raises(InputError, match="has 5 bytes; at most 4 are read"):
        files.read_text(tmp_path / "a", most=4)


def test_writing_replaces_a_link_and_leaves_nothing_aside(tmp_path):
    special(tmp_path / "a", "link")
    files.write_durably(tmp_path / "a", b"new")
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == b"mine"
    assert {file.name for file in tmp_path.iterdir()} == {"a", "elsewhere"}
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~umask
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder is no regular file"):
        files.write_durably(tmp_path / "folder", b"new")
    assert not [name for name in os.listdir(tmp_path) if files.is_aside(name)]


def test_a_name_aside_never_grows(tmp_path):
    first = files.aside_in(tmp_path)
    assert files.is_aside(first.name)
    long = tmp_path / ("x" * 255)  # the longest name there can be
    files.write_durably(long, b"whole")
    assert long.read_bytes() == b"whole"


def test_an_append_that_fails_leaves_no_part(tmp_path, monkeypatch):
    file = tmp_path / "metrics.csv"
    files.append(file, b"step\n")
    own = os.write

    def full(descriptor, content):
        if len(content) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return own(descriptor, content[:4])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        files.append(file, b"100000\n")
    assert file.read_bytes() == b"step\n"


KILLED = """
import os, sys
from pathlib import Path
from drspcrl import files
os.replace = lambda *_: os._exit(9)
files.write_durably(Path(sys.argv[1]) / "run.json", b"half")
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert [files.is_aside(name) for name in os.listdir(tmp_path)] == [True]
    foreign = {".DS_Store", ".nfs0001", f".drspcrl{OTHER}0", f"drspcrl{OTHER}", ".git.12.3"}
    for name in (*foreign, ".run.json.123.140", f".{'0' * 64}.7.8", ".policy.safetensors.99"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / f".drspcrl{OTHER}").mkdir()
    (tmp_path / ".drspcrl-aside-fedcba9876543210").symlink_to(".DS_Store")
    files.remove_asides(tmp_path)
    left = {f".drspcrl{OTHER}", ".drspcrl-aside-fedcba9876543210"}
    assert set(os.listdir(tmp_path)) == foreign | left


def test_what_is_being_written_is_not_removed(tmp_path, monkeypatch):
    own = os.fsync

    def meanwhile(descriptor):
        files.remove_asides(tmp_path)
        own(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    files.write_durably(tmp_path / "evaluation.csv", b"rows")
    assert (tmp_path / "evaluation.csv").read_bytes() == b"rows"


def test_only_regular_files_are_removed_by_name(tmp_path):
    special(tmp_path / "link", "link")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in ("link", "folder", "file", "nothing"):
        files.remove_own(tmp_path / name)
    assert set(os.listdir(tmp_path)) == {"link", "folder", "elsewhere"}


def test_a_reserve_takes_a_last_word_on_a_full_disk(tmp_path, monkeypatch):
    (tmp_path / "run.json").write_bytes(b"running")
    reserve = files.Reserve(tmp_path, 100)
    before = {file.name for file in tmp_path.iterdir()}
    fill_up(monkeypatch)
    with pytest.raises(OSError, match="No space"):
        files.write_durably(tmp_path / "run.json", b"failed")
    reserve.write(tmp_path / "run.json", b"failed")
    reserve.release()
    assert (tmp_path / "run.json").read_bytes() == b"failed"
    assert len(before) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_links_are_found_at_any_depth(tmp_path):
    deep = tmp_path / "checkpoint" / "blocks"
    deep.mkdir(parents=True)
    files.refuse_links(tmp_path)
    (deep / "b").symlink_to("/etc")
    with pytest.raises(InputError, match=r"blocks/b is a symbolic link; .* must be there themse"):
        files.refuse_links(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "checkpoint").touch()
    with pytest.raises(InputError, match="checkpoint is a file where a folder is needed"):
        files.make_folder(tmp_path / "other" / "checkpoint")


def test_what_killed_processes_left_aside_goes_and_what_others_write_stays(tmp_path):
    left, folder = tmp_path / f".drspcrl{OTHER}", tmp_path / ".drspcrl-aside-00112233445566ff"
    left.write_text("half")
    with files.file_aside(tmp_path / "clip.gif") as aside:
        assert not left.exists()
        aside.write_text("whole")
        files.remove_asides(tmp_path)
        assert aside.exists()
    assert (tmp_path / "clip.gif").read_text() == "whole"
    with pytest.raises(KeyError), files.file_aside(tmp_path / "clip.gif") as aside:
        raise KeyError
    (folder / "figures").mkdir(parents=True)
    (tmp_path / "link").mkdir()
    (tmp_path / ".drspcrl-aside-0011223344556600").symlink_to(tmp_path / "link")
    with files.folder_aside(tmp_path) as aside:
        assert not folder.exists()
        with files.folder_aside(tmp_path):
            assert aside.is_dir()
    names = {".drspcrl-aside-0011223344556600", "clip.gif", "link"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_folder_that_is_named_may_be_a_link_but_not_to_itself(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "runs")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert files.named_folder(tmp_path / "named") == tmp_path / "runs"
    assert not files.named_folder(tmp_path / "loop").exists()
