"""Tensors out of a file of `torch.save`, without torch and without running anything.

Such a file is a zip archive: `data.pkl` describes the tensors, `data/0`, `data/1`, … hold their
numbers. `data.pkl` is a pickle, that is, a program. Here its instructions are read one by one, and
only those are followed that make texts, numbers, mappings and tensors; any other is refused.
"""

import io
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from tokenize import TokenError
from typing import Any, ClassVar, Literal

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.errors import InputError

MOST_BYTES = 2**28
"""The most bytes of a member of an archive; a policy's network has a hundredth."""
_MOST_OF_ARRAYS = 2**24
"""The most bytes of all arrays of statistics together; those of an image have a tenth."""
_LONGEST_PROGRAM = 2**24  # bytes
_MOST_INSTRUCTIONS = 200_000
_LONGEST_SHAPE = 8
# Any other may ask for gigabytes to unpack a few bytes, and torch stores.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_TYPES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


def read_tensors(content: bytes) -> dict[str, np.ndarray]:
    """The tensors of a mapping of names to tensors that `torch.save` wrote, such as a state_dict.

    Raises:
        InputError: it is no such file, is damaged, or holds anything but tensors.
    """
    archive = open_archive(content)
    found = [name for name in archive.namelist() if name.split("/")[1:] == ["data.pkl"]]
    if len(found) != 1:
        raise InputError("it is no file of torch.save in the form that torch has since 1.6")
    root = found[0].split("/")[0]
    order = ">" if _optional(archive, f"{root}/byteorder") == b"big" else "<"
    program = read_member(archive, found[0], min(_LONGEST_PROGRAM, MOST_BYTES))
    state = _Reader(lambda key: read_member(archive, f"{root}/data/{key}"), order).read(program)
    if not isinstance(state, dict) or not all(isinstance(t, np.ndarray) for t in state.values()):
        raise InputError("it holds no mapping of names to tensors")
    return {str(name): tensor for name, tensor in state.items()}


def read_npz(content: bytes, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Those numeric arrays of these names that `numpy.savez` wrote; no others are unpacked.

    Raises:
        InputError: it is no such file or is damaged, or what is read holds anything but numbers or
            more than is needed.
    """
    archive = open_archive(content)
    there, left = frozenset(archive.namelist()), _MOST_OF_ARRAYS
    found = {}
    for name in names:
        if (member := f"{name}.npy") in there:
            array = read_member(archive, member, left)
            left -= len(array)
            found[name] = _read_npy(array, member)
    return found


# NumPy reads the header, a text, by a parser and in need by a tokenizer.
_WRONG_HEADER = (LookupError, ValueError, TypeError, OverflowError, SyntaxError, TokenError)


def _read_npy(content: bytes, name: str) -> np.ndarray:
    """The array of a .npy file; one whose header promises more than is there is refused."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = header(file)
        numbers = np.frombuffer(content[file.tell() :], dtype)
        if dtype.kind not in "biuf":
            raise InputError(f"its {brief(name, 100)} holds no numbers")
        return numbers.reshape(shape, order="F" if by_columns else "C")
    except InputError:
        raise
    except _WRONG_HEADER as error:
        raise InputError(f"its {brief(name, 100)} is damaged: {brief(error, 200)}") from None


def open_archive(content: bytes) -> zipfile.ZipFile:
    """A zip archive.

    Raises:
        InputError: it is none.
    """
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (*_DAMAGED, NotImplementedError) as error:
        raise InputError(f"it is no zip archive: {brief(error)}") from None


_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError)


def read_member(archive: zipfile.ZipFile, name: str, most: int | None = None) -> bytes:
    """The content of one member, which must not unfold to more than `most`, or `MOST_BYTES`."""
    try:
        found = archive.getinfo(name)
    except KeyError:
        raise InputError(f"it has no {brief(name, 100)}") from None
    size, most = found.file_size, MOST_BYTES if most is None else most
    if size > most:
        raise InputError(f"its {name} has {size:,} bytes; at most {most:,} are read")
    if found.compress_type not in _COMPRESSIONS:
        raise InputError(f"its {name} is packed in a way that torch and NumPy never use: not read")
    try:
        with archive.open(name) as member:
            content = member.read(size + 1)
    except (*_DAMAGED, RuntimeError, NotImplementedError) as error:
        raise InputError(f"its {name} cannot be read: {brief(error)}") from None
    if len(content) != size:
        raise InputError(f"its {name} is damaged: it has not the size that the archive says")
    return content


def _optional(archive: zipfile.ZipFile, name: str) -> bytes | None:
    return read_member(archive, name) if name in archive.namelist() else None


@dataclass(frozen=True)
class _Storage:
    """Numbers that tensors are views of."""

    numbers: np.ndarray


class _Mark:
    """Where the parts of a tuple or of a mapping begin on the stack."""


