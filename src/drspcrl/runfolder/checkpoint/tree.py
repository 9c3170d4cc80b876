"""What a checkpoint is made of: trees as flat dictionaries, and large arrays in blocks.

Every leaf of a tree stands under the path that leads to it. A leaf is an array of NumPy or JAX, an
array of JAX's random keys, or a plain int, float, bool or text. Nodes are whatever JAX takes for
one: dictionaries, tuples, named tuples, lists. In a population's tree an array's first axis counts
members; a plain value, or an array without axes, belongs to all.

A block is a file named by its content, so that what did not change is not rewritten. A replay
buffer changes in a few rows between two checkpoints. It is cut along its longest axis, and only
blocks that the folder does not hold yet are written; rows that are still empty are all the same
block. Any array works, whatever its rows mean.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from drspcrl.display import shown
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

if TYPE_CHECKING:
    from drspcrl.runfolder.checkpoint.store import Saved


def flatten(tree: Any) -> dict[str, Any]:
    """The leaves by path, e.g. `state/actor/0/kernel`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    flat = {_name(path): leaf for path, leaf in leaves}
    if len(flat) != len(leaves):
        raise ValueError("two leaves of the tree have the same path")
    return flat


def paths_like(template: Any) -> tuple[list[str], Any]:
    """The paths of a template's leaves in order, and what puts leaves together again."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    return [_name(path) for path, _ in leaves], structure


def is_plain(leaf: Any) -> bool:
    """Whether a leaf is a plain value; NumPy's float64, a kind of float to Python, is an array."""
    return isinstance(leaf, bool | int | float | str) and not isinstance(leaf, np.generic)


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of random keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def to_host(leaf: Any) -> Any:
    """A leaf as a NumPy array or a plain value; of random keys, their data."""
    if is_plain(leaf):
        return leaf
    if is_key(leaf):
        leaf = jax.random.key_data(leaf)
    found = np.asarray(leaf)
    if found.dtype.hasobject:
        raise TypeError(f"a checkpoint holds arrays and plain values, not {type(leaf).__name__}")
    return found


def to_place(value: Any, template: Any) -> Any:
    """What `to_host` gave, as the kind of leaf that the template is and where the template is.

    Raises:
        ValueError: it has another type or shape than the template.
    """
    if is_plain(template):
        value = value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray) else value
        if type(value) is not type(template):
            raise ValueError(f"{type(value).__name__} where {type(template).__name__} is needed")
        return value
    like = jax.random.key_data(template) if is_key(template) else template
    if is_plain(value) and like.ndim == 0:
        value = np.asarray(value, like.dtype)
    if (np.shape(value), np.asarray(value).dtype) != (like.shape, like.dtype):
        found = f"{np.asarray(value).dtype}{list(np.shape(value))}"
        raise ValueError(f"{found} where {like.dtype}{list(like.shape)} is needed")
    if isinstance(template, np.generic):
        return value[()]
    if not isinstance(template, jax.Array):
        return np.array(value)
    # Without aliasing: the loops donate these buffers, and NumPy must not see what becomes of them.
    placed = jax.device_put(value, like.sharding, may_alias=False)
    return jax.random.wrap_key_data(placed, impl=_kind(template)) if is_key(template) else placed


def _kind(keys: Any) -> Any:
    return jax.random.key_impl(keys)


def _name(path: Any) -> str:
    return "/".join(str(_word(part)) for part in path)


def _word(part: Any) -> Any:
    for attribute in ("name", "key", "idx"):
        if hasattr(part, attribute):
            return getattr(part, attribute)
    raise TypeError(f"{part!r} is no part of a path that a checkpoint can name")


# A number that is traced, so that member 34 needs no program of its own.
_take = jax.jit(lambda array, k: lax.dynamic_index_in_dim(array, k, keepdims=False))


def member(tree: Any, k: int) -> Any:
    """Member k of a population's tree, to be written before the population continues.

    On a CPU the arrays are views of memory that the next update may reuse.
    """
    return jax.tree.map(lambda leaf: _row(leaf, k), tree)


def join(saved: "Sequence[Saved]", part: str, template: Any) -> Any:
    """The population's tree from a checkpoint of each member.

    Args:
        saved: the members' checkpoints.
        part: which part of them.
        template: the population's tree as it is now: structure, types, shapes and devices.

    Raises:
        InputError: a checkpoint does not fit the template.
    """
    paths, structure = paths_like(template)
    leaves = []
    for path, leaf in zip(paths, jax.tree.leaves(template), strict=True):
        shared = is_plain(leaf) or np.ndim(leaf) == 0
        value = saved[0].value(part, path) if shared else _stack(saved, part, path, leaf)
        with saved[0].fitting(part, path):
            leaves.append(to_place(value, leaf))
    return jax.tree.unflatten(structure, leaves)


def _stack(saved: "Sequence[Saved]", part: str, path: str, leaf: Any) -> np.ndarray:
    like = jax.random.key_data(leaf) if is_key(leaf) else leaf
    whole = np.empty(like.shape, like.dtype)
    for k, one in enumerate(saved):
        value = one.value(part, path)
        with one.fitting(part, path):
            to_place(value, whole[k])  # a broadcast would hide another shape
        whole[k] = value
    return whole


def _row(leaf: Any, k: int) -> Any:
    if is_plain(leaf) or np.ndim(leaf) == 0:
        return leaf
    if not isinstance(leaf, jax.Array) or is_key(leaf):
        return leaf[k]
    # On a CPU NumPy looks at the device's own memory, without a copy.
    on_host = all(device.platform == "cpu" for device in leaf.devices())
    return np.asarray(leaf)[k] if on_host else _take(leaf, np.int32(k))


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
        axis, rows, names = entry["axis"], entry["rows"], entry["blocks"]
        # Before anything is made of it: a few numbers can ask for any amount of memory.
        if not (0 <= axis < len(shape) and rows > 0 and len(names) <= _MOST_BLOCKS):
            raise InputError(f"{shown(shape)} is cut into blocks in a way that no run does")
        if len(names) != (needed := -(-shape[axis] // rows)):
            raise InputError(f"{len(names)} blocks where {needed} are needed")
        if sum(map(self._size, names)) != math.prod(shape) * dtype.itemsize:
            raise InputError("its blocks have another size than the array")
        array = np.empty(shape, dtype)
        parts = _cut(array, axis, rows)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for part, content in zip(parts, pool.map(self._get, names), strict=True):
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

    def _size(self, name: Any) -> int:
        # The name comes from a file; it must not lead elsewhere.
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"{shown(name)} is not the name of a block")
        try:
            return os.lstat(self._folder / name).st_size
        except OSError as error:
            raise _unreadable(name, error) from None

    def _get(self, name: str) -> bytes:
        try:
            content = read_bytes(self._folder / name)
        except OSError as error:
            raise _unreadable(name, error) from None
        if hashlib.sha256(content).hexdigest() != name:
            raise InputError(f"block {name[:12]}… is damaged")
        self._known.add(name)
        return content


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(f"block {name[:12]}… cannot be read: {error.strerror}")


def _cut(array: np.ndarray, axis: int, rows: int) -> Iterator[np.ndarray]:
    for first in range(0, array.shape[axis], rows):
        yield array[(slice(None),) * axis + (slice(first, first + rows),)]
