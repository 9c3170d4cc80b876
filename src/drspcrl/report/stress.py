"""What `drspcrl stress` found for the runs: one row for each `stress.json` in a run folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import read_bytes
from drspcrl.reading import parse_json
from drspcrl.report.escape import plain
from drspcrl.report.names import algorithm_label, method_label, ordered_methods
from drspcrl.runfolder.runs import Run

FILE, KIND, FORMAT_VERSION = "stress.json", "drspcrl stress", 1
COLUMNS = (
    *("run", "nominal return", "fails below", "nearest failing world (tolerances)"),
    *("what it consists of", "worst world within", "return there"),
)
_PARTS = 3
_LARGEST = 1 << 24  # bytes


@dataclass(frozen=True)
class StressTable:
    """The rows, as texts, and what could not be read.

    Attributes:
        rows: one for each run that was stressed, its cells in the order of `COLUMNS`.
        notes: one line for each damaged file.
    """

    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def stress_table(runs: Sequence[Run]) -> StressTable:
    """Read what stands beside the runs."""
    rows, notes = [], []
    order = ordered_methods(run.method for run in runs)
    for run in sorted(runs, key=lambda r: (r.environment, r.algorithm, order.index(r.method))):
        path = run.path / FILE
        if not path.is_file():
            continue
        try:
            rows.append(_row(run, _read(path)))
        except InputError as error:
            notes.append(plain(f"{path}: {error}"))
    return StressTable(tuple(rows), tuple(notes))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = parse_json(read_bytes(path, most=_LARGEST))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {brief(error)}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError("is no result of drspcrl stress")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(f"has format_version {version!r}, and this version reads {FORMAT_VERSION}")
    return content


def _row(run: Run, found: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        nearest, worst, question = found["nearest"], found["worst"], found["question"]
        reach, within = float(question["reach"]), float(question["within"])
        near = f"none within {reach:g}" if nearest is None else f"{float(nearest['distance']):.3g}"
        cells = (
            ", ".join((run.environment, algorithm_label(run.algorithm), method_label(run.method)))
            + f", seed {run.seed}",
            _estimate(found["nominal"]),
            f"{float(found['limit_return']):.4g}",
            near,
            "–" if nearest is None else _parts(nearest["values"]),
            f"{within:g}: {_parts(worst['values'])}",
            _estimate(worst["return"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise InputError("is damaged: something that stress writes is missing") from None
    return tuple(plain(cell) for cell in cells)


def _parts(values: Sequence[Mapping[str, Any]]) -> str:
    """The coordinates that differ most, in the user's units."""
    largest = sorted(values, key=lambda v: -abs(float(v["tolerances"])))[:_PARTS]
    told = [
        f"{v['name']} {float(v['value']):.3g}{' ×' if v['unit'] == '× nominal' else ''}"
        for v in largest
        if float(v["tolerances"]) != 0
    ]
    return ", ".join(told) or "the simulator itself"


def _estimate(estimate: Mapping[str, Any]) -> str:
    mean = float(estimate["mean"])
    ends = [float("nan") if estimate[k] is None else float(estimate[k]) for k in ("low", "high")]
    interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]" if all(map(isfinite, ends)) else ""
    return f"{mean:.4g}{interval}"
