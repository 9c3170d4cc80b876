"""Training: a population of (method, seed) members in one program, and its run folders."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "TrainConfig": "drspcrl.trainer.config",
    "resume": "drspcrl.trainer.resuming",
    "train": "drspcrl.trainer.run",
}

__all__ = ["TrainConfig", "resume", "train"]

if TYPE_CHECKING:
    from drspcrl.trainer.config import TrainConfig
    from drspcrl.trainer.resuming import resume
    from drspcrl.trainer.run import train


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'drspcrl.trainer' has no attribute {name!r}")
