"""The checkpoints of one run folder.

    checkpoint/
      step-000000050000/     manifest.json, state.safetensors, files that go with it
      step-000000100000/
      blocks/                large arrays, shared by both

A checkpoint is written into a hidden folder, waited for, hashed and renamed, so one that can be
seen is whole. The manifest says what every leaf is, carries the hash of every file and its own.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.files import (
    aside_in,
    check_folder,
    is_aside,
    make_folder,
    read_bytes,
    remove_own,
    sync_folder,
    write_and_sync,
)
from drspcrl.reading import MOST_JSON, parse_json
from drspcrl.runfolder.checkpoint.tree import (
    LEAST_BYTES,
    Blocks,
    flatten,
    is_plain,
    paths_like,
    to_host,
    to_place,
)

FORMAT_VERSION = 1
FOLDER = "checkpoint"

_STATE, _MANIFEST = "state.safetensors", "manifest.json"
_STEP = re.compile(r"step-(\d{12})")
_FILE = re.compile(r"\w[\w.-]*")
# Folders aside as versions up to 0.1 named them.
_EARLIER = re.compile(r"\.+step-\d{12}(?:\.aside|\.doomed\.\d+)+")


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was read and found whole.

    Attributes:
        path: its folder.
        step: the step it was written at.
        notes: plain data that was given with it.
        files: files that were given with it, by name.
        leaves: every leaf by part and path, on the host.
    """

    path: Path
    step: int
    notes: Mapping[str, Any]
    files: Mapping[str, bytes]
    leaves: Mapping[str, Any]

    def value(self, part: str, path: str) -> Any:
        """One leaf, on the host.

        Raises:
            InputError: there is none.
        """
        name = f"{part}/{path}" if path else part
        if name not in self.leaves:
            raise InputError(
                f"{self.path} has no {name}; it was made by another version or configuration"
            )
        return self.leaves[name]

    def flat(self, part: str) -> dict[str, Any]:
        """A part as it was saved: its leaves by path."""
        start = f"{part}/"
        return {k.removeprefix(start): v for k, v in self.leaves.items() if k.startswith(start)}

    def like(self, part: str, template: Any) -> Any:
        """A part in the structure, on the devices and with the types of a template.

        Raises:
            InputError: it does not fit the template.
        """
        paths, structure = paths_like(template)
        leaves = []
        for path, leaf in zip(paths, jax.tree.leaves(template), strict=True):
            value = self.value(part, path)
            with self.fitting(part, path):
                leaves.append(to_place(value, leaf))
        return jax.tree.unflatten(structure, leaves)

    @contextmanager
    def fitting(self, part: str, path: str) -> Iterator[None]:
        """Say which leaf it was that did not fit."""
        try:
            yield
        except ValueError as error:
            raise InputError(f"{self.path} does not fit: {part}/{path} has {error}") from None


