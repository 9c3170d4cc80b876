"""Large arrays in blocks, each a file named by its content: what did not change is not rewritten.

A replay buffer changes in a few rows between two checkpoints. It is cut along its longest axis, and
only blocks that the folder does not hold yet are written; rows that are still empty are all the
same block. Any array works, whatever its rows mean.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.errors import InputError
from drspcrl.files import (
    check_folder,
    make_folder,
    read_bytes,
    remove_asides,
    remove_own,
    sync_folder,
    write_durably,
)

LEAST_BYTES = 2**20
"""Arrays below this size are not worth a block."""

_MOST_BLOCKS = 64
_NAME = re.compile(r"[0-9a-f]{64}")


class Blocks:
    """The folder of the blocks.

    Args:
        folder: made when the first block is written.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        # Blocks that this process has read or written, so they are there and whole.
        self._known: set[str] = set()

    def write(self, array: np.ndarray) -> dict[str, Any]:
        """Write the blocks of an array that are not there yet; returns where to find them all."""
        axis = int(np.argmax(array.shape))
        pieces = min(_MOST_BLOCKS, max(1, array.nbytes // LEAST_BYTES))
        rows = -(-array.shape[axis] // pieces)
        make_folder(self._folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing and writing free the interpreter
            names = list(pool.map(self._put, _cut(array, axis, rows)))
        return {"axis": axis, "rows": rows, "blocks": names}

    def read(self, entry: dict[str, Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Put an array together again.

        Raises:
            InputError: a block is missing or damaged.
        """
        check_folder(self._folder)
        array = np.empty(shape, dtype)
        parts = list(_cut(array, entry["axis"], entry["rows"]))
        if len(parts) != len(entry["blocks"]):
            raise InputError(f"{len(entry['blocks'])} blocks where {len(parts)} are needed")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for part, content in zip(parts, pool.map(self._get, entry["blocks"]), strict=True):
                if len(content) != part.nbytes:
                    raise InputError("a block has another size than its place in the array")
                part[...] = np.frombuffer(content, dtype).reshape(part.shape)
        return array

    def sync(self) -> None:
        """Wait until the names of new blocks are on the disk."""
        if self._folder.is_dir():
            sync_folder(self._folder)

    def keep(self, names: set[str]) -> None:
        """Remove every other block, and what a crash left half-written; nothing else."""
        check_folder(self._folder)
        if not self._folder.is_dir():
            return
        for file in list(self._folder.iterdir()):
            if _NAME.fullmatch(file.name) and file.name not in names:
                remove_own(file)
        remove_asides(self._folder)
        self._known &= names

    def _put(self, part: np.ndarray) -> str:
        content = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        name = hashlib.sha256(content).hexdigest()
        if name not in self._known:
            write_durably(self._folder / name, content)
            self._known.add(name)
        return name

    def _get(self, name: str) -> bytes:
        # The name comes from a file; it must not lead elsewhere.
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is not the name of a block")
        try:
            content = read_bytes(self._folder / name)
        except OSError as error:
            raise InputError(f"block {name[:12]}… cannot be read: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != name:
            raise InputError(f"block {name[:12]}… is damaged")
        self._known.add(name)
        return content


def _cut(array: np.ndarray, axis: int, rows: int) -> Iterator[np.ndarray]:
    for first in range(0, array.shape[axis], rows):
        yield array[(slice(None),) * axis + (slice(first, first + rows),)]
