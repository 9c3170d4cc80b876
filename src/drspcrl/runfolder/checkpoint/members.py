"""A population's tree as one tree for each member, and back.

An array's first axis counts members; a plain value, or an array without axes, belongs to all.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax

from drspcrl.runfolder.checkpoint.tree import is_key, is_plain, paths_like, to_place

if TYPE_CHECKING:
    from drspcrl.runfolder.checkpoint.store import Saved

# A number that is traced, so that member 34 needs no program of its own.
_take = jax.jit(lambda array, k: lax.dynamic_index_in_dim(array, k, keepdims=False))


def member(tree: Any, k: int) -> Any:
    """Member k of a population's tree, to be written before the population goes on.

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
