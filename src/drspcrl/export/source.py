"""The policy that is exported, and what is known about it: from a run folder or a policy file."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl import files, variants, zoo
from drspcrl.curricula.registry import BASELINES
from drspcrl.errors import InputError
from drspcrl.named import import_trusted
from drspcrl.policy import POLICY_FILE, Policy, load_policy
from drspcrl.runfolder.runs import Run, find_runs, read_run
from drspcrl.versions import versions_of

METADATA_VERSION = 2
_LISTED = 8
_MAX_VALUES, _MAX_TEXT, _MAX_DEPTH = 20_000, 1_000, 8
# What config.yaml says, beside the method's settings, about what a run was trained against.
_TRAINING_KEYS = ("uncertainty", "worlds")


@dataclass(frozen=True)
class Source:
    """A policy with its metadata.

    Attributes:
        policy: What is exported.
        metadata: Plain JSON data: lists, dictionaries, text, finite numbers. Bounded in size, since
            it comes from files that anybody may have written.
        notes: What could not be found out, and the remedy.
    """

    policy: Policy
    metadata: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def read_source(path: str | Path, trust: Collection[str] = ()) -> Source:
    """Read the policy of one run.

    Args:
        path: A run folder, a folder with a single run in it, `zoo:NAME` or a policy file. What is
            known about a file is read from the run folder it lies in, if it lies in one.
        trust: Environments of the form `module:Id` whose module may be imported to ask for the
            control period and for names.

    Raises:
        InputError: No policy, several runs, or a damaged run.
    """
    file = policy_file(Path(path))
    policy = load_policy(file)
    metadata = _facts_of(policy)
    if not (file.parent / "run.json").is_file():
        note = f"{file.parent} is no run folder, so task and training are not in the metadata"
        return Source(policy, metadata, (note,))
    run = read_run(file.parent, metrics=("step", "epsilon"), evaluations=False)
    told, notes = _description(run.environment, policy, trust)
    described = {**_identity(run), **told, **metadata, "training": _training(run)}
    return Source(policy, _Bounded().plain(described), notes)


def mean_layers(policy: Policy) -> list[tuple[np.ndarray, np.ndarray]]:
    """The layers as far as the mean action needs them: without the log std of a tanh-Gaussian."""
    *hidden, (kernel, bias) = policy.layers
    return [*hidden, (kernel[:, : policy.action_size], bias[: policy.action_size])]


def middle_and_half(policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half width of the action range, in the precision of `stretch`."""
    low, high = policy.action_low, policy.action_high
    return (high + low) / np.float32(2.0), (high - low) / np.float32(2.0)


def policy_file(path: Path) -> Path:
    """The policy file of a run folder, a folder with a single run in it, `zoo:NAME`, or itself.

    Raises:
        InputError: There is none, or there are several.
    """
    path = zoo.located(path)
    if not path.is_dir():
        if not path.is_file():
            raise InputError(f"{path} does not exist; give a run folder, a policy file or zoo:NAME")
        return path
    path = files.named_folder(path)
    if os.path.lexists(path / POLICY_FILE):
        return _own(path)
    runs = [folder for folder in find_runs(path) if os.path.lexists(folder / POLICY_FILE)]
    if len(runs) == 1:
        return _own(runs[0])
    if not runs:
        raise InputError(f"there is no {POLICY_FILE} at or below {path}; give a run folder")
    more = f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else ""
    listed = ", ".join(map(str, runs[:_LISTED])) + more
    raise InputError(f"{path} holds {len(runs)} runs; give one of them: {listed}")


def _own(run: Path) -> Path:
    """The policy file of a run, which must be there itself."""
    files.check_folder(run)
    files.check_file(run / POLICY_FILE)
    return run / POLICY_FILE


def _facts_of(policy: Policy) -> dict[str, Any]:
    return {
        "metadata_version": METADATA_VERSION,
        "made_by": f"drspcrl {versions_of(['drspcrl'])['drspcrl']}",
        "kind": policy.kind,
        "activation": policy.activation,
        "observation_size": policy.observation_size,
        "action_size": policy.action_size,
        "action_low": policy.action_low.tolist(),
        "action_high": policy.action_high.tolist(),
    }


def _identity(run: Run) -> dict[str, Any]:
    steps = run.info.get("steps", run.config.get("steps"))
    return {
        "task": run.environment,
        "algorithm": run.algorithm,
        "method": run.method,
        "seed": run.seed,
        **({} if steps is None else {"steps": steps}),
    }


def _description(
    task: str, policy: Policy, trust: Collection[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Control period and names as far as the task tells them, and a note where it cannot."""
    if ":" in task and task not in trust:
        note = f"control period and names are unknown without importing {_text(task)}"
        return {}, (f"{note}; if you trust that code, say so with --trust {_text(task)}",)
    from drspcrl.envs.described import describe

    try:
        import_trusted(task, trust)
        told = describe(task)
    except InputError as error:
        return {}, (_text(f"control period and names are unknown: {error}"),)
    names = {"observation_names": policy.observation_size, "action_names": policy.action_size}
    fitting = {
        name: list(found)
        for name, size in names.items()
        if (found := getattr(told, name)) is not None and len(found) == size
    }
    period = {} if told.control_period is None else {"control_period": told.control_period}
    return {**period, **fitting}, ()


def _training(run: Run) -> dict[str, Any]:
    """What the run was trained against, in the words of its own config.yaml, and how far.

    The config.yaml of a plain run declares worlds, too, which the robust runs beside it face.
    """
    settings = run.config.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    if _plain(run.method):
        return {"uncertainty": "none", "radius": 0.0, "settings": settings}
    found = {key: run.config[key] for key in _TRAINING_KEYS if key in run.config}
    if not found and "nominal" in settings:  # older runs, written before there was a choice
        found["uncertainty"] = "transitions"
    epsilon = run.metrics.get("epsilon", np.zeros(0))
    if len(epsilon) and np.isfinite(epsilon[-1]):
        found["radius"] = float(epsilon[-1])
    if "epsilon_budget" in settings:
        found["radius_budget"] = settings["epsilon_budget"]
    return {**found, "settings": settings}


def _plain(method: str) -> bool:
    """Whether a method takes the simulator at its word, with no ball of any radius around it."""
    try:
        return variants.parse_variant(method).method in ("vanilla", *BASELINES)
    except InputError:  # a name that only a file made by hand can have
        return False


class _Bounded:
    """Makes plain JSON data of what YAML holds, and refuses what is larger than any real run's.

    YAML's aliases let a small file stand for a value of any size, so values are counted.
    """

    def __init__(self) -> None:
        self._left = _MAX_VALUES

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON can hold it; control characters become spaces."""
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise InputError(
                f"run.json or config.yaml holds more than {_MAX_VALUES:,} values or is nested "
                f"more than {_MAX_DEPTH} deep, which no run writes; export policy.safetensors alone"
            )
        if isinstance(value, Mapping):
            return {_text(key): self.plain(own, depth + 1) for key, own in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(own, depth + 1) for own in value]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and abs(value) < 1e300:  # false for nan
            return value
        return _text(value)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return "".join(c if c.isprintable() else " " for c in text[:_MAX_TEXT])