class _Reader:
    """Follows the few instructions that describe tensors.

    Args:
        storage: The bytes of a storage, by its key.
        order: `<` or `>`, the byte order of the numbers.
    """

    def __init__(self, storage: Callable[[str], bytes], order: Literal["<", ">"]):
        self._storage = cache(storage)
        self._order: Literal["<", ">"] = order
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._bytes = 0  # of storages and tensors so far

    def read(self, program: bytes) -> Any:
        """What the program describes."""
        try:
            for count, (instruction, argument, _) in enumerate(pickletools.genops(program)):
                if count > _MOST_INSTRUCTIONS:
                    raise InputError(f"it has more than {_MOST_INSTRUCTIONS:,} instructions")
                self._follow(instruction.name, argument)
            return self._stack[-1]
        except InputError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(f"its description of tensors is damaged: {brief(error)}") from None

    def _follow(self, name: str, argument: Any) -> None:
        if name in self._LITERALS:
            self._stack.append(argument)
        elif name in self._CONSTANTS:
            self._stack.append(self._CONSTANTS[name]())
        elif name in self._STEPS:
            self._STEPS[name](self, argument)
        elif name not in self._IGNORED:
            raise InputError(f"it has the instruction {name}, which no tensor needs: not run")

    def _global(self, name: str) -> None:
        if name not in self._ALLOWED and name.removeprefix("torch ") not in _TYPES:
            told = shown(name.replace(" ", "."))
            raise InputError(f"it names {told}, which is no part of a tensor: not run")
        self._stack.append(("name", name))

    def _remember(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    def _recall(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def _since_mark(self) -> list[Any]:
        # From the end, so that each part is looked at once however many marks there are.
        last = range(len(self._stack) - 1, -1, -1)
        start = next((i for i in last if isinstance(self._stack[i], _Mark)), None)
        if start is None:
            raise InputError("its description of tensors is damaged: a mark is missing")
        parts = self._stack[start + 1 :]
        del self._stack[start:]
        return parts

    def _tuple(self, size: int | None) -> None:
        parts = self._since_mark() if size is None else self._stack[len(self._stack) - size :]
        if size:
            del self._stack[-size:]
        self._stack.append(tuple(parts))

    def _set_items(self, several: bool) -> None:
        parts = self._since_mark() if several else [self._stack.pop(-2), self._stack.pop()]
        # Tuples nested in tuples could take for ever to hash.
        if not all(isinstance(name, str) for name in parts[::2]):
            raise InputError("its description of tensors has a name that is no text")
        self._mapping().update(zip(parts[::2], parts[1::2], strict=True))

    def _mapping(self) -> dict[Any, Any]:
        if not isinstance(self._stack[-1], dict):
            raise InputError("its description of tensors fills something that is no mapping")
        return self._stack[-1]

    def _build(self, _: None) -> None:
        self._stack.pop()  # what a state_dict notes about its versions
        self._mapping()

    def _persistent(self, _: None) -> None:
        tag, (_, kind), key, _, count = self._stack.pop()
        if tag != "storage":
            raise InputError(f"it refers to {shown(tag)}, where tensors refer to a storage")
        if not isinstance(key, str) or type(count) is not int:
            raise InputError("its description of tensors is damaged: a storage has no name or size")
        dtype = np.dtype(_TYPES[kind.removeprefix("torch ")]).newbyteorder(self._order)
        content = self._storage(key)
        self._count(len(content))
        numbers = np.frombuffer(content, dtype)
        if len(numbers) < count:
            raise InputError(f"its storage {shown(key)} has {len(numbers)} of {count} numbers")
        self._stack.append(_Storage(numbers))

    def _reduce(self, _: None) -> None:
        arguments = self._stack.pop()
        _, name = self._stack.pop()
        if name == "collections OrderedDict":
            self._stack.append({})
            return
        view = _view(*arguments[:4])
        self._count(view.nbytes)
        self._stack.append(view.astype(view.dtype.newbyteorder("=")))

    def _count(self, size: int) -> None:
        """Bound what a few instructions can ask for: each may unfold the same storage again."""
        self._bytes += size
        if self._bytes > 2 * MOST_BYTES:
            raise InputError(f"its tensors unfold to more than {2 * MOST_BYTES:,} bytes")

    _ALLOWED = frozenset({"collections OrderedDict", "torch._utils _rebuild_tensor_v2"})
    _IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
    _LITERALS = frozenset(
        {"BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
    )
    _CONSTANTS: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "NONE": lambda: None,
        "NEWTRUE": lambda: True,
        "NEWFALSE": lambda: False,
        "EMPTY_TUPLE": tuple,
        "EMPTY_DICT": dict,
        "MARK": _Mark,
    }
    _STEPS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "GLOBAL": _global,
        "BINPUT": _remember,
        "LONG_BINPUT": _remember,
        "BINGET": _recall,
        "LONG_BINGET": _recall,
        "TUPLE": lambda self, _: self._tuple(None),
        "TUPLE1": lambda self, _: self._tuple(1),
        "TUPLE2": lambda self, _: self._tuple(2),
        "TUPLE3": lambda self, _: self._tuple(3),
        "SETITEM": lambda self, _: self._set_items(several=False),
        "SETITEMS": lambda self, _: self._set_items(several=True),
        "BUILD": _build,
        "BINPERSID": _persistent,
        "REDUCE": _reduce,
    }


def _view(storage: Any, offset: Any, shape: Any, strides: Any) -> np.ndarray:
    """The part of a storage that a tensor is a view of."""
    numbers = [offset, *shape, *strides]
    if not isinstance(storage, _Storage) or not all(type(n) is int and n >= 0 for n in numbers):
        raise InputError("its description of tensors is damaged: a tensor has no storage or shape")
    if len(shape) != len(strides) or len(shape) > _LONGEST_SHAPE:
        raise InputError(f"it has a tensor of shape {shown(shape)} and strides {shown(strides)}")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if count > len(storage.numbers) or (count and last >= len(storage.numbers)):
        raise InputError(f"it has a tensor of shape {shown(shape)} beyond its storage")
    base = storage.numbers[offset:]
    size = base.dtype.itemsize
    return np.lib.stride_tricks.as_strided(base, shape, [size * step for step in strides])
