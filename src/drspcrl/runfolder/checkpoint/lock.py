"""One process at a time writes into a run folder.

The lock is one that the kernel holds and drops when its process ends, however it ends; the file
only says whose it is. So a file that a killed process left is recognised: nobody holds it.
"""

import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import open_regular, read_bytes, remove_own
from drspcrl.reading import parse_json

LOCK_FILE = ".lock"
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
        while self._descriptor is None:
            self._descriptor = self._open()
        self.left_by = _owner(self._path)
        own = {"process": os.getpid(), "machine": socket.gethostname(), "since": _now()}
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(own).encode(), 0)

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
            raise InputError(
                f"{self._path.parent} is being written by {_owner(self._path) or 'another process'}"
                "; wait for it or stop it first"
            ) from None

    def release(self) -> None:
        """Let others in; twice does no harm."""
        if self._descriptor is not None:
            remove_own(self._path)
            os.close(self._descriptor)
            self._descriptor = None


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str | None:
    try:
        found: Any = parse_json(read_bytes(path, most=_MOST_BYTES))
        owner = f"process {found['process']} on {found['machine']} since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return brief(owner, 200)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
