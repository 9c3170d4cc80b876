"""Experiments: many trainings as one grid, that continues by the same command until it is done."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Grid": "drspcrl.experiments.grid",
    "Options": "drspcrl.experiments.run",
    "Population": "drspcrl.experiments.population",
    "load_grid": "drspcrl.experiments.grid",
    "plan_grid": "drspcrl.experiments.run",
    "run_grid": "drspcrl.experiments.run",
}

__all__ = ["Grid", "Options", "Population", "load_grid", "plan_grid", "run_grid"]

if TYPE_CHECKING:
    from drspcrl.experiments.grid import Grid, load_grid
    from drspcrl.experiments.population import Population
    from drspcrl.experiments.run import Options, plan_grid, run_grid


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.experiments' has no attribute {name!r}")
