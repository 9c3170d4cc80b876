"""The run folder of one member: what is written, and how it is never half there."""

import json
import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from drspcrl.errors import InputError
from drspcrl.policy import POLICY_FILE, Policy, save_policy
from drspcrl.runs import FORMAT_VERSION
from drspcrl.trainer.config import Member, TrainConfig
from drspcrl.trainer.events import EventWriter

BEST_POLICY_FILE = "policy-best.safetensors"
FIRST_COLUMNS = (
    "step",
    "episode_return",
    "episode_length",
    "epsilon",
    "beta",
    "robust_value",
    "value_spread",
    "steps_per_second",
)


class RunFolder:
    """Writes one member's run folder.

    Args:
        config: the training.
        member: the member.
        facts: versions, machine and commit, for run.json.
    """

    def __init__(self, config: TrainConfig, member: Member, facts: Mapping[str, Any]):
        self.path = config.folder(member)
        self.path.mkdir(parents=True, exist_ok=True)
        self._columns: list[str] | None = None
        self._best = -math.inf
        self._info = {
            "format_version": FORMAT_VERSION,
            "env": config.env,
            "algorithm": config.algorithm,
            "method": member.method,
            "seed": member.seed,
            "status": "running",
            "started": _now(),
            **facts,
        }
        described = yaml.safe_dump(config.describe(member), sort_keys=False, allow_unicode=True)
        write_text(self.path / "config.yaml", described)
        self.note()
        self._events = EventWriter(self.path) if config.tensorboard else None

    def note(self, **changes: Any) -> None:
        """Change entries of run.json."""
        self._info.update(changes)
        write_text(self.path / "run.json", json.dumps(self._info, indent=2) + "\n")

    def add_row(self, row: Mapping[str, float]) -> None:
        """Append a row to metrics.csv, whole lines only, and to the TensorBoard events.

        The first row decides the columns; a number that was not measured is nan or left out.
        """
        if self._columns is None:
            self._columns = [*FIRST_COLUMNS, *(k for k in row if k not in FIRST_COLUMNS)]
            write_text(self.path / "metrics.csv", ",".join(self._columns) + "\n")
        fields = (_text(row.get(name, math.nan)) for name in self._columns)
        with open(self.path / "metrics.csv", "a", encoding="utf-8") as file:
            file.write(",".join(fields) + "\n")
        if self._events is not None:
            measured = {k: v for k, v in row.items() if k != "step" and not math.isnan(v)}
            self._events.add(int(row["step"]), measured)

    def save_policy(self, policy: Policy) -> None:
        """Write the newest policy."""
        save_policy(self.path / POLICY_FILE, policy)

    def offer_best(self, policy: Policy, step: int, mean_return: float) -> None:
        """Keep a policy if its evaluation beats all earlier ones."""
        if mean_return > self._best:
            self._best = mean_return
            save_policy(self.path / BEST_POLICY_FILE, policy)
            self.note(best={"step": step, "return": mean_return})

    def close(self, status: str, steps: int) -> None:
        """Say how it ended."""
        self.note(status=status, steps=steps, ended=_now())
        if self._events is not None:
            self._events.close()


def check_unused(config: TrainConfig) -> None:
    """Raise an `InputError` if a member's folder already holds a run or cannot be made."""
    taken = [m for m in config.members if (config.folder(m) / "run.json").exists()]
    if taken:
        raise InputError(
            f"{config.folder(taken[0])} already holds a run; choose another out, or remove it"
        )
    try:
        config.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out {config.out} cannot be made: {error.strerror}") from None
    if not os.access(config.out, os.W_OK):
        raise InputError(f"out {config.out} cannot be written to; choose another folder")


def write_text(path: Path, text: str) -> None:
    """Write a file aside and rename it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


def _text(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.9g}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
