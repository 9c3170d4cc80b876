"""Policies that were trained elsewhere: read without running code, evaluated, put into reports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Foreign": "drspcrl.evaluation.foreign.load",
    "evaluate_foreign": "drspcrl.evaluation.foreign.evaluate",
    "load_foreign": "drspcrl.evaluation.foreign.load",
}

__all__ = ["Foreign", "evaluate_foreign", "load_foreign"]

if TYPE_CHECKING:
    from drspcrl.evaluation.foreign.evaluate import evaluate_foreign
    from drspcrl.evaluation.foreign.load import Foreign, load_foreign


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.evaluation.foreign' has no attribute {name!r}")
