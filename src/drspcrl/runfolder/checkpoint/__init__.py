"""Checkpoints: trees of arrays, keys and numbers on disk, whole or not at all.

    store = Store(folder)
    store.write(step, {"loop": tree}, notes={"total": 1000})
    saved = store.read(store.steps()[-1])
    tree = saved.like("loop", template)

Nothing here knows what a learner is; what a tree holds is decided by whoever hands it in.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A lock or a file that is written whole needs no JAX.
_EXPORTS = {
    "FolderLock": "drspcrl.runfolder.checkpoint.lock",
    "Saved": "drspcrl.runfolder.checkpoint.store",
    "Store": "drspcrl.runfolder.checkpoint.store",
    "join": "drspcrl.runfolder.checkpoint.tree",
    "member": "drspcrl.runfolder.checkpoint.tree",
}

__all__ = ["FolderLock", "Saved", "Store", "join", "member"]

if TYPE_CHECKING:
    from drspcrl.runfolder.checkpoint.lock import FolderLock
    from drspcrl.runfolder.checkpoint.store import Saved, Store
    from drspcrl.runfolder.checkpoint.tree import join, member


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.runfolder.checkpoint' has no attribute {name!r}")
