"""Read run folders: the one reader behind the report and every other command.

A run folder holds `run.json`, `config.yaml`, `metrics.csv` and, once evaluated, `evaluation.csv`
(or `evaluation-<suite>.csv`); both tables may be packed (`.csv.xz`, see
`drspcrl.runfolder.digest`). What a run is comes from `run.json` and `config.yaml`, never from the
folder's name. Nothing here imports JAX, and nothing read is ever executed or unpickled.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl import files, variants
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.reading import MOST_JSON, MOST_YAML, parse_json, parse_yaml
from drspcrl.runfolder.tables import (
    DEFAULT_SUITE,
    SUFFIX,
    Evaluation,
    as_written,
    numbers,
    one_line,
    parse_csv,
    read_evaluation,
    read_text,
)

FORMAT_VERSION = 1
"""The newest layout of a run folder that this version reads."""

METRICS_FILE = "metrics.csv"
RUN_FOLDER_NAME = re.compile(r".+-.+-.+-s\d+")
REPORT_MARKER = "report.json"
FOREIGN = "foreign"
"""The algorithm of a run that is a policy trained elsewhere."""


@dataclass(frozen=True)
class Run:
    """One training run as its folder tells it.

    Attributes:
        path: The folder.
        environment: Task or Gymnasium id.
        algorithm: `ppo`, `sac`, `ddpg`, `td3`.
        method: `self_paced`, `vanilla`, ...
        seed: The run's seed.
        status: What `run.json` says of it, "unknown" where it says nothing.
        synthetic: Whether the run was made up for a test of the tools.
        info: The whole of `run.json`.
        config: The whole of `config.yaml`.
        metrics: Columns of `metrics.csv`, [rows] each; empty before the first row.
        evaluations: Episodes by suite.
    """

    path: Path
    environment: str
    algorithm: str
    method: str
    seed: int
    status: str
    synthetic: bool
    info: Mapping[str, Any]
    config: Mapping[str, Any]
    metrics: Mapping[str, np.ndarray]
    evaluations: Mapping[str, Evaluation]

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """What distinguishes it from other runs: environment, algorithm, method, seed."""
        return self.environment, self.algorithm, self.method, self.seed

    @property
    def foreign(self) -> bool:
        """Whether it is a policy that was trained elsewhere."""
        return isinstance(self.info.get("foreign"), dict)

    @property
    def uncertainty(self) -> str:
        """`worlds` or `transitions`; a config.yaml without the word is of transitions."""
        return str(self.config.get("uncertainty", "transitions"))


@dataclass(frozen=True)
class Skipped:
    """A folder that could not be read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class RunSet:
    """All runs below a folder, and the folders that were left out."""

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]


def read_runs(root: str | Path, *, metrics: Sequence[str] | None = None) -> RunSet:
    """Read every run folder at or below `root`; damaged ones are named and skipped.

    Args:
        root: A run folder, or a folder with run folders at any depth.
        metrics: Columns of `metrics.csv` to keep; all unless told.
    """
    root = Path(root)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder; give the folder that holds the runs")
    runs: dict[tuple[Any, ...], Run] = {}
    found, skipped = [], []
    for folder in find_runs(root):
        try:
            found.append(read_run(folder, metrics=metrics))
        except InputError as error:
            skipped.append(Skipped(folder, str(error)))
    for run in with_distinct_labels(found):
        folder, own = run.path, (*run.identity, run.uncertainty)
        if own in runs:
            first = runs[own].path
            skipped.append(Skipped(folder, f"it is the same run as {first}, which was kept"))
        else:
            runs[own] = run
    return RunSet(tuple(runs.values()), tuple(skipped))


def with_distinct_labels(runs: Sequence[Run]) -> list[Run]:
    """Runs of one method whose populations had other settings, as variants of that method.

    What shapes a whole population is no part of a method's label: `self_paced` in a KL ball and in
    a Wasserstein ball become `self_paced:divergence=kl` and `self_paced:divergence=wasserstein`.
    Runs in worlds and in transitions are never compared by their settings.
    """
    doubles: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        doubles.setdefault((*run.identity, run.uncertainty), []).append(run)
    names: dict[tuple[str, str], set[str]] = {}
    for same in doubles.values():
        own = names.setdefault((same[0].method, same[0].uncertainty), set())
        own.update(_differing([_settings(run) for run in same]))
    return [_with_settings(run, names[run.method, run.uncertainty]) for run in runs]


