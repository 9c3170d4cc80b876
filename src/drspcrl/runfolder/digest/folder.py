"""Put a digest in its folder: whole or not at all, and only where it says something new."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from drspcrl.errors import InputError
from drspcrl.files import (
    aside_in,
    check_folder,
    is_aside,
    make_folder,
    read_bytes,
    refuse_links,
    remove_own,
    write_and_sync,
)
from drspcrl.policy import POLICY_FILE
from drspcrl.runfolder import packed
from drspcrl.runfolder.checkpoint.lock import FolderLock

_OWN = re.compile(
    r"run\.json|config\.yaml|metrics\.csv\.xz|evaluation(-.+)?\.(csv\.xz|json)"
    rf"|{re.escape(POLICY_FILE)}"
)


def check_target(target: Path) -> None:
    """Refuse a place where a digest cannot be put without touching what is somebody else's.

    Raises:
        InputError: it, its group or something in it is a link, or it holds more than a digest.
    """
    check_folder(target.parent)
    check_folder(target)
    if not target.is_dir():
        return
    refuse_links(target)
    if foreign := sorted(file.name for file in target.iterdir() if not _is_own(file)):
        raise InputError(
            f"{target} holds {foreign[0]}, which is no part of a digest; move it away, or give "
            "another --out"
        )


def put(target: Path, content: Mapping[str, bytes]) -> bool:
    """Put a digest in place, whole; one that says the same is left alone.

    Returns:
        Whether anything was written.

    Raises:
        InputError: see `check_target`; or another process writes into the same group.
    """
    check_target(target)
    if target.is_dir():
        content = {**_kept_policy(target, content), **content}
        if _same(target, content):
            return False
    make_folder(target.parent)
    lock = FolderLock(target.parent)
    try:
        _tidy(target.parent)
        _write(target, content)
    finally:
        lock.release()
    return True


def _tidy(group: Path) -> None:
    """Remove what killed processes left aside; who asks holds the group."""
    for left in list(group.iterdir()):
        if is_aside(left.name):
            _remove(left)


def _write(target: Path, content: Mapping[str, bytes]) -> None:
    aside = aside_in(target.parent)
    aside.mkdir()
    try:
        for name, data in content.items():
            write_and_sync(aside / name, data)
        _swap(aside, target)
    except BaseException:
        _remove(aside)
        raise


def _swap(aside: Path, target: Path) -> None:
    old = aside_in(target.parent)
    there = target.is_dir()
    if there:
        os.replace(target, old)
    os.replace(aside, target)
    if there:
        # Hidden files are a desktop's or a version control's, and stay.
        for file in [file for file in old.iterdir() if file.name.startswith(".")]:
            os.replace(file, target / file.name)
        _remove(old)


def _is_own(file: Path) -> bool:
    return file.is_file() and (_OWN.fullmatch(file.name) is not None or file.name.startswith("."))


def _remove(folder: Path) -> None:
    """Remove a folder of ours; where something foreign is in it, that and the folder stay."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for file in list(folder.iterdir()):
        if _OWN.fullmatch(file.name):
            remove_own(file)
    if not any(folder.iterdir()):
        folder.rmdir()


def _kept_policy(target: Path, content: Mapping[str, bytes]) -> dict[str, bytes]:
    """A policy of the same run that was kept earlier stays, asked for again or not."""
    run, policy = target / "run.json", target / POLICY_FILE
    same = run.is_file() and read_bytes(run) == content["run.json"]
    return {POLICY_FILE: read_bytes(policy)} if same and policy.is_file() else {}


def _same(target: Path, content: Mapping[str, bytes]) -> bool:
    """Whether a digest has these files.

    Packed ones are compared unpacked, so that another version of the packer changes nothing.
    """
    there = {f.name: read_bytes(f) for f in target.iterdir() if not f.name.startswith(".")}
    if there.keys() != content.keys():
        return False
    return all(
        there[name] == data or (name.endswith(packed.SUFFIX) and _same_text(there[name], data))
        for name, data in content.items()
    )


def _same_text(one: bytes, other: bytes) -> bool:
    try:
        return packed.unpack(one, "") == packed.unpack(other, "")
    except InputError:
        return False
