"""Batched environments: MuJoCo tasks bit for bit as in Gymnasium, and any other Box environment."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "BatchEnv": "drspcrl.envs.batch",
    "Step": "drspcrl.envs.batch",
    "Physics": "drspcrl.physics.parameters",
    "Simulation": "drspcrl.envs.simulation",
    "SimulationStep": "drspcrl.envs.simulation",
    "make": "drspcrl.envs.registry",
    "task_names": "drspcrl.envs.registry",
}

__all__ = ["BatchEnv", "Physics", "Simulation", "SimulationStep", "Step", "make", "task_names"]

if TYPE_CHECKING:
    from drspcrl.envs.batch import BatchEnv, Step
    from drspcrl.envs.registry import make, task_names
    from drspcrl.envs.simulation import Simulation, SimulationStep
    from drspcrl.physics.parameters import Physics


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.envs' has no attribute {name!r}")