def _settings(run: Run) -> Mapping[str, Any]:
    found = run.config.get("settings")
    return found if isinstance(found, dict) else {}


def _differing(tables: Sequence[Mapping[str, Any]]) -> set[str]:
    shared = set.intersection(*(set(table) for table in tables))
    return {name for name in shared if len({repr(table[name]) for table in tables}) > 1}


def _with_settings(run: Run, names: set[str]) -> Run:
    own = {name: value for name, value in _settings(run).items() if name in names}
    if not own:
        return run
    try:
        variant = variants.parse_variant(run.method)
    except InputError:  # a name that somebody else gave
        return run
    label = variants.variant_label(variants.Variant(variant.method, {**variant.changes, **own}))
    return replace(run, method=label)


def find_runs(root: str | Path) -> Iterator[Path]:
    """Folders at or below `root` that are runs or look like what is left of one, in order.

    A `root` that is a link is followed, for the user named it; links below it are not. One that
    has the name of a run is among the results, so that whoever reads it says that it was left out.
    """
    root = Path(root)
    for folder, children, names in os.walk(files.named_folder(root)):
        # Hidden folders are somebody's work in progress; reports hold no runs.
        hidden = Path(folder).name.startswith(".") and Path(folder) != Path(root)
        if hidden or REPORT_MARKER in names:
            children.clear()
            continue
        children.sort()
        is_run = "run.json" in names or "metrics.csv" in names
        if is_run or RUN_FOLDER_NAME.fullmatch(Path(folder).name):
            children.clear()
            yield Path(folder)
        yield from (link for name in children if _links_to_run(link := Path(folder, name)))


def _links_to_run(path: Path) -> bool:
    return path.is_symlink() and RUN_FOLDER_NAME.fullmatch(path.name) is not None


def check_uncertainty(out: str | Path, wanted: str) -> None:
    """Refuse a folder that holds runs of the other form of uncertainty, in it or a level below.

    What is of worlds and what is of transitions does not compare: ε is the radius of another ball,
    and methods of one name are not the same.

    Args:
        out: where runs are to be written.
        wanted: the form that they will be of, `worlds` or `transitions`.

    Raises:
        InputError: there are such runs.
    """
    for depth in ("*/config.yaml", "*/*/config.yaml"):
        for file in sorted(Path(out).glob(depth)):
            try:
                found = read_config(file.parent)
            except InputError:  # damaged: whoever reads that run will say so
                continue
            form = found.get("uncertainty", "transitions")
            if "algorithm" in found and form != wanted:
                raise InputError(
                    f"{out} holds runs of uncertainty={form}, such as {file.parent.name}, and "
                    f"these are of {wanted}; give another out, or uncertainty={form}"
                )


def read_info(folder: str | Path) -> Mapping[str, Any]:
    """What `run.json` says.

    Raises:
        InputError: If it is missing, damaged, or newer than this version reads.
    """
    files.check_folder(Path(folder))
    info = _mapping(Path(folder) / "run.json", parse_json, MOST_JSON)
    _check_version(info)
    return info


def read_config(folder: str | Path) -> Mapping[str, Any]:
    """What `config.yaml` says.

    Raises:
        InputError: If it is missing or damaged.
    """
    files.check_folder(Path(folder))
    return _mapping(Path(folder) / "config.yaml", parse_yaml, MOST_YAML)


