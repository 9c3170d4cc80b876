"""One run's folder: what is written into it, and when."""

import errno
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from drspcrl.errors import InputError
from drspcrl.files import (
    Reserve,
    append,
    is_aside,
    read_bytes,
    refuse_links,
    remove_asides,
    remove_own,
    sync_file,
    write_durably,
)
from drspcrl.policy import POLICY_FILE, Policy, save_policy
from drspcrl.runfolder.checkpoint import FolderLock, Saved, Store
from drspcrl.runfolder.checkpoint.lock import LOCK_FILE
from drspcrl.runfolder.runs import (
    FORMAT_VERSION,
    METRICS_FILE,
    check_uncertainty,
    read_config,
    read_info,
)
from drspcrl.runfolder.tables import check_value
from drspcrl.training.config import Member, TrainConfig
from drspcrl.training.telemetry import EventWriter

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO)
BEST_POLICY_FILE = "policy-best.safetensors"
CONFIG_FILE, INFO_FILE = "config.yaml", "run.json"
FIRST_COLUMNS = (
    "step",
    "episode_return",
    "episode_length",
    "epsilon",
    "beta",
    "robust_value",
    "value_spread",
    "steps_per_second",
)


class RunFolder:
    """Writes one member's run folder; as a context it holds the folder against other processes.

    Args:
        path: the run folder.

    Attributes:
        path: the run folder.
        store: its checkpoints.
    """

    def __init__(self, path: Path):
        self.path, self.store = path, Store(path)
        self._lock: FolderLock | None = None
        self._columns: list[str] | None = None
        self._best: dict[str, Any] | None = None
        self._info: dict[str, Any] | None = None
        self._events: EventWriter | None = None
        self._reserve: Reserve | None = None

    @property
    def begun(self) -> bool:
        """Whether this process writes a run here."""
        return self._info is not None

    def begin(self, config: TrainConfig, member: Member, facts: Mapping[str, Any]) -> None:
        """Begin a run.

        Args:
            config: the training.
            member: the member.
            facts: versions, machine and commit, for run.json.
        """
        self._describe(config, member)
        info = {
            "format_version": FORMAT_VERSION,
            "env": config.env,
            "algorithm": config.algorithm,
            "method": member.method,
            "seed": member.seed,
            "status": "running",
            "started": _now(),
            **facts,
        }
        self._info = info
        self.note()
        self._keep_room()
        self._events = EventWriter(self.path) if config.tensorboard else None

    def resume(
        self, config: TrainConfig, member: Member, facts: Mapping[str, Any], saved: Saved
    ) -> list[str]:
        """Put the folder back to where a checkpoint was written.

        Returns:
            What could not be put back, in words.
        """
        self._describe(config, member)
        self.store.forget_after(saved.step)
        self.store.keep()  # what a kill left half-written, also if no further step is to be made
        info = dict(read_info(self.path))
        rows, lost = self._rows_at(saved.notes)
        earlier = info.get("resumed")
        pieces = [*(earlier if isinstance(earlier, list) else ()), _piece(saved.step)]
        self._best = saved.notes["best"]
        best = {} if self._best is None else {"best": self._best}
        for gone in ("best", "ended", "steps"):
            info.pop(gone, None)
        # Said before rows are cut off: a kill in between leaves rows that begin as it says.
        check = check_value(rows)
        own = {"status": "running", **facts, **best, "metrics": check, "resumed": pieces}
        self._info = info | own
        self.note()
        self._keep_room()
        self._put_back_rows(rows)
        self._put_back_policies(saved)
        self._events = EventWriter(self.path, saved.step) if config.tensorboard else None
        return lost

    def note(self, **changes: Any) -> None:
        """Change entries of run.json."""
        assert self._info is not None
        self._check_held()
        self._info.update(changes)
        write_durably(self.path / INFO_FILE, self._described_info())

    def add_row(self, row: Mapping[str, float]) -> None:
        """Append a row to metrics.csv, whole lines only, and to the TensorBoard events.

        The first row decides the columns, in an order that does not depend on the row's, which is
        another one after a resumption. A number that was not measured is nan or left out.
        """
        self._check_held()
        file = self.path / METRICS_FILE
        if self._columns is None:
            self._columns = [*FIRST_COLUMNS, *sorted(row.keys() - set(FIRST_COLUMNS))]
            write_durably(file, (",".join(self._columns) + "\n").encode())
        line = ",".join(_text(row.get(name, math.nan)) for name in self._columns) + "\n"
        append(file, line.encode())
        if self._events is not None:
            measured = {k: v for k, v in row.items() if k != "step" and not math.isnan(v)}
            self._events.add(int(row["step"]), measured)

    def offer_best(self, policy: Policy, step: int, mean_return: float) -> None:
        """Keep a policy if its evaluation beats all earlier ones."""
        if self._best is None or mean_return > self._best["return"]:
            self._best = {"step": step, "return": mean_return}
            save_policy(self.path / BEST_POLICY_FILE, policy)
            self.note(best=self._best)

    def save(self, step: int, parts: Mapping[str, Any], policy: Policy, total: int) -> None:
        """Write the newest policy and a checkpoint.

        Args:
            step: where the run stands.
            parts: everything that decides the future.
            policy: the newest policy.
            total: the length that the run is made for, which sizes in `parts` depend on.
        """
        self._check_held()
        save_policy(self.path / POLICY_FILE, policy)
        sync_file(self.path / METRICS_FILE)
        names = (POLICY_FILE, BEST_POLICY_FILE)
        files = {n: read_bytes(self.path / n) for n in names if (self.path / n).exists()}
        rows = check_value(self._rows())
        notes = {
            "total": total,
            "metrics_bytes": rows["bytes"],
            "metrics_sha256": rows["sha256"],
            "best": self._best,
        }
        self.store.write(step, parts, notes, files)

    def close(self, status: str, steps: int, **more: Any) -> None:
        """Say how it ended, also on a disk that is full by now."""
        assert self._info is not None
        events, self._events = self._events, None
        if events is not None:
            with suppress(OSError):  # what the disk did not take then, it does not take now
                events.close()
        check = check_value(self._rows())
        try:
            sync_file(self.path / METRICS_FILE)
            self.note(status=status, steps=steps, ended=_now(), metrics=check, **more)
        except OSError:
            if self._reserve is None:
                raise
            self._reserve.write(self.path / INFO_FILE, self._described_info())
        self._give_room_back()
        self._info = None

    def _check_held(self) -> None:
        if self._lock is not None:
            self._lock.check()

    def _describe(self, config: TrainConfig, member: Member) -> None:
        described = yaml.safe_dump(config.describe(member), sort_keys=False, allow_unicode=True)
        write_durably(self.path / CONFIG_FILE, described.encode())

    def _described_info(self) -> bytes:
        return (json.dumps(self._info, indent=2) + "\n").encode()

    def _rows(self) -> bytes:
        """The rows that are there."""
        try:
            return read_bytes(self.path / METRICS_FILE)
        except FileNotFoundError:
            return b""

    def _keep_room(self) -> None:
        """Keep room for the last word: status, steps, check value, and a fault."""
        self._give_room_back()
        self._reserve = Reserve(self.path, len(self._described_info()) + 4096)

    def _give_room_back(self) -> None:
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            reserve.release()

    def _put_back_policies(self, saved: Saved) -> None:
        for name in (POLICY_FILE, BEST_POLICY_FILE):
            if name in saved.files:
                write_durably(self.path / name, saved.files[name])
            else:
                remove_own(self.path / name)

    def _rows_at(self, notes: Mapping[str, Any]) -> tuple[bytes, list[str]]:
        """The rows there were when a checkpoint was written, and in words what is wrong."""
        file, size = self.path / METRICS_FILE, notes["metrics_bytes"]
        kept = self._rows()[:size]
        whole = kept[: kept.rfind(b"\n") + 1]
        sha256 = check_value(kept)["sha256"]
        if len(kept) < size:
            return whole, [
                f"{file} is shorter than it was at its checkpoint; rows are missing from it"
            ]
        if notes.get("metrics_sha256", sha256) != sha256:  # earlier versions noted none
            return whole, [f"{file} is damaged: its rows are not those of its checkpoint"]
        return whole, []

    def _put_back_rows(self, rows: bytes) -> None:
        file = self.path / METRICS_FILE
        if not rows:
            remove_own(file)
            return
        if rows != self._rows():
            write_durably(file, rows)
        self._columns = rows.decode("utf-8", "replace").split("\n", 1)[0].split(",")

    def __enter__(self) -> "RunFolder":
        refuse_links(self.path)
        self._lock = FolderLock(self.path)
        remove_asides(self.path)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._give_room_back()
        if self._lock is not None:
            self._lock.release()


