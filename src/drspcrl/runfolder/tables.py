"""The tables of a run folder: metrics and evaluations as CSV, plain or packed as .xz.

Packed is small, the same text back, and no way to fill the memory. `unxz` reads it too. The
settings suit digits and commas, where they save a tenth.
"""

import csv
import hashlib
import io
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl import files
from drspcrl.errors import InputError

DEFAULT_SUITE = "paper"
EVALUATION_COLUMNS = ("perturbation", "level", "episode", "return", "length")
RECOVERY = "recovery"
"""A further column of evaluations with faults."""
SUFFIX = ".xz"
MAX_BYTES = 64 * 2**20
"""The most that a packed file may unfold to; a table of a million episodes has 40 MB."""
MOST_PLAIN = 2**30
"""The most bytes of a table that is not packed."""

_FILTERS = [
    {
        "id": lzma.FILTER_LZMA2,
        "preset": 9 | lzma.PRESET_EXTREME,
        "dict_size": 2**20,
        "lc": 4,
        "pb": 0,
    }
]
_MEMORY = 16 * 2**20  # for unpacking; a file that asks for more was not made here


@dataclass(frozen=True)
class Evaluation:
    """Episodes of one suite, one row each."""

    perturbation: np.ndarray
    level: np.ndarray
    episode: np.ndarray
    returns: np.ndarray
    length: np.ndarray
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Settings of the suite that the task has nothing for, each with the reason."""
    random_return: tuple[float, int] | None = None
    """Mean return of random actions and its episodes, where it was measured with the table."""
    statistic: str = "mean"
    """What sums it up: `mean` over perturbed settings, or the `worst` of their means."""
    recovery: np.ndarray | None = None
    """Steps until the return rate was back after a fault, where the suite has faults."""


def pack(text: str) -> bytes:
    """The text as the bytes of an .xz file; they hold no time and no name."""
    return lzma.compress(text.encode(), check=lzma.CHECK_CRC32, filters=_FILTERS)


def unpack(content: bytes, name: str) -> str:
    """The text in an .xz file.

    Args:
        content: The bytes of the file.
        name: What the file is called, for the message.

    Raises:
        InputError: It is damaged, breaks off, or is larger than any table of a run.
    """
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        unfolded = reader.decompress(content, max_length=MAX_BYTES + 1)
        text = unfolded.decode()
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    if len(unfolded) > MAX_BYTES:
        raise InputError(
            f"{name} unfolds to more than {MAX_BYTES // 2**20} MiB, which no run writes; if you "
            "trust it, unpack it with unxz"
        )
    if not reader.eof or reader.unused_data:
        raise InputError(f"{name} is damaged: it breaks off, or something follows its end")
    return text


def read_text(path: Path) -> str:
    """The text of a file, packed or not.

    Raises:
        InputError: It cannot be read, or is a link or no regular file.
    """
    try:
        if path.suffix != SUFFIX:
            return files.read_text(path, most=MOST_PLAIN)
        content = files.read_bytes(path, most=MAX_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from None
    return unpack(content, path.name)


def check_value(content: bytes) -> dict[str, Any]:
    """What `run.json` says of the rows of `metrics.csv`, so that damage to them is seen."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def as_written(text: str, check: Any) -> bool:
    """Whether a table begins as its check value says; rows may have been appended since.

    Folders of earlier versions have no check value.
    """
    if not isinstance(check, dict) or not isinstance(check.get("bytes"), int):
        return True
    return check_value(text.encode()[: check["bytes"]]) == check


def read_evaluation(path: str | Path) -> Evaluation:
    """Read one `evaluation.csv`, packed or not."""
    path = Path(path)
    header, rows = parse_csv(path, read_text(path))
    missing = [name for name in EVALUATION_COLUMNS if name not in header]
    if missing:
        raise InputError(f"{path.name} has no column {', '.join(missing)}")
    columns = dict(
        zip(header, zip(*rows, strict=True) if rows else [()] * len(header), strict=True)
    )
    level, episode, returns, length = (
        numbers(columns[name], path.name, name) for name in EVALUATION_COLUMNS[1:]
    )
    recovery = None
    if RECOVERY in columns:
        recovery = numbers(columns[RECOVERY], path.name, RECOVERY)
    return Evaluation(
        np.array(columns["perturbation"], str), level, episode, returns, length, recovery=recovery
    )


def parse_csv(path: Path, text: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows, each row as long as the header; a file that breaks off is refused."""
    if not text:
        return [], []
    if not text.endswith("\n"):
        raise InputError(f"{path.name} is half-written: its last line breaks off")
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except csv.Error as error:
        raise InputError(f"{path.name} cannot be read: {one_line(error)}") from None
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path.name} is damaged: line {number} has {len(row)} fields, not {len(header)}"
            )
    return header, rows


def numbers(column: Sequence[str], file: str, name: str) -> np.ndarray:
    """Parse a column; an empty field is a value that was not measured, nan."""
    try:
        return np.array([field or "nan" for field in column], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{file} is damaged: column {name}: {one_line(error)}") from None


def one_line(error: BaseException) -> str:
    """An error's message on one line."""
    return " ".join(str(error).split())
