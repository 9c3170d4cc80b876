"""Checkpoints: trees of arrays, keys and numbers on disk, whole or not at all.

    store = Store(folder)
    store.write(step, {"loop": tree}, notes={"total": 1000})
    saved = store.read(store.steps()[-1])
    tree = saved.like("loop", template)

Nothing here knows what a learner is; what a tree holds is decided by whoever hands it in.
"""

from drspcrl.checkpoint.lock import FolderLock
from drspcrl.checkpoint.members import join, member
from drspcrl.checkpoint.store import Saved, Store

__all__ = ["FolderLock", "Saved", "Store", "join", "member"]
