"""Clips of what policies do, several side by side in the same world, without a screen."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Loaded on first use: `graphics` must run before anything imports MuJoCo.
_EXPORTS = {
    "Clip": "drspcrl.video.clip",
    "Ending": "drspcrl.video.clip",
    "prepare_graphics": "drspcrl.video.graphics",
    "render": "drspcrl.video.clip",
}

__all__ = ["Clip", "Ending", "prepare_graphics", "render"]

if TYPE_CHECKING:
    from drspcrl.video.clip import Clip, Ending, render
    from drspcrl.video.graphics import prepare_graphics


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.video' has no attribute {name!r}")