def read_run(
    folder: str | Path, *, metrics: Sequence[str] | None = None, evaluations: bool = True
) -> Run:
    """Read one run folder.

    Args:
        folder: The run folder.
        metrics: Columns of `metrics.csv` to keep; all unless told.
        evaluations: Whether to read its evaluations; one that is about to be replaced may be
            damaged.

    Raises:
        InputError: If the folder is damaged, half-written, or newer than this version reads.
    """
    folder = Path(folder)
    info, config = read_info(folder), read_config(folder)
    run = Run(
        path=folder,
        environment=_text(info, config, "env", "environment"),
        algorithm=_text(info, config, "algorithm"),
        method=_text(info, config, "method"),
        seed=_seed(info, config),
        status=str(info.get("status", "unknown")),
        synthetic=info.get("synthetic") is True,
        info=info,
        config=config,
        metrics={},
        evaluations={},
    )
    return replace(
        run,
        metrics=_read_metrics(_plain_or_packed(folder / METRICS_FILE), metrics, info),
        evaluations=_read_evaluations(folder) if evaluations else {},
    )


def _mapping(path: Path, parse: Any, most: int) -> Mapping[str, Any]:
    try:
        content = parse(files.read_text(path, most=most))
    except FileNotFoundError:
        raise InputError(f"it has no {path.name}: half-written, or no run folder") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} cannot be read: {one_line(error)}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path.name} is damaged: it holds no mapping of names to values")
    return content


def _check_version(info: Mapping[str, Any]) -> None:
    version = info.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(
            f"run.json has the format_version {shown(version)}; a whole number is needed"
        )
    if version > FORMAT_VERSION:
        raise InputError(
            f"run.json has format_version {version}, newer than the {FORMAT_VERSION} that this "
            "drspcrl reads; update drspcrl"
        )


def _first(info: Mapping[str, Any], config: Mapping[str, Any], *names: str) -> Any:
    for source in (info, config):
        for name in names:
            if name in source:
                return source[name]
    raise InputError(f"neither run.json nor config.yaml says its {names[0]}")


def _text(info: Mapping[str, Any], config: Mapping[str, Any], *names: str) -> str:
    value = _first(info, config, *names)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"its {names[0]} is {shown(value)}, where a name is needed")
    return value


def _seed(info: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    value = _first(info, config, "seed")
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"its seed is {shown(value)}, where a whole number is needed")
    return value


def _plain_or_packed(path: Path) -> Path:
    """The file itself where it is there, else its packed form."""
    return path if os.path.lexists(path) else path.with_name(path.name + SUFFIX)


def _read_metrics(
    path: Path, wanted: Sequence[str] | None, info: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    if not os.path.lexists(path):
        return {}
    text = read_text(path)
    header, rows = parse_csv(path, text)
    checked = path.name == METRICS_FILE and wanted != ()  # whoever wants none needs none whole
    if checked and not as_written(text, info.get("metrics")):
        raise InputError(
            f"{path.name} is damaged: it is not what the training wrote, by the check value in "
            "run.json; put a whole copy in its place"
        )
    if header and "step" not in header:
        raise InputError(f"{path.name} has no column step")
    keep = [i for i, name in enumerate(header) if wanted is None or name in wanted]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    return {header[i]: numbers(columns[i], path.name, header[i]) for i in keep}


def _read_evaluations(folder: Path) -> dict[str, Evaluation]:
    evaluations = {}
    # Packed ones first: a plain table beside one is newer and takes its place.
    for ending in (".csv" + SUFFIX, ".csv"):
        for path in sorted(folder.glob(f"evaluation*{ending}")):
            name = path.name.removesuffix(ending)
            suite = name.removeprefix("evaluation").removeprefix("-") or DEFAULT_SUITE
            beside = _beside(folder / f"{name}.json")
            evaluations[suite] = replace(
                read_evaluation(path),
                left_out=_settings_left_out(beside.get("left_out")),
                random_return=_random_return(beside.get("random_return")),
                statistic="worst" if beside.get("statistic") == "worst" else "mean",
            )
    return evaluations


def _beside(path: Path) -> Mapping[str, Any]:
    """What the file beside a table says; a table does not need that file."""
    try:
        return _mapping(path, parse_json, MOST_JSON)
    except InputError:
        return {}


def _settings_left_out(found: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _random_return(found: Any) -> tuple[float, int] | None:
    if not isinstance(found, dict):
        return None
    mean, count = found.get("mean"), found.get("episodes")
    if not isinstance(mean, int | float) or not isinstance(count, int) or not np.isfinite(mean):
        return None
    return float(mean), count
