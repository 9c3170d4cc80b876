"""Files that are whole or not there, also after the power fails."""

import os
import shutil
import threading
from pathlib import Path


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Write a file aside, wait until it is on the disk, and rename it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        write_and_sync(aside, content)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_and_sync(path: Path, content: bytes | memoryview) -> None:
    """Write a file where nobody looks yet, and wait until it is on the disk."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Wait until what was written to a file is on the disk; one that is not there is no loss."""
    if path.exists():
        _sync(path, os.O_RDWR)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    _sync(folder, os.O_RDONLY)


def remove_folder(folder: Path) -> None:
    """Remove a folder in such a way that what is left after a crash has a hidden name."""
    doomed = folder.with_name(f".{folder.name}.doomed.{os.getpid()}")
    os.replace(folder, doomed)
    shutil.rmtree(doomed)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
