"""Robustness evaluation of any policy: every perturbation of a suite, many episodes, one batch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "EvaluationTable": "drspcrl.evaluation.table",
    "PolicyResult": "drspcrl.evaluation.evaluator",
    "Policy": "drspcrl.evaluation.actor",
    "Suite": "drspcrl.evaluation.suite",
    "episode_seed": "drspcrl.evaluation.suite",
    "evaluate": "drspcrl.evaluation.evaluator",
    "evaluate_policies": "drspcrl.evaluation.evaluator",
    "evaluate_runs": "drspcrl.evaluation.folders",
    "load_suite": "drspcrl.evaluation.suite",
    "SUITES": "drspcrl.evaluation.suite",
}

__all__ = [
    "SUITES",
    "EvaluationTable",
    "Policy",
    "PolicyResult",
    "Suite",
    "episode_seed",
    "evaluate",
    "evaluate_policies",
    "evaluate_runs",
    "load_suite",
]

if TYPE_CHECKING:
    from drspcrl.evaluation.actor import Policy
    from drspcrl.evaluation.evaluator import PolicyResult, evaluate, evaluate_policies
    from drspcrl.evaluation.folders import evaluate_runs
    from drspcrl.evaluation.suite import SUITES, Suite, episode_seed, load_suite
    from drspcrl.evaluation.table import EvaluationTable


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.evaluation' has no attribute {name!r}")
