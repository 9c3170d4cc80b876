"""Plain trees as bytes: dictionaries, lists, tuples, numbers, texts and NumPy arrays; no pickle.

The bytes are a safetensors file: the arrays, and beside them one JSON text that says how they and
the plain values hang together.
"""

import json
from typing import Any

import numpy as np
from safetensors import SafetensorError, numpy

_KINDS = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TREE = "tree"
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_SEQUENCES = {"list": list, "tuple": tuple}


class NotPlainError(TypeError):
    """Something that is no plain value and no array of numbers."""


def encode(tree: Any) -> bytes:
    """A plain tree as bytes.

    Raises:
        NotPlainError: it holds something else; the message says what and where.
    """
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(_described(tree, "", arrays))
    arrays[_TREE] = np.frombuffer(text.encode(), np.uint8)
    return numpy.save(arrays)


def decode(content: bytes) -> Any:
    """The tree that `encode` wrote; its arrays are the caller's own.

    Raises:
        ValueError: bytes that `encode` did not write.
    """
    try:
        arrays = numpy.load(content)
        return _built(json.loads(arrays[_TREE].tobytes()), arrays)
    except (*_DAMAGE, SafetensorError) as error:
        raise ValueError(f"no saved state: {' '.join(str(error).split())}") from None


def _described(node: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(node, np.ndarray | np.generic):
        return _array(np.asarray(node), where, arrays) | {"scalar": isinstance(node, np.generic)}
    if node is None or type(node) in (bool, int, float, str):
        return node
    if isinstance(node, dict):
        if wrong := [key for key in node if type(key) is not str]:
            raise NotPlainError(f"the key {wrong[0]!r}{where}; keys are texts")
        return {"dict": {k: _described(v, f"{where}[{k!r}]", arrays) for k, v in node.items()}}
    for name, kind in _SEQUENCES.items():
        if type(node) is kind:
            return {name: [_described(v, f"{where}[{k}]", arrays) for k, v in enumerate(node)]}
    raise NotPlainError(f"{_kind(node)}{' at ' + where if where else ''}")


def _array(array: np.ndarray, where: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if array.dtype.name not in _KINDS:
        raise NotPlainError(f"an array of {array.dtype}{' at ' + where if where else ''}")
    name = f"array{len(arrays)}"
    arrays[name] = np.array(array, array.dtype.newbyteorder("="), order="C")
    return {"array": name}


def _built(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    if "array" in node:
        array = arrays[node["array"]].copy()
        return array[()] if node["scalar"] else array
    if "dict" in node:
        return {key: _built(value, arrays) for key, value in node["dict"].items()}
    ((name, values),) = node.items()
    return _SEQUENCES[name](_built(value, arrays) for value in values)


def _kind(node: Any) -> str:
    module, name = type(node).__module__, type(node).__qualname__
    return name if module == "builtins" else f"{module}.{name}"