@contextmanager
def held(paths: Sequence[Path]) -> Iterator[list[RunFolder]]:
    """Existing run folders, held against other processes.

    Raises:
        InputError: another process holds one of them, or one has a link in it.
    """
    for path in paths:  # before the first lock is made
        refuse_links(path)
    with ExitStack() as stack:
        yield [stack.enter_context(RunFolder(path)) for path in paths]


@contextmanager
def held_new(config: TrainConfig) -> Iterator[list[RunFolder]]:
    """New run folders for all members, held against other processes.

    Raises:
        InputError: one already holds a run, or cannot be made.
    """
    check_unused(config)
    paths = [config.folder(member) for member in config.members]
    made = [path for path in paths if not path.exists()]
    for path in made:
        path.mkdir(exist_ok=True)
    try:
        with held(paths) as folders:
            check_unused(config)  # again: somebody may have been quicker
            yield folders
    finally:
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def check_unused(config: TrainConfig) -> None:
    """Raise an `InputError` if a member's folder already holds a run or cannot be made.

    So does an output folder that holds runs of the other form of uncertainty.
    """
    for path in map(config.folder, config.members):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise InputError(f"{path} is a file or a link, where a run folder is to be made")
        if path.exists() and not _unbegun(path):
            what = "a run" if (path / INFO_FILE).exists() else "something else"
            raise InputError(
                f"{path} already holds {what}; continue with `drspcrl resume`, choose another out, "
                "or remove it"
            )
    check_uncertainty(config.out, config.uncertainty)
    try:
        config.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out {config.out} cannot be made: {error.strerror}") from None
    if not os.access(config.out, os.W_OK):
        raise InputError(f"out {config.out} cannot be written to; choose another folder")


def is_empty(path: Path) -> bool:
    """Whether a folder holds nothing but what a process writes before it begins a run."""
    return all(entry.name == LOCK_FILE or is_aside(entry.name) for entry in path.iterdir())


def _unbegun(path: Path) -> bool:
    """Whether a folder holds no run yet: nothing, or what is left by a kill before its run.json."""
    if is_empty(path):
        return True
    names = {entry.name for entry in path.iterdir() if not is_aside(entry.name)}
    if names - {LOCK_FILE, CONFIG_FILE}:
        return False
    try:
        return "population" in read_config(path)
    except InputError:
        return False


def _text(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.9g}"


def _piece(step: int) -> dict[str, Any]:
    return {"step": step, "at": _now()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def one_line_for_the_disk(out: Path) -> Iterator[None]:
    """An `InputError` where the disk is full or may not be written to."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        raise InputError(
            f"{error.filename or out} cannot be written: {error.strerror}; what was saved before "
            f"is whole: make room, then drspcrl resume {out}"
        ) from error
