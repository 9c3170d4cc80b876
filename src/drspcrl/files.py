"""Files of run, grid and digest folders: no link is followed, and only what is ours is removed.

A folder may come from elsewhere. Whatever the user names is followed; what lies inside it has to be
regular files and folders, so that reading cannot hang or lead elsewhere, and writing stays inside.
Files are written aside, under a name that nothing else has, and renamed: whole or not there, also
after the power fails.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drspcrl.errors import InputError

_ASIDE = re.compile(r"\.drspcrl-aside-[0-9a-f]{16}")
# What versions up to 0.1 wrote aside, so that what a kill has left there goes too.
_EARLIER = re.compile(
    r"\.(?:run\.json|config\.yaml|metrics\.csv|policy(?:-best)?\.safetensors|[0-9a-f]{64}"
    r"|evaluation(?:-.+)?\.(?:csv|json))\.\d+(?:\.\d+)?"
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_REGULAR = (errno.ENXIO, errno.EISDIR, errno.ENODEV)


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Open a regular file without waiting for anybody.

    Args:
        path: the file.
        flags: as for `os.open`, without O_TRUNC.
        follow: whether it may be a link, because the user named it.

    Returns:
        Its descriptor, which the caller closes.

    Raises:
        InputError: it is a link, a folder, a FIFO, a device or a socket, or is to be written to and
            has another name elsewhere.
        OSError: as of `os.open`.
    """
    own = os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags | own, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path):
            raise _linked(path) from None
        if error.errno in _NOT_REGULAR:
            raise _not_regular(path) from None
        raise
    try:
        _check_opened(path, os.fstat(descriptor), flags & (os.O_WRONLY | os.O_RDWR) != 0)
    except InputError:
        os.close(descriptor)
        raise
    return descriptor


