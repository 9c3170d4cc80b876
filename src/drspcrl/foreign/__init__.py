"""Policies that were trained elsewhere: read without running code, evaluated, put into reports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Foreign": "drspcrl.foreign.door",
    "evaluate_foreign": "drspcrl.foreign.evaluate",
    "load_foreign": "drspcrl.foreign.door",
}

__all__ = ["Foreign", "evaluate_foreign", "load_foreign"]

if TYPE_CHECKING:
    from drspcrl.foreign.door import Foreign, load_foreign
    from drspcrl.foreign.evaluate import evaluate_foreign


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'drspcrl.foreign' has no attribute {name!r}")
