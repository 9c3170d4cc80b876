"""Run folders carried between machines that share no disk, in messages of plain data.

A checkpoint is carried whole or not at all: its large arrays first, which are files named by their
content and carried once, then all other files of the run, then the checkpoint in one message. So
whatever ends in between, the other side can continue from what has arrived, and carrying the same
again changes nothing.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from drspcrl.errors import InputError
from drspcrl.experiments.states import OVER, run_state
from drspcrl.files import aside_in, make_folder, read_bytes, write_and_sync, write_durably

Message = Mapping[str, Any]
"""`files`: contents by path; `checkpoints`: folders of such; `tidy`: runs to rid of what is old."""

PATIENCE = 120.0
"""Seconds for whoever still writes a run folder."""

_CHECKPOINTS, _BLOCKS = "checkpoint", "checkpoint/blocks"
_MOST = 2**24  # bytes of small files in one message


def progress(out: Path, runs: Sequence[str]) -> float:
    """How far a population has come in a folder: a step, -1 without a checkpoint, inf when over."""
    states = {run: run_state(out / run, "") for run in runs}
    living = [set(_steps(out / run)) for run, state in states.items() if state != "diverged"]
    if all(state in OVER for state in states.values()):
        return float("inf")
    return max((int(step[5:]) for step in set.intersection(*living)), default=-1)


def bring(source: Path, out: Path, runs: Sequence[str]) -> None:
    """Replace what a folder has of a population if another folder has come further.

    Raises:
        InputError: somebody else is at work on a run.
    """
    if progress(source, runs) <= progress(out, runs):
        return
    with Copy(out, runs) as copy:
        for message in Packer(source, runs).pack():
            copy.take(message)


class Packer:
    """Makes messages of what is new in run folders since it last did.

    Args:
        out: the folder that the paths of the runs are relative to.
        runs: the run folders.
        checkpoints: whether checkpoints are carried.
        written: whether a training may be writing there.
    """

    def __init__(
        self, out: Path, runs: Sequence[str], checkpoints: bool = True, written: bool = False
    ):
        self._out, self._runs = out, runs
        self._checkpoints, self._written = checkpoints, written
        self._carried = set[str]()  # steps and blocks
        self._seen = dict[str, tuple[int, int]]()

    @property
    def due(self) -> bool:
        """Whether there is a checkpoint that has not been carried."""
        return self._checkpoints and any(
            f"{run}/{step}" not in self._carried
            for run in self._runs
            for step in _steps(self._out / run)
        )

    def skip(self) -> None:
        """Take what is there for carried."""
        for run in self._runs:
            self._carried.update(f"{run}/{step}" for step in _steps(self._out / run))
            for block in (self._out / run / _BLOCKS).glob("[!.]*"):
                self._carried.add(f"{run}/{_BLOCKS}/{block.name}")
            for file in _plain_files(self._out / run):
                self._note(run, file)

    def pack(self) -> Iterator[Message]:
        """What is new, in an order in which nothing is lost wherever it ends."""
        if not self.due:
            yield from _portions(self._changed())
            return
        with ExitStack() as stack:
            places = {run: self._pinned(run, stack) for run in self._runs}
            for run, place in places.items():
                yield from _portions(self._new_blocks(run, place))
            yield from _portions(self._changed())
            for run, place in places.items():
                for step in _steps(place):
                    yield from self._checkpoint(run, place, step)
            yield {"tidy": list(self._runs)}

    def _pinned(self, run: str, stack: ExitStack) -> Path:
        """A place where checkpoints stay while a training goes on to newer ones."""
        if not self._written:
            return self._out / run
        pinned = aside_in(self._out)
        stack.callback(shutil.rmtree, pinned, ignore_errors=True)
        pin(self._out / run, pinned)
        return pinned

    def _new_blocks(self, run: str, place: Path) -> Iterator[tuple[str, bytes]]:
        folder = place / _BLOCKS
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = f"{run}/{_BLOCKS}/{file.name}"
            if name not in self._carried and not file.name.startswith("."):
                yield name, read_bytes(file)
                self._carried.add(name)

    def _changed(self) -> Iterator[tuple[str, bytes]]:
        """The files of the runs beside their checkpoints; what is hidden is a lock or aside."""
        for run in self._runs:
            for file in _plain_files(self._out / run):
                if self._note(run, file):
                    yield f"{run}/{file.name}", read_bytes(file)

    def _note(self, run: str, file: Path) -> bool:
        """Whether a file is new or has changed since this was last asked."""
        name, found = f"{run}/{file.name}", file.stat()
        before, self._seen[name] = self._seen.get(name), (found.st_mtime_ns, found.st_size)
        return before != self._seen[name]

    def _checkpoint(self, run: str, place: Path, step: str) -> Iterator[Message]:
        if f"{run}/{step}" not in self._carried:
            folder = place / _CHECKPOINTS / step
            content = {file.name: read_bytes(file) for file in sorted(folder.iterdir())}
            yield {"checkpoints": {f"{run}/{_CHECKPOINTS}/{step}": content}}
            self._carried.add(f"{run}/{step}")


class Copy:
    """Takes messages into a folder; as a context it holds the runs against other processes.

    Args:
        out: the folder that the paths of the runs are relative to.
        runs: the run folders.
        patience: seconds to wait for whoever still writes there.

    Raises:
        InputError: somebody else is at work on a run and does not end.
    """

    def __init__(self, out: Path, runs: Sequence[str], patience: float = PATIENCE):
        self._out, self._runs, self._patience = out, runs, patience
        self._locks = ExitStack()

    def __enter__(self) -> "Copy":
        with ExitStack() as stack:
            for run in self._runs:
                make_folder(self._out / run)
                stack.callback(patient_lock(self._out / run, self._patience).release)
            self._locks = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._locks.close()

    def take(self, message: Message) -> None:
        """Write what a message holds; twice does no harm, but to a log."""
        for name, content in message.get("files", {}).items():
            path = self._inside(name)
            if not (_BLOCKS in name and path.exists()):  # a block of that name is the same
                make_folder(path.parent)
                write_durably(path, content)
        for name, files in message.get("checkpoints", {}).items():
            self._place(self._inside(name), files)
        for run in message.get("tidy", ()):
            self._tidy(self._inside(run))

    def _inside(self, name: str) -> Path:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise InputError(f"a message has {name!r}, which is outside of its folder")
        return self._out / path

    def _place(self, place: Path, files: Mapping[str, bytes]) -> None:
        """A checkpoint, visible when it is whole; one of the same step is the same."""
        if place.is_dir():
            return
        make_folder(place.parent)
        aside = aside_in(place.parent)
        aside.mkdir()
        for name, content in files.items():
            write_and_sync(aside / PurePosixPath(name).name, content)
        aside.rename(place)

    def _tidy(self, run: Path) -> None:
        from drspcrl.runfolder.checkpoint import Store

        if (run / _CHECKPOINTS).is_dir():
            Store(run).keep()


def pin(run: Path, place: Path) -> None:
    """Give the checkpoints of a run a second name, under which they stay when the first goes.

    One that goes before all of it has a second name is left out.
    """
    for step in _steps(run):
        with suppress(FileNotFoundError):
            _link_files(run / _CHECKPOINTS / step, place / _CHECKPOINTS / step)
    if (run / _BLOCKS).is_dir():
        _link_files(run / _BLOCKS, place / _BLOCKS)
    for gone in set(_steps(place)) - set(_steps(run)):
        shutil.rmtree(place / _CHECKPOINTS / gone)


def patient_lock(folder: Path, patience: float = PATIENCE) -> Any:
    """Hold a run folder; a process whose grid has just died needs a moment to leave it.

    Raises:
        InputError: somebody else holds it and does not end.
    """
    from drspcrl.runfolder.checkpoint import FolderLock

    end = time.monotonic() + patience
    while True:
        try:
            return FolderLock(folder)
        except InputError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def _link_files(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.iterdir():
        try:
            if not file.name.startswith("."):
                os.link(file, target / file.name)
        except FileNotFoundError:
            continue  # a block that no checkpoint needs any more
        except OSError:  # a file system without second names
            shutil.copyfile(file, target / file.name)


def _steps(run: Path) -> list[str]:
    """The names of the checkpoints of a run, oldest first."""
    return sorted(path.name for path in (run / _CHECKPOINTS).glob("step-" + "[0-9]" * 12))


def _plain_files(run: Path) -> list[Path]:
    entries = sorted(run.iterdir()) if run.is_dir() else []
    return [entry for entry in entries if entry.is_file() and not entry.name.startswith(".")]


def _portions(files: Iterator[tuple[str, bytes]]) -> Iterator[Message]:
    """Files in messages of a bearable size."""
    portion, size = dict[str, bytes](), 0
    for name, content in files:
        if portion and size + len(content) > _MOST:
            yield {"files": portion}
            portion, size = {}, 0
        portion[name] = content
        size += len(content)
    if portion:
        yield {"files": portion}
