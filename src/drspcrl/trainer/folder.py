"""The run folder of one member: what is written, and how it is never half there."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from drspcrl.checkpoint import FolderLock, Saved, Store
from drspcrl.checkpoint.durable import sync_file, write_durably
from drspcrl.errors import InputError
from drspcrl.policy import POLICY_FILE, Policy, save_policy
from drspcrl.runs import FORMAT_VERSION, check_uncertainty, read_info
from drspcrl.trainer.config import Member, TrainConfig
from drspcrl.trainer.events import EventWriter

BEST_POLICY_FILE = "policy-best.safetensors"
METRICS_FILE = "metrics.csv"
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
        self._events = EventWriter(self.path) if config.tensorboard else None

    def go_on(
        self, config: TrainConfig, member: Member, facts: Mapping[str, Any], saved: Saved
    ) -> list[str]:
        """Put the folder back to where a checkpoint was written.

        Returns:
            What could not be put back, in words.
        """
        self._describe(config, member)
        self.store.forget_after(saved.step)
        info = dict(read_info(self.path))
        pieces = [*info.get("resumed", ()), {"step": saved.step, "at": _now()}]
        self._best = saved.notes["best"]
        best = {} if self._best is None else {"best": self._best}
        for gone in ("best", "ended", "steps"):
            info.pop(gone, None)
        self._info = info | {"status": "running", **facts, **best, "resumed": pieces}
        self.note()
        self._put_back_policies(saved)
        self._events = EventWriter(self.path, saved.step) if config.tensorboard else None
        return self._put_back_rows(saved.notes["metrics_bytes"])

    def note(self, **changes: Any) -> None:
        """Change entries of run.json."""
        assert self._info is not None
        self._info.update(changes)
        write_text(self.path / "run.json", json.dumps(self._info, indent=2) + "\n")

    def add_row(self, row: Mapping[str, float]) -> None:
        """Append a row to metrics.csv, whole lines only, and to the TensorBoard events.

        The first row decides the columns; a number that was not measured is nan or left out.
        """
        file = self.path / METRICS_FILE
        if self._columns is None:
            self._columns = [*FIRST_COLUMNS, *(k for k in row if k not in FIRST_COLUMNS)]
            write_text(file, ",".join(self._columns) + "\n")
        line = ",".join(_text(row.get(name, math.nan)) for name in self._columns) + "\n"
        with open(file, "a", encoding="utf-8") as opened:
            opened.write(line)
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
        save_policy(self.path / POLICY_FILE, policy)
        metrics = self.path / METRICS_FILE
        sync_file(metrics)
        names = (POLICY_FILE, BEST_POLICY_FILE)
        files = {n: (self.path / n).read_bytes() for n in names if (self.path / n).exists()}
        notes = {
            "total": total,
            "metrics_bytes": metrics.stat().st_size if metrics.exists() else 0,
            "best": self._best,
        }
        self.store.write(step, parts, notes, files)

    def close(self, status: str, steps: int, **more: Any) -> None:
        """Say how it ended."""
        events, self._events = self._events, None
        if events is not None:
            events.close()
        self.note(status=status, steps=steps, ended=_now(), **more)
        self._info = None

    def _describe(self, config: TrainConfig, member: Member) -> None:
        described = yaml.safe_dump(config.describe(member), sort_keys=False, allow_unicode=True)
        write_text(self.path / "config.yaml", described)

    def _put_back_policies(self, saved: Saved) -> None:
        for name in (POLICY_FILE, BEST_POLICY_FILE):
            if name in saved.files:
                write_durably(self.path / name, saved.files[name])
            else:
                (self.path / name).unlink(missing_ok=True)

    def _put_back_rows(self, size: int) -> list[str]:
        file = self.path / METRICS_FILE
        there = file.stat().st_size if file.exists() else 0
        if size == 0:
            file.unlink(missing_ok=True)
            return []
        with open(file, "a+b") as opened:
            opened.seek(0)
            kept = opened.read(size)
            whole = kept[: kept.rfind(b"\n") + 1]
            opened.truncate(len(whole))
        if whole:
            self._columns = whole.decode("utf-8", "replace").split("\n", 1)[0].split(",")
        if there < size:
            return [f"{file} is shorter than it was at its checkpoint; rows are missing from it"]
        return []

    def __enter__(self) -> "RunFolder":
        self._lock = FolderLock(self.path)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._lock is not None:
            self._lock.release()


@contextmanager
def held(paths: Sequence[Path]) -> Iterator[list[RunFolder]]:
    """Existing run folders, held against other processes.

    Raises:
        InputError: another process holds one of them.
    """
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
        if path.exists() and any(entry.name != ".lock" for entry in path.iterdir()):
            what = "a run" if (path / "run.json").exists() else "something else"
            raise InputError(
                f"{path} already holds {what}; go on with `drspcrl resume`, choose another out, "
                "or remove it"
            )
    check_uncertainty(config.out, config.uncertainty)
    try:
        config.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out {config.out} cannot be made: {error.strerror}") from None
    if not os.access(config.out, os.W_OK):
        raise InputError(f"out {config.out} cannot be written to; choose another folder")


def write_text(path: Path, text: str) -> None:
    """Write a file aside and rename it into place."""
    write_durably(path, text.encode())


def _text(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.9g}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
