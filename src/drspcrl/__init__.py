"""Reinforcement learning that survives the real world.

Policies are trained against the worst case in a ball of radius ε around a nominal model, and ε
grows at the pace that the agent's own dual variable allows.

Importing this package is quick: everything is loaded on first use, and nothing that only reads
results or runs a foreign policy ever imports JAX.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

try:
    __version__ = version("drspcrl")
except PackageNotFoundError:  # the source folder alone is on the path
    __version__ = "0+unknown"

# name → module that defines it
_EXPORTS = {
    "Callback": "drspcrl.training",
    "InputError": "drspcrl.errors",
    "TrainConfig": "drspcrl.training",
    "evaluate": "drspcrl.evaluation",
    "load_policy": "drspcrl.policy",
    "resume": "drspcrl.training",
    "stress": "drspcrl.evaluation.stress",
    "train": "drspcrl.training",
}
_SUBPACKAGES = (
    "curricula",
    "data",
    "divergences",
    "envs",
    "errors",
    "evaluation",
    "experiments",
    "export",
    "learners",
    "perturbations",
    "plot",
    "report",
    "runfolder",
    "statistics",
    "tabular",
    "training",
    "video",
    "zoo",
)

__all__ = [
    "Callback",
    "InputError",
    "TrainConfig",
    "__version__",
    "curricula",
    "data",
    "divergences",
    "envs",
    "errors",
    "evaluate",
    "evaluation",
    "experiments",
    "export",
    "learners",
    "load_policy",
    "perturbations",
    "plot",
    "report",
    "resume",
    "runfolder",
    "statistics",
    "stress",
    "tabular",
    "train",
    "training",
    "video",
    "zoo",
]

if TYPE_CHECKING:
    from drspcrl import (
        curricula,
        data,
        divergences,
        envs,
        errors,
        evaluation,
        experiments,
        export,
        learners,
        perturbations,
        plot,
        report,
        runfolder,
        statistics,
        tabular,
        training,
        video,
        zoo,
    )
    from drspcrl.errors import InputError
    from drspcrl.evaluation import evaluate
    from drspcrl.evaluation.stress import stress
    from drspcrl.policy import load_policy
    from drspcrl.training import Callback, TrainConfig, resume, train


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        if name in _SUBPACKAGES:
            return import_module(f"drspcrl.{name}")
        raise AttributeError(f"module 'drspcrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
