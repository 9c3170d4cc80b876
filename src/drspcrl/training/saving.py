"""What a checkpoint of a member holds, and a population put together from such checkpoints."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import Saved, join, member
from drspcrl.training.folder import RunFolder
from drspcrl.training.loop import Loop


def member_parts(loop: Loop, extra: Sequence[Any]) -> list[dict[str, Any]]:
    """The parts of each member's checkpoint: learner, environments, and what was handed in."""
    tree, environments = loop.tree(), loop.collector.state()
    return [
        {"loop": member(tree, k), "collector": member(environments, k), "extra": extra[k]}
        for k in range(len(extra))
    ]


def put_back(loop: Loop, saved: Sequence[Saved | None], extra: Sequence[Any]) -> list[Any]:
    """Let a fresh loop continue from checkpoints of its members.

    Args:
        loop: made as the saved one was made.
        saved: a checkpoint of each member, all of the same step; None for one that has diverged,
            whose place in the loop is filled with another member.
        extra: fresh trees of the kind that were handed in, as templates.

    Returns:
        What was handed in, as it was saved.

    Raises:
        InputError: a checkpoint does not fit.
    """
    living = next(one for one in saved if one is not None)
    filled = [one or living for one in saved]
    tree = join(filled, "loop", loop.tree())
    for name, value in tree.items():
        if isinstance(value, dict) and not value:  # it is unknown before the first iteration
            tree[name] = _stacked(filled, f"loop/{name}")
    loop.restore(tree)
    try:
        first = loop.collector.restore(_stacked(filled, "collector"))
    except KeyError as error:
        raise InputError(f"{living.path} lacks {error} of its environments") from None
    if first is not None:
        loop.restart(first)
    pairs = zip(saved, extra, strict=True)
    return [own if one is None else one.like("extra", own) for one, own in pairs]


def _stacked(saved: Sequence[Saved], part: str) -> dict[str, np.ndarray]:
    """A part that is a dictionary of arrays, for all members."""
    flat = [one.flat(part) for one in saved]
    try:
        return {name: np.stack([own[name] for own in flat]) for name in flat[0]}
    except (KeyError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{saved[0].path} does not fit its population: {reason}") from None


def newest_common(folders: Sequence[RunFolder], warn: Callable[[str], None]) -> list[Saved]:
    """The newest whole checkpoint that all of the members have, of each of them.

    Raises:
        InputError: there is none.
    """
    common = set.intersection(*(set(folder.store.steps()) for folder in folders))
    for step in sorted(common, reverse=True):
        try:
            return [_checked(folder.store.read(step)) for folder in folders]
        except InputError as error:
            warn(f"{error}; falling back to the checkpoint before")
    kept = ", ".join(sorted({str(s) for folder in folders for s in folder.store.steps()}))
    raise InputError(
        f"{folders[0].path.parent} has no checkpoint that is whole for all of its "
        f"{len(folders)} runs (steps found: {kept or 'none'}); train again into another folder"
    )


def _checked(saved: Saved) -> Saved:
    """A checkpoint whose notes are what a training writes; a folder may come from elsewhere."""
    notes = saved.notes if isinstance(saved.notes, Mapping) else {}
    best = notes.get("best")
    sound = best is None or (
        isinstance(best, Mapping) and isinstance(best.get("return"), int | float)
    )
    for name, least in (("total", 1), ("metrics_bytes", 0)):
        value = notes.get(name)
        sound = sound and isinstance(value, int) and least <= value < 2**63
    if not sound:
        raise InputError(f"{saved.path} is damaged: its notes are not what a training writes")
    return saved


@jax.jit
def finite_members(tree: Any) -> Array:
    """Which members have nothing but finite numbers in a tree of arrays [M, ...]."""
    floats = [a for a in jax.tree.leaves(tree) if jnp.issubdtype(a.dtype, jnp.floating)]
    each = [jnp.isfinite(a).reshape(a.shape[0], -1).all(axis=1) for a in floats]
    return jnp.stack(each).all(axis=0)
