"""The state of one Gymnasium environment with everything around it, where it can be had.

Gymnasium has no way to ask an environment for its state. One that has the methods `get_state()`
and `set_state(state)` of its own can be saved: the state is a plain tree of dictionaries, lists,
tuples, numbers, texts and NumPy arrays. What Gymnasium itself keeps is saved here: the generator
`np_random`, and the steps of a `TimeLimit`.

As bytes a plain tree is a safetensors file, no pickle: the arrays, and beside them one JSON text
that says how they and the plain values hang together.
"""

import json
from collections.abc import Iterator
from inspect import signature
from typing import Any

import gymnasium
import numpy as np
from gymnasium import wrappers
from safetensors import SafetensorError, numpy

from drspcrl.display import shown
from drspcrl.envs.own import Guarded
from drspcrl.errors import InputError

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


# Wrappers of Gymnasium that carry nothing from one step to the next which a result depends on.
_STATELESS = (
    *(Guarded, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker),
    *(wrappers.RecordEpisodeStatistics, wrappers.TransformAction, wrappers.ClipAction),
    *(wrappers.RescaleAction, wrappers.TransformObservation, wrappers.FilterObservation),
    *(wrappers.FlattenObservation, wrappers.ReshapeObservation, wrappers.RescaleObservation),
    *(wrappers.DtypeObservation, wrappers.TransformReward, wrappers.ClipReward),
)
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def can_be_saved(env: gymnasium.Env) -> bool:
    """Whether the environment and every wrapper around it can be saved and put back."""
    return all(
        _has_state(layer) or type(layer) in (*_STATELESS, wrappers.TimeLimit)
        for layer in _layers(env)
    )


def save(env: gymnasium.Env) -> bytes:
    """Everything that decides the future of an environment that `can_be_saved`.

    Raises:
        InputError: its `get_state()` gives what cannot be saved.
    """
    return encode([_saved(layer) for layer in _layers(env)])


def put_back(env: gymnasium.Env, content: bytes) -> None:
    """Put an environment, made in the same way and reset, into a state that `save` gave.

    Raises:
        InputError: the state is one of another environment.
    """
    layers = list(_layers(env))
    try:
        states = decode(content)
        pairs = list(zip(layers, states, strict=True))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"the saved state of {type(env.unwrapped).__name__} does not fit: {error}"
        ) from None
    for layer, state in pairs:
        _restore(layer, state)


def _layers(env: gymnasium.Env) -> Iterator[gymnasium.Env]:
    """An environment's wrappers from the outermost, and itself."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def _has_state(layer: gymnasium.Env) -> bool:
    # Of the class: a wrapper may pass on what is not its own. Others have a set_state of another
    # kind (Gymnasium's MuJoCo tasks take positions and velocities).
    get, put = (getattr(type(layer), name, None) for name in ("get_state", "set_state"))
    return callable(get) and callable(put) and _takes(get, 1) and _takes(put, 2)


def _takes(method: Any, count: int) -> bool:
    try:
        signature(method).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def _saved(layer: Any) -> dict[str, Any]:
    if isinstance(layer, gymnasium.Wrapper):
        own: dict[str, Any] = {"state": _state(layer)} if _has_state(layer) else {}
        if type(layer) is wrappers.TimeLimit:
            own["steps"] = layer._elapsed_steps
        return own
    return {"state": _state(layer), "random": _random(layer)}


def _state(layer: Any) -> np.ndarray:
    """What `get_state` gives, as bytes of its own, so that an error says where in it it is."""
    try:
        return np.frombuffer(encode(layer.get_state()), np.uint8)
    except NotPlainError as error:
        raise InputError(
            f"get_state() of {type(layer).__name__} gave {error}, which cannot be saved without "
            "running code later; give NumPy arrays of numbers and plain values, in dictionaries, "
            "lists and tuples"
        ) from None


def _random(env: gymnasium.Env) -> dict[str, Any] | None:
    """The state of the generator that Gymnasium seeds, None where it is of another kind."""
    source = env._np_random
    if not isinstance(source, np.random.Generator):
        return None
    if source.bit_generator.__class__.__name__ not in _GENERATORS:
        return None
    seed = env._np_random_seed
    return {"state": source.bit_generator.state, "seed": seed if isinstance(seed, int) else None}


def _restore(layer: Any, saved: dict[str, Any]) -> None:
    if "state" in saved:
        layer.set_state(decode(saved["state"].tobytes()))
    if "steps" in saved:
        layer._elapsed_steps = saved["steps"]
    if saved.get("random") is not None:
        _restore_random(layer, saved["random"])


def _restore_random(env: gymnasium.Env, saved: dict[str, Any]) -> None:
    state = saved["state"]
    if state["bit_generator"] not in _GENERATORS:
        raise InputError(
            f"the saved generator is {shown(state['bit_generator'])}, which NumPy has not"
        )
    source = env._np_random
    # In place if possible: the environment may have handed its generator on.
    if (
        not isinstance(source, np.random.Generator)
        or type(source.bit_generator).__name__ != state["bit_generator"]
    ):
        source = np.random.Generator(getattr(np.random, state["bit_generator"])())
        env._np_random = source
    source.bit_generator.state = state
    env._np_random_seed = saved["seed"]
