"""Trees as flat dictionaries: every leaf under the path that leads to it.

A leaf is an array of NumPy or JAX, an array of JAX's random keys, or a plain int, float, bool or
text. Nodes are whatever JAX takes for one: dictionaries, tuples, named tuples, lists.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


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