class Store:
    """Writes and reads the checkpoints of one run folder.

    Args:
        run: the run folder.
    """

    def __init__(self, run: Path):
        self._folder = run / FOLDER
        self._blocks = Blocks(self._folder / "blocks")
        # Names of files in checkpoints that were written or read here: what may be removed of one
        # that has no manifest.
        self._names = {_STATE, _MANIFEST}

    def steps(self) -> list[int]:
        """The steps of the checkpoints that are there, whole or not, oldest first."""
        check_folder(self._folder)
        if not self._folder.is_dir():
            return []
        names = (_STEP.fullmatch(entry.name) for entry in self._folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def write(
        self,
        step: int,
        parts: Mapping[str, Any],
        notes: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write a checkpoint; one of the same step is replaced, older ones stay.

        Args:
            step: where the run stands.
            parts: trees by name.
            notes: plain data, kept in the manifest.
            files: small files that belong to it, by name.
        """
        place, contents = self._place(step), dict(files or {})
        make_folder(self._folder)
        check_folder(place)
        self._names.update(contents)
        self._clear_asides()  # they take room that may be needed now
        aside = aside_in(self._folder)
        aside.mkdir()
        try:
            self._fill(aside, flatten(dict(parts)), contents, {"step": step, "notes": notes or {}})
        except OSError:
            self._empty(aside)
            raise
        if place.exists():
            self._remove(place)
        aside.rename(place)
        sync_folder(self._folder)

    def _fill(
        self,
        folder: Path,
        leaves: Mapping[str, Any],
        files: Mapping[str, bytes],
        about: Mapping[str, Any],
    ) -> None:
        """Write everything of a checkpoint, its manifest last, and wait for it."""
        entries, arrays = self._entries(leaves)
        contents = {_STATE: save(arrays), **files}
        for name, content in contents.items():
            write_and_sync(folder / name, content)
        digests = {name: _digest(content) for name, content in contents.items()}
        manifest = {"format_version": FORMAT_VERSION, "files": digests, "leaves": entries, **about}
        write_and_sync(folder / _MANIFEST, _sealed(manifest))
        self._blocks.sync()
        sync_folder(folder)

    def read(self, step: int) -> Saved:
        """Read a checkpoint and check all of it.

        Raises:
            InputError: something is missing or damaged.
        """
        place = self._place(step)
        try:
            check_folder(self._folder)
            check_folder(place)
            manifest = _opened(place / _MANIFEST)
            files = {name: _checked(place, name, sha) for name, sha in manifest["files"].items()}
            self._names.update(files)
            arrays = load(files.pop(_STATE))
            leaves = {
                name: self._leaf(name, entry, arrays) for name, entry in manifest["leaves"].items()
            }
            return Saved(place, int(manifest["step"]), manifest["notes"], files, leaves)
        except InputError as error:
            raise InputError(f"{place} cannot be used: {error}") from None
        except OSError as error:
            raise InputError(f"{place} cannot be read: {error.strerror}") from None
        except _DAMAGED as error:
            reason = brief(f"{type(error).__name__} {error}", 200)
            raise InputError(f"{place} is damaged: {reason}") from None

    def keep(self, count: int = 2) -> None:
        """Remove all but the newest checkpoints, and blocks that none of them uses."""
        for step in self.steps()[:-count]:
            self._remove(self._place(step))
        self._tidy()

    def forget_after(self, step: int) -> None:
        """Remove checkpoints newer than a step, which the run continues from."""
        for newer in self.steps():
            if newer > step:
                self._remove(self._place(newer))

    def _clear_asides(self) -> None:
        for left in list(self._folder.iterdir()):
            if is_aside(left.name) or _EARLIER.fullmatch(left.name):
                self._empty(left)

    def _tidy(self) -> None:
        self._clear_asides()
        used: set[str] = set()
        for step in self.steps():
            try:
                entries = _opened(self._place(step) / _MANIFEST)["leaves"].values()
                used.update(name for entry in entries for name in entry.get("blocks", ()))
            except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError):
                return  # what a damaged one uses is not known: keep every block
        self._blocks.keep(used)

    def _remove(self, place: Path) -> None:
        """Remove a checkpoint in such a way that what a crash leaves of it has a hidden name."""
        doomed = aside_in(self._folder)
        place.rename(doomed)
        self._empty(doomed)

    def _empty(self, doomed: Path) -> None:
        """Remove the files of a checkpoint, and its folder unless something foreign is in it."""
        if doomed.is_symlink() or not doomed.is_dir():
            return
        try:
            listed = set(map(str, _opened(doomed / _MANIFEST)["files"]))
        except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError):
            listed = set()
        # The manifest last, for as long as it is there it says what else is ours.
        for name in sorted((listed | self._names) - {_MANIFEST}):
            if _FILE.fullmatch(name):
                remove_own(doomed / name)
        if {entry.name for entry in doomed.iterdir()} <= {_MANIFEST}:
            remove_own(doomed / _MANIFEST)
            with suppress(OSError):  # a network's disk may hold a name for a file still in use
                doomed.rmdir()

    def _place(self, step: int) -> Path:
        return self._folder / f"step-{step:012d}"

    def _entries(
        self, leaves: Mapping[str, Any]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, np.ndarray]]:
        """What the manifest says of each leaf, and the arrays that are no blocks."""
        entries: dict[str, dict[str, Any]] = {}
        arrays: dict[str, np.ndarray] = {}
        for name, leaf in leaves.items():
            value = to_host(leaf)
            if is_plain(value):
                entries[name] = {"kind": type(value).__name__, "value": _text(value)}
                continue
            entry = {"kind": "array", "dtype": value.dtype.name, "shape": list(value.shape)}
            if value.nbytes >= LEAST_BYTES:
                entry |= self._blocks.write(value)
            else:
                arrays[name] = _as_bytes(value)
            entries[name] = entry
        return entries, arrays

    def _leaf(self, name: str, entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
        if entry["kind"] in _PLAIN_KINDS:
            return _PLAIN_KINDS[entry["kind"]](entry["value"])
        dtype, shape = jnp.dtype(entry["dtype"]), tuple(entry["shape"])
        if "blocks" in entry:
            return self._blocks.read(dict(entry), dtype, shape)
        return arrays[name].view(dtype).reshape(shape)


# What a manifest that was written by somebody else can lead to.
_DAMAGED = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError),
    SafetensorError,
)

_PLAIN_KINDS = {
    "bool": lambda text: {"True": True, "False": False}[text],
    "int": int,
    "float": float.fromhex,
    "str": str,
}


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, float) else str(value)


def _as_bytes(array: np.ndarray) -> np.ndarray:
    # As bytes, because safetensors does not know every type that JAX has.
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sealed(manifest: Mapping[str, Any]) -> bytes:
    body = json.dumps(manifest, sort_keys=True)
    return json.dumps({"manifest": body, "sha256": _digest(body.encode())}, indent=1).encode()


def _opened(path: Path) -> dict[str, Any]:
    content = read_bytes(path, most=MOST_JSON)
    try:
        sealed = parse_json(content)
        body = sealed["manifest"]
        whole = _digest(body.encode()) == sealed["sha256"]
        manifest = parse_json(body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole, manifest = False, {}
    if not whole or not isinstance(manifest, dict):
        raise InputError(f"{path.name} is damaged")
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(
            f"its format_version is {shown(version)}; this drspcrl reads {FORMAT_VERSION}"
        )
    return manifest


def _checked(folder: Path, name: str, sha256: str) -> bytes:
    # The name comes from a file; it must not lead elsewhere.
    if not _FILE.fullmatch(name):
        raise InputError(f"{shown(name)} is not the name of a file in it")
    content = read_bytes(folder / name)
    if _digest(content) != sha256:
        raise InputError(f"{name} is damaged")
    return content
