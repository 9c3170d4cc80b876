"""How a training goes: lines on a terminal, TensorBoard events, trackers."""

import math
import os
import struct
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from drspcrl.display import Pace, clock, literal_console, printable
from drspcrl.errors import InputError
from drspcrl.files import open_regular
from drspcrl.worlds.episodes import LOGGING, ROLES

if TYPE_CHECKING:
    from drspcrl.training.loop import Loop

_PLAIN_SECONDS = 10.0
_HEADINGS = ("method", "steps", "return", "ε", "β", "steps/s", "left")


class TrainProgress:
    """Shows where a population stands.

    Args:
        methods: the method of each member, in order.
        total: steps of each member.
        console: where to show it.
    """

    def __init__(self, methods: Sequence[str], total: int, console: Console | None = None):
        self._methods, self._total = list(methods), total
        self._pace = Pace(total)
        self._console = console or literal_console()
        self._live = Live(console=self._console, auto_refresh=False)
        self._shown = time.monotonic()
        self._returns = np.full(len(self._methods), math.nan)

    def __enter__(self) -> "TrainProgress":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, rows: Sequence[Mapping[str, float]]) -> None:
        """The newest row of each member; without a terminal, a line every ten seconds at most."""
        fresh = np.array([row["episode_return"] for row in rows])
        self._returns = np.where(np.isnan(fresh), self._returns, fresh)
        step = int(rows[0]["step"])
        seconds = self._pace.left(step)
        left = "done" if step >= self._total else "–" if seconds is None else clock(seconds)
        if self._console.is_terminal:
            self._live.update(self._table(step, left, rows), refresh=True)
            return
        now = time.monotonic()
        if now - self._shown >= _PLAIN_SECONDS or step >= self._total:
            self._shown = now
            for cells in self._lines(step, left, rows):
                pairs = zip(_HEADINGS, cells, strict=True)
                self._console.print(
                    "  ".join(f"{k} {v}" for k, v in pairs),
                    highlight=False,
                    markup=False,
                    soft_wrap=True,
                )

    def _table(self, step: int, left: str, rows: Sequence[Mapping[str, float]]) -> Table:
        table = Table(*_HEADINGS, box=None, pad_edge=False)
        for cells in self._lines(step, left, rows):
            table.add_row(*map(Text, cells))  # a method's name is no markup
        return table

    def _lines(
        self, step: int, left: str, rows: Sequence[Mapping[str, float]]
    ) -> list[tuple[str, ...]]:
        lines = []
        for method in dict.fromkeys(self._methods):
            mine = [i for i, name in enumerate(self._methods) if name == method]
            epsilon, beta, speed = (
                _mean([rows[i].get(name, math.nan) for i in mine])
                for name in ("epsilon", "beta", "steps_per_second")
            )
            lines.append(
                (
                    printable(method),
                    f"{step:,}/{self._total:,}",
                    _number(_mean(self._returns[mine]), ".1f"),
                    _number(epsilon, ".3f"),
                    _number(beta, ".3g"),
                    _number(speed * len(mine), ",.0f"),
                    left,
                )
            )
        return lines


def _mean(values: Sequence[float] | np.ndarray) -> float:
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else math.nan


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types
_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits reversed


class EventWriter:
    """Appends scalars to a new event file of a run folder.

    Args:
        folder: the run folder.
        after: a step whose later events in earlier files no longer count, None for none.
    """

    def __init__(self, folder: Path, after: int | None = None):
        name = f"events.out.tfevents.{time.time_ns() // 10**9}.{os.getpid()}"
        descriptor = open_regular(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._file = os.fdopen(descriptor, "ab")  # stays open for the whole run
        self._write(_field(3, _BYTES, _sized(b"brain.Event:2")))
        if after is not None:
            # A session that starts at a step: TensorBoard drops what it knows from there on.
            start = _field(7, _BYTES, _sized(_field(1, _VARINT, _varint(1))))
            self._write(_field(2, _VARINT, _varint(after + 1)) + start)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """One event with several scalars."""
        values = b"".join(
            _field(1, _BYTES, _sized(_scalar(name, value))) for name, value in scalars.items()
        )
        self._write(_field(2, _VARINT, _varint(step)) + _field(5, _BYTES, _sized(values)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, content: bytes) -> None:
        event = _field(1, _DOUBLE, struct.pack("<d", time.time())) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()


def _scalar(name: str, value: float) -> bytes:
    tag = _field(1, _BYTES, _sized(name.encode()))
    return tag + _field(2, _FLOAT, struct.pack("<f", value))


def _field(number: int, wire: int, content: bytes) -> bytes:
    return _varint(number << 3 | wire) + content


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(groups) + bytes([number])


def _table() -> tuple[int, ...]:
    def entry(byte: int) -> int:
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        return byte

    return tuple(entry(byte) for byte in range(256))


_TABLE = _table()


def crc32c(content: bytes) -> int:
    """The Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _checksum(content: bytes) -> bytes:
    """The checksum as records store it: rotated and shifted, so that it is not one of itself."""
    crc = crc32c(content)
    rotated = crc >> 15 | crc << 17 & 0xFFFFFFFF
    return struct.pack("<I", (rotated + 0xA282EAD8) & 0xFFFFFFFF)


class Tracker:
    """Logs all members of a population as one tracked run, each under its own prefix.

    Args:
        name: `trackio`, `wandb`, or `none` for no tracking.
        project: the project to log to.
        config: what to record with it.

    Raises:
        InputError: the tracker is not installed.
    """

    def __init__(self, name: str, project: str, config: Mapping[str, Any]):
        self._run: Any = None
        if name == "none":
            return
        try:
            module = import_module(name)
        except ImportError:
            raise InputError(
                f"track is {name!r}, which is not installed; pip install 'drspcrl[tracking]'"
            ) from None
        self._run = module.init(project=project, config=dict(config))

    def log(self, prefix: str, step: int, row: Mapping[str, float]) -> None:
        """One row of one member."""
        if self._run is not None:
            self._run.log({f"{prefix}/{name}": value for name, value in row.items()}, step=step)

    def close(self) -> None:
        """Say that no more is coming."""
        if self._run is not None:
            self._run.finish()


def member_rows(loop: "Loop", speed: float, scores: np.ndarray | None) -> list[dict[str, float]]:
    """A row of metrics.csv for each member: episodes since the last one, updates, worlds.

    Args:
        loop: the population.
        speed: steps per second since the last row.
        scores: mean return of the evaluation, [M], nan where none is due; None in a training
            without evaluations.
    """
    count, returns, lengths = loop.collector.episodes.take(LOGGING)
    radii = np.asarray(loop.uncertainty.epsilon)
    learned = {name: np.asarray(values) for name, values in loop.metrics.items()}
    measured = learned | _world_numbers(loop)
    rows = []
    for k in range(len(returns)):
        row: dict[str, float] = {
            "step": loop.steps,
            "episode_return": float(returns[k]),
            "episode_length": float(lengths[k]),
            "epsilon": float(radii[k]),
            "steps_per_second": speed,
            "episodes": int(count[k]),
        }
        if scores is not None:
            row["evaluation_return"] = float(scores[k])
        rows.append(row | {name: float(values[k]) for name, values in measured.items()})
    return rows


def _world_numbers(loop: "Loop") -> dict[str, np.ndarray]:
    """What the episodes in worlds gave, [M] each; nothing where there are none."""
    worlds = loop.collector.worlds
    if worlds is None:
        return {}
    means = worlds.take(LOGGING)
    returns = {f"{role}_return": means[:, k] for k, role in enumerate(ROLES) if k}
    return worlds.newest | returns
