"""Scores by (algorithm, task) group and method, reduced to what can be compared."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from drspcrl.errors import InputError
from drspcrl.statistics.estimate import finite_values

Groups = Mapping[Any, Mapping[str, ArrayLike]]
"""(algorithm, task) → method → scores [runs, settings] (or [runs], already averaged)."""


def comparable(
    groups: Groups, method: str, rivals: Sequence[str] | None
) -> tuple[dict[Hashable, dict[str, np.ndarray]], dict[Hashable, str]]:
    """Each group's run means [runs] of the method and its rivals, and the groups left out."""
    if not any(method in methods for methods in groups.values()):
        raise InputError(f"no group has the method {method!r}; name one that has been run")
    kept, undefined = {}, {}
    for group, methods in groups.items():
        wanted = [m for m in methods if m == method or rivals is None or m in rivals]
        scores = {m: run_means(methods[m], f"{group} {m}") for m in wanted}
        if method not in scores:
            undefined[group] = f"no run of {method}"
        elif len(scores) < 2:
            undefined[group] = "no rival"
        else:
            kept[group] = scores
    return kept, undefined


def run_means(scores: ArrayLike, what: str) -> np.ndarray:
    """Each run's mean over its settings, [runs]."""
    array = finite_values(scores, what)
    if array.size == 0:
        raise InputError(f"{what} has no runs; leave the method out of the group")
    return array.reshape(len(array), -1).mean(axis=1)


def can_resample(groups: Sequence[Mapping[str, np.ndarray]]) -> bool:
    """Whether every method has at least two runs in every group."""
    return all(len(runs) > 1 for methods in groups for runs in methods.values())


def count_runs(groups: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Runs over all groups and methods."""
    return sum(len(runs) for methods in groups for runs in methods.values())
