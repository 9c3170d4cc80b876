"""The state of a run as its folder tells it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from drspcrl.errors import InputError
from drspcrl.experiments.population import Population
from drspcrl.runfolder.runs import read_config, read_info

RunState = Literal[
    "pending", "running", "interrupted", "failed", "diverged", "finished", "evaluated"
]
OVER = ("finished", "evaluated", "diverged")
"""States of a run that is not trained any further."""


def run_state(folder: Path, suite: str) -> RunState:
    """What a run folder says of itself; nobody is at work on it.

    Args:
        folder: the run folder.
        suite: name of the suite whose results make it evaluated.
    """
    if not (folder / "run.json").exists():
        return "pending"
    try:
        status = read_info(folder).get("status")
    except InputError:  # damaged: what can continue with it will say so
        return "interrupted"
    if status == "finished":
        from drspcrl.evaluation.folders import result_path  # loads simulators

        return "evaluated" if result_path(folder, Path(suite).stem).exists() else "finished"
    if status in ("diverged", "failed"):
        return status
    return "interrupted"  # stopped, interrupted, or killed while it said running


def check_origin(folder: Path, population: Population) -> None:
    """Refuse a run folder that another training made.

    Raises:
        InputError: its configuration is of another population.
    """
    if not (folder / "config.yaml").exists():
        return
    try:
        found = read_config(folder)
    except InputError:
        return
    own = population.plain()
    shared = found.get("population")
    same = isinstance(shared, dict) and all(
        shared.get(name) == own[name] for name in ("methods", "seeds", "settings")
    )
    same = same and all(found.get(name) == own[name] for name in ("env", "algorithm"))
    if not same or not _same_uncertainty(found, population):
        raise InputError(
            f"{folder} holds a run of another training than this grid's; give another --out, or "
            "move it away"
        )


def _same_uncertainty(found: Mapping[str, Any], population: Population) -> bool:
    """Whether a run's config.yaml has the population's uncertainty, and its worlds."""
    if found.get("uncertainty", "transitions") != population.uncertainty:
        return False
    asked = population.config(Path()).declared
    there = found.get("worlds")
    if asked is None or not isinstance(there, dict):
        return asked is there
    record = asked.record()
    if isinstance(record["sensor_unit"], str) and isinstance(there.get("sensor_unit"), list):
        record["sensor_unit"] = there["sensor_unit"]  # measured when the run began
    return record == there
