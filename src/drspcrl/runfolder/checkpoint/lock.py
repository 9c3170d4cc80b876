"""One process at a time writes into a run folder, also where several machines see it.

On one machine the lock is one that the kernel holds and drops when its process ends, however it
ends; the file only says whose it is. So a file that a killed process left is recognised: nobody
holds it. A network's file system may not carry such locks from one machine to another. So whoever
holds a folder also touches the file every few seconds, and another machine takes it over only when
nobody has done so for a while. Both times are the file server's, so clocks need not agree.
"""

import fcntl
import json
import os
import secrets
import socket
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import aside_in, open_regular, read_bytes, remove_own
from drspcrl.reading import parse_json

LOCK_FILE = ".lock"
SILENCE = 30.0
"""Seconds after which a lock of another machine that nobody touches is nobody's."""

_BEAT = 5.0  # seconds between two touches
_MOST_BYTES = 4096  # of what it says


class FolderLock:
    """Holds a folder until `release`.

    Args:
        folder: an existing folder.

    Attributes:
        left_by: who left a lock behind without releasing it, None where nobody did.

    Raises:
        InputError: another process holds it, it cannot be written to, or its lock is no file of
            its own.
    """

    def __init__(self, folder: Path):
        self._path = folder / LOCK_FILE
        self._descriptor: int | None = None
        self._own: dict[str, Any] = {}
        while self._descriptor is None:
            self._descriptor = self._open()
        try:
            self._take()
        except BaseException:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)
            raise
        _touch_regularly(self)

    def check(self) -> None:
        """Refuse to write where the folder has been taken over in the meantime.

        Raises:
            InputError: this process was silent for so long, its machine asleep, say, that another
                machine took it for gone.
        """
        if self._descriptor is None or not self._still_own(self._descriptor):
            owner = _owner(_said(self._path)) or "somebody"
            raise InputError(
                f"{self._path.parent} was taken over by {owner} while this process was silent; "
                "nothing more is written there"
            )

    def touch(self) -> None:
        """Let other machines see that somebody is here."""
        if self._descriptor is not None:
            os.utime(self._descriptor)

    def release(self) -> None:
        """Let others in; twice does no harm."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if self._still_own(descriptor):
                remove_own(self._path)
            os.close(descriptor)

    def _open(self) -> int | None:
        try:
            descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise InputError(
                f"{self._path.parent} cannot be written to: {error.strerror}"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have removed the file in between; then this one is nobody's.
            if _same_file(descriptor, self._path):
                return descriptor
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise self._held(_owner(_said(self._path))) from None

    def _take(self) -> None:
        """Write our name into a file that no other process of this machine holds."""
        assert self._descriptor is not None
        said = _said(self._path)
        self.left_by = _owner(said)
        elsewhere = said.get("kernel", _kernel()) != _kernel()
        if elsewhere and (age := self._silent_for()) < SILENCE:
            raise self._held(f"{self.left_by}, which was there {age:.0f}s ago")
        self._own = {
            "process": os.getpid(),
            "machine": socket.gethostname(),
            "since": _now(),
            "kernel": _kernel(),
            "token": secrets.token_hex(8),
        }
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(self._own).encode(), 0)
        if elsewhere:  # two machines may have found it silent at once: the last one has it
            os.fsync(self._descriptor)
            threading.Event().wait(1.0)
            self.check()

    def _silent_for(self) -> float:
        """Seconds since somebody touched the file, by the clock of whoever keeps the files."""
        aside = aside_in(self._path.parent)
        descriptor = open_regular(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            return os.fstat(descriptor).st_mtime - os.stat(self._path).st_mtime
        finally:
            os.close(descriptor)
            aside.unlink(missing_ok=True)

    def _still_own(self, descriptor: int) -> bool:
        return _same_file(descriptor, self._path) and _said(self._path) == self._own

    def _held(self, owner: str | None) -> InputError:
        return InputError(
            f"{self._path.parent} is being written by {owner or 'another process'}"
            "; wait for it or stop it first"
        )


_held: "weakref.WeakSet[FolderLock]" = weakref.WeakSet()
_beating = threading.Lock()


def _touch_regularly(lock: FolderLock) -> None:
    with _beating:
        _held.add(lock)
    _start_beating()


@cache
def _start_beating() -> None:
    threading.Thread(target=_beat, name="drspcrl-locks", daemon=True).start()


def _beat() -> None:
    pause = threading.Event()
    while not pause.wait(_BEAT):
        with _beating:
            locks = list(_held)
        for lock in locks:
            with suppress(OSError):  # released this moment, or the disk is away: `check` says so
                lock.touch()


@cache
def _kernel() -> str:
    """What is the same for processes whose locks see each other: the running kernel."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return socket.gethostname()


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _said(path: Path) -> Mapping[str, Any]:
    try:
        found = parse_json(read_bytes(path, most=_MOST_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _owner(said: Mapping[str, Any]) -> str | None:
    if not {"process", "machine", "since"} <= set(said):
        return None
    owner = f"process {said['process']} on {said['machine']} since {said['since']}"
    return brief(owner, 200)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
