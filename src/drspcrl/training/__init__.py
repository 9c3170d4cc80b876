"""Training: a population of (method, seed) members in one program, and its run folders."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Callback": "drspcrl.training.callbacks",
    "Episode": "drspcrl.training.callbacks",
    "Iteration": "drspcrl.training.callbacks",
    "TrainConfig": "drspcrl.training.config",
    "resume": "drspcrl.training.resuming",
    "train": "drspcrl.training.run",
}

__all__ = ["Callback", "Episode", "Iteration", "TrainConfig", "resume", "train"]

if TYPE_CHECKING:
    from drspcrl.training.callbacks import Callback, Episode, Iteration
    from drspcrl.training.config import TrainConfig
    from drspcrl.training.resuming import resume
    from drspcrl.training.run import train


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.training' has no attribute {name!r}")
