"""What a digest of one run holds."""

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import yaml

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import read_bytes, read_text
from drspcrl.policy import POLICY_FILE
from drspcrl.reading import MOST_JSON, MOST_YAML, parse_json
from drspcrl.runfolder import tables
from drspcrl.runfolder.runs import Run
from drspcrl.runfolder.tables import DEFAULT_SUITE, EVALUATION_COLUMNS, RECOVERY, Evaluation

METRICS = ("step", "episode_return", "epsilon", "beta")
WORLD_METRICS = (
    *("price", "premium", "calibration", "calibration_error", "probe_return", "anchor_return"),
)
"""Beside them, where anything is known of it."""
POINTS = 60
RETURN_DECIMALS = 2


def digest(run: Run, with_policy: bool) -> dict[str, bytes]:
    """The files of a run's digest, by name.

    Args:
        run: The run, read whole.
        with_policy: Whether its policy is among them.
    """
    content = {
        "run.json": read_bytes(run.path / "run.json", most=MOST_JSON),
        "config.yaml": _config_text(run).encode(),
    }
    if run.metrics:
        content["metrics.csv.xz"] = tables.pack(_metrics_text(thinned(run.metrics)))
    for suite, evaluation in run.evaluations.items():
        name = "evaluation" if suite == DEFAULT_SUITE else f"evaluation-{suite}"
        content[f"{name}.csv.xz"] = tables.pack(_evaluation_text(evaluation))
        beside = run.path / f"{name}.json"
        if os.path.lexists(beside):
            content[beside.name] = _compact(beside)
    if with_policy:
        content[POLICY_FILE] = read_bytes(run.path / POLICY_FILE)
    return content


def _config_text(run: Run) -> str:
    """The configuration; of the folder it was trained in the name alone, not where that was."""
    text = read_text(run.path / "config.yaml", most=MOST_YAML)
    if "out" not in run.config:
        return text
    config = {**run.config, "out": Path(str(run.config["out"])).name}
    if isinstance(file := config.get("worlds_file"), dict):
        config["worlds_file"] = {**file, "path": Path(str(file.get("path"))).name}
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def thinned(metrics: Mapping[str, np.ndarray], points: int = POINTS) -> dict[str, np.ndarray]:
    """Means over equal stretches of steps; each row's step is the last one of its stretch.

    Args:
        metrics: Columns of a run's metrics; those a digest does not have are left out.
        points: The most rows.
    """
    step = metrics["step"]
    told = [name for name in WORLD_METRICS if np.isfinite(metrics.get(name, np.nan)).any()]
    columns = {name: metrics[name] for name in (*METRICS, *told) if name in metrics}
    if len(step) <= points:
        return columns
    edges = np.linspace(0, float(step.max()), points + 1)
    which = np.clip(np.searchsorted(edges, step, side="left") - 1, 0, points - 1)
    stretches = [which == i for i in np.unique(which)]
    thin = {
        name: np.array([_mean(column[rows]) for rows in stretches])
        for name, column in columns.items()
    }
    return {**thin, "step": np.array([step[rows].max() for rows in stretches])}


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.nan


def _metrics_text(metrics: Mapping[str, np.ndarray]) -> str:
    return _table(metrics, {"step": "{:.0f}".format}, "{:.6g}".format)


def _evaluation_text(evaluation: Evaluation) -> str:
    columns = (
        evaluation.perturbation,
        evaluation.level,
        evaluation.episode,
        evaluation.returns,
        evaluation.length,
    )
    forms = {"perturbation": str, "return": f"{{:.{RETURN_DECIMALS}f}}".format}
    named: dict[str, np.ndarray] = dict(zip(EVALUATION_COLUMNS, columns, strict=True))
    if evaluation.recovery is not None:
        named[RECOVERY] = evaluation.recovery
    return _table(named, forms, "{:.9g}".format)


def _table(
    columns: Mapping[str, np.ndarray],
    forms: Mapping[str, Callable[..., str]],
    other: Callable[..., str],
) -> str:
    """CSV; a number that was not measured, nan, is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    written = [
        ["" if value != value else forms.get(name, other)(value) for value in column.tolist()]
        for name, column in columns.items()
    ]
    writer.writerows(zip(*written, strict=True))
    return text.getvalue()


def _compact(path: Path) -> bytes:
    try:
        content = parse_json(read_text(path, most=MOST_JSON))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be kept: it cannot be read: {brief(error)}") from None
    return (json.dumps(content, separators=(",", ":")) + "\n").encode()
