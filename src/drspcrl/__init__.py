"""Reinforcement learning that survives the real world.

Policies are trained against the worst case in a ball of radius ε around a nominal model, and ε
grows at the pace that the agent's own dual variable allows.

Importing this package is quick: everything is loaded on first use, and nothing that only reads
results or runs a foreign policy ever imports JAX.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

__version__ = version("drspcrl")

# name → module that defines it
_EXPORTS = {
    "InputError": "drspcrl.errors",
}
_SUBPACKAGES = ("divergences", "errors")

__all__ = ["InputError", "__version__", "divergences", "errors"]

if TYPE_CHECKING:
    from drspcrl import divergences, errors
    from drspcrl.errors import InputError


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"drspcrl.{name}")
    raise AttributeError(f"module 'drspcrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
