"""Where does a policy break? The nearest world in which it fails, and the worst in reach."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Found": "drspcrl.evaluation.stress.result",
    "StressResult": "drspcrl.evaluation.stress.result",
    "stress": "drspcrl.evaluation.stress.search_worlds",
}

__all__ = ["Found", "StressResult", "stress"]

if TYPE_CHECKING:
    from drspcrl.evaluation.stress.result import Found, StressResult
    from drspcrl.evaluation.stress.search_worlds import stress


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.evaluation.stress' has no attribute {name!r}")
