"""Trackio or Weights & Biases beside the run folder, if asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from drspcrl.errors import InputError


class Tracker:
    """Logs all members of a population as one tracked run, each under its own prefix.

    Args:
        name: `trackio`, `wandb`, or `none` for no tracking.
        project: the project to log to.
        config: what to record with it.

    Raises:
        InputError: the tracker is not installed.
    """

    def __init__(self, name: str, project: str, config: Mapping[str, Any]):
        self._run: Any = None
        if name == "none":
            return
        try:
            module = import_module(name)
        except ImportError:
            raise InputError(
                f"track is {name!r}, which is not installed; pip install 'drspcrl[tracking]'"
            ) from None
        self._run = module.init(project=project, config=dict(config))

    def log(self, prefix: str, step: int, row: Mapping[str, float]) -> None:
        """One row of one member."""
        if self._run is not None:
            self._run.log({f"{prefix}/{name}": value for name, value in row.items()}, step=step)

    def close(self) -> None:
        """Say that no more is coming."""
        if self._run is not None:
            self._run.finish()