def read_bytes(path: Path, *, follow: bool = False, most: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        path: the file.
        follow: whether it may be a link, because the user named it.
        most: the most bytes that it may have.

    Raises:
        InputError: it is no regular file, or is larger.
        OSError: it cannot be read.
    """
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise InputError(f"{path} has {size:,} bytes; at most {most:,} are read")
        return file.read()


def read_text(path: Path, *, follow: bool = False, most: int | None = None) -> str:
    """The text of a regular file in UTF-8, its line ends as they are; see `read_bytes`."""
    return read_bytes(path, follow=follow, most=most).decode("utf-8")


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Write a file aside, wait until it is on the disk, and rename it into place.

    A link of that name is replaced, not followed.
    """
    aside, descriptor = _begin_aside(path.parent)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
        _put_in_place(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_and_sync(path: Path, content: bytes | memoryview) -> None:
    """Write a new file where nobody looks yet, and wait until it is on the disk."""
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def file_aside(path: Path) -> Iterator[Path]:
    """A file aside for a program that writes by itself; renamed to `path` if nothing is raised.

    What killed processes have left beside it is removed first.
    """
    remove_asides(path.parent)
    aside, descriptor = _begin_aside(path.parent)
    try:
        yield aside
        sync_file(aside)
        _put_in_place(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


@contextmanager
def folder_aside(parent: Path) -> Iterator[Path]:
    """A folder aside, which is removed at the end unless it was renamed.

    What killed processes have left of others is removed first.
    """
    _remove_folders_aside(parent)
    aside = aside_in(parent)
    aside.mkdir()
    descriptor = os.open(aside, _FOLDER)
    try:
        with suppress(OSError):  # as in `_begin_aside`
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(descriptor)


def append(path: Path, content: bytes) -> None:
    """Append to a file, all of it or nothing."""
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, content)
        except OSError:
            os.ftruncate(descriptor, size)  # a full disk takes a part
            raise
    finally:
        os.close(descriptor)


class Reserve:
    """Room for a last word of up to `size` bytes, kept free on a disk that may become full.

    Args:
        folder: where the word will be written.
        size: its most bytes.
    """

    def __init__(self, folder: Path, size: int):
        self._aside, self._descriptor = _begin_aside(folder)
        self._open = True
        try:
            _write_all(self._descriptor, b"\n" * size)
            os.fsync(self._descriptor)
        except BaseException:
            self.release()
            raise

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole without needing any more room; a reserve is used once."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        _write_all(self._descriptor, content)
        os.ftruncate(self._descriptor, len(content))
        os.fsync(self._descriptor)
        _put_in_place(self._aside, path)

    def release(self) -> None:
        """Give the room back; twice does no harm."""
        if self._open:
            self._open = False
            self._aside.unlink(missing_ok=True)
            os.close(self._descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and those above it where they are missing.

    Raises:
        InputError: a link or a file has its name.
    """
    with suppress(FileExistsError):
        path.mkdir(parents=True, exist_ok=True)
    check_folder(path)


def resolved(path: Path) -> Path:
    """A path without links; unlike `Path.resolve` it raises nothing where one leads to itself."""
    return Path(os.path.realpath(path))


def named_folder(path: Path) -> Path:
    """A folder as its user named it; where that is a link, what it leads to."""
    return resolved(path) if path.is_symlink() else path


def check_folder(path: Path) -> None:
    """Refuse a path that is there and is no folder itself.

    Raises:
        InputError: it is a link or a file.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise _linked(path)
    if not stat.S_ISDIR(mode):
        raise InputError(f"{path} is a file where a folder is needed; move it away")


def check_file(path: Path) -> None:
    """Refuse a path that is there and is no regular file itself.

    Raises:
        InputError: it is a link, a folder, a FIFO, a device or a socket.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise _linked(path)
    if not stat.S_ISREG(mode):
        raise _not_regular(path)


def refuse_links(folder: Path) -> None:
    """Refuse a folder that is a link or has one anywhere in it.

    Raises:
        InputError: naming the link.
    """
    check_folder(folder)
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise _linked(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))


def aside_in(folder: Path) -> Path:
    """A name for what is written aside or about to be removed; it always has the same length."""
    return folder / f".drspcrl-aside-{secrets.token_hex(8)}"


def is_aside(name: str) -> bool:
    """Whether a name is one of `aside_in`, or what an earlier version gave a file aside."""
    return bool(_ASIDE.fullmatch(name) or _EARLIER.fullmatch(name))


@contextmanager
def mark(folder: Path) -> Iterator[Path]:
    """A file in a folder for as long as the context lasts: whoever sees it sees this folder."""
    aside, descriptor = _begin_aside(folder)
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)
        os.close(descriptor)


def remove_asides(folder: Path) -> None:
    """Remove the files that killed processes left aside in a folder; none in use, nothing else."""
    with os.scandir(folder) as entries:
        names = [e.name for e in entries if is_aside(e.name) and e.is_file(follow_symlinks=False)]
    for name in names:
        # Whoever writes one holds it, without holding the folder: an evaluation beside a training.
        with suppress(OSError, InputError):
            _remove_unless_held(folder / name)


def remove_own(path: Path) -> None:
    """Remove a regular file whose name an index of ours has; anything else of that name stays."""
    with suppress(FileNotFoundError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)


def sync_file(path: Path) -> None:
    """Wait until what was written to a file is on the disk; one that is not there is no loss."""
    with suppress(FileNotFoundError):
        _sync_and_close(open_regular(path, os.O_RDWR))


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    _sync_and_close(os.open(folder, _FOLDER))


def _begin_aside(folder: Path) -> tuple[Path, int]:
    """A new file aside, held for as long as its descriptor is open."""
    while True:
        aside = aside_in(folder)
        descriptor = open_regular(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with suppress(OSError):  # a file system without locks: then nobody removes it either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if aside.exists():  # else somebody tidied up between the two lines
            return aside, descriptor
        os.close(descriptor)


def _remove_unless_held(path: Path) -> None:
    descriptor = open_regular(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)


def _remove_folders_aside(parent: Path) -> None:
    with os.scandir(parent) as entries:
        found = [e.name for e in entries if _ASIDE.fullmatch(e.name) and not e.is_symlink()]
    for name in found:
        with suppress(OSError):  # a file, or held by whoever writes it
            descriptor = os.open(parent / name, _FOLDER)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(parent / name)
            finally:
                os.close(descriptor)


def _put_in_place(aside: Path, path: Path) -> None:
    try:
        os.replace(aside, path)
    except IsADirectoryError:
        raise _not_regular(path) from None


def _write_all(descriptor: int, content: bytes | memoryview) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _sync_and_close(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_opened(path: Path, found: os.stat_result, writes: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _not_regular(path)
    if writes and found.st_nlink > 1:
        raise InputError(
            f"{path} is a hard link, so that writing to it would change a file elsewhere; put a "
            "copy in its place"
        )


def _linked(path: Path) -> InputError:
    return InputError(
        f"{path} is a symbolic link; the files and folders of a run, a grid or a digest must be "
        "there themselves: put what it leads to in its place, or remove it"
    )


def _not_regular(path: Path) -> InputError:
    return InputError(f"{path} is no regular file; move it away")
