"""Suites as YAML files: those of the package, in `suites/`, and the user's own of the same form."""

import re
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.evaluation.suite import Suite
from drspcrl.files import read_text
from drspcrl.named import refuse_imports
from drspcrl.perturbations import Perturbation, Setting, grid, parse, values
from drspcrl.perturbations.setting import MOST_POINTS
from drspcrl.reading import MOST_YAML, parse_yaml
from drspcrl.registry import Entry, Registry

_FORMS = (
    "write a setting in words (none, action=0.3), {perturbation: NAME, levels: [...]} with "
    "optional settings, {grid: {PARAMETER: [factors]}} or {values: {PARAMETER: [values]}}"
)
_RENAMED = {
    "worst_case": "is called mass_friction now, because it is no published protocol; M2TD3's and "
    "RRLS's own are m2td3-2 and m2td3-3"
}


class ShippedSuite(Entry):
    """A suite that comes with the package: one file in `suites/`."""

    def load(self) -> Suite:
        """The suite, read anew."""
        return _shipped(self.label)


def _entries() -> dict[str, Entry]:
    files = (resources.files("drspcrl.evaluation") / "suites").iterdir()
    names = sorted(Path(file.name).stem for file in files if file.name.endswith(".yaml"))
    return {name: ShippedSuite(f"suites/{name}.yaml", name, "") for name in names}


SUITES = Registry("suite", _entries(), own="module:name, or the path of a YAML file")


def load_suite(suite: str | Path | Suite, trust: Collection[str] = ()) -> Suite:
    """Find a suite by its name, or read one from a YAML file.

    Args:
        suite: `paper`, `quick`, … (see `SUITES`), a path that ends in `.yaml` or `.yml`, a suite,
            which is returned as it is, or the `module:name` of one.
        trust: names of the form `module:name` that may be imported: of a suite, or of kinds of
            perturbation in a file.

    Raises:
        InputError: An unknown name, or a file that is missing or not as it should be.
    """
    if isinstance(suite, Suite):
        return suite
    path = Path(suite)
    if path.suffix not in (".yaml", ".yml"):
        refuse_imports(str(suite), trust, "command")
        if (now := _RENAMED.get(str(suite))) is not None:
            raise InputError(f"suite {suite} {now}")
        found = SUITES.load(str(suite))
        if not isinstance(found, Suite):
            raise InputError(f"suite {shown(str(suite))} is no drspcrl.evaluation.Suite")
        return found
    try:
        text = read_text(path, follow=True, most=MOST_YAML)
    except (OSError, ValueError) as error:
        raise InputError(f"suite file {brief(path)} cannot be read: {brief(error)}") from None
    found = _parsed(text, path.stem, str(path), trust)
    if found.name in SUITES and not found.same_as(_shipped(found.name)):
        # Its results would pass for those of the suite everybody knows by that name.
        raise InputError(
            f"suite file {path} has the name of the package's suite {found.name!r} but other "
            "settings; rename the file"
        )
    return found


def _shipped(name: str) -> Suite:
    file = resources.files("drspcrl.evaluation") / "suites" / f"{name}.yaml"
    return _parsed(file.read_text(encoding="utf-8"), name, f"suite {name}")


def _parsed(text: str, name: str, source: str, trust: Collection[str] = ()) -> Suite:
    try:
        content = parse_yaml(text)
    except InputError as error:
        raise InputError(f"{source} is not valid YAML: {error}") from None
    _check_keys(content, {"settings"}, {"description", "statistic", "tasks"}, f"{source}")
    description, tasks = content.get("description", ""), content.get("tasks", {})
    if not isinstance(description, str) or not isinstance(tasks, Mapping):
        raise InputError(
            f"{source}: description must be a text and tasks names with lists of settings"
        )
    return Suite(
        name,
        _all_settings(content["settings"], source, trust),
        " ".join(description.split()),
        content.get("statistic", "mean"),
        {
            str(task): _all_settings(items, f"{source}, task {brief(task)}", trust)
            for task, items in tasks.items()
        },
    )


def _all_settings(items: Any, source: str, trust: Collection[str]) -> tuple[Setting, ...]:
    if not isinstance(items, list):
        raise InputError(f"{source}: settings must be a list")
    settings: list[Setting] = []
    for position, item in enumerate(items, start=1):
        try:
            settings += _settings(item, trust)
        except InputError as error:
            raise InputError(f"{source}, setting {position}: {error}") from None
        if len(settings) > MOST_POINTS:
            raise InputError(f"{source} has more than {MOST_POINTS:,} settings; give fewer")
    return tuple(settings)


def _settings(item: Any, trust: Collection[str]) -> list[Setting]:
    """The settings that one item of the list stands for."""
    if isinstance(item, str):
        return [parse(re.sub(r"\s", "", item), trust)]
    if isinstance(item, Mapping) and "grid" in item:
        _check_keys(item, {"grid"}, set(), "a grid")
        return list(grid(_axes(item["grid"], "factors")))
    if isinstance(item, Mapping) and "values" in item:
        _check_keys(item, {"values"}, set(), "a grid of values")
        return list(values(_axes(item["values"], "values")))
    if isinstance(item, Mapping) and "perturbation" in item:
        _check_keys(item, {"perturbation", "levels"}, {"settings"}, "a perturbation")
        name, settings = item["perturbation"], item.get("settings", {})
        if not isinstance(name, str) or not isinstance(settings, Mapping):
            raise InputError(
                f"perturbation is {shown(name)} and settings {shown(settings)}; give a name, "
                "and names with values"
            )
        refuse_imports(name, trust, "suite")
        return [Perturbation(name, level, settings) for level in _numbers(item["levels"])]
    raise InputError(f"{shown(item)} is not understood; {_FORMS}")


def _axes(axes: Any, what: str) -> dict[str, list[float]]:
    if not isinstance(axes, Mapping) or not all(isinstance(name, str) for name in axes):
        raise InputError(f"grid is {shown(axes)}; give parameters with lists of {what}")
    return {name: _axis(given) for name, given in axes.items()}


def _axis(given: Any) -> list[float]:
    """A list of numbers, or evenly spaced ones with both ends."""
    if not isinstance(given, Mapping):
        return _numbers(given)
    _check_keys(given, {"from", "to", "points"}, set(), "an axis")
    first, last, points = _numbers([given["from"], given["to"], given["points"]])
    if points != int(points) or not 2 <= points <= MOST_POINTS:
        raise InputError(f"points of an axis are {shown(points)}; give a whole number, at least 2")
    return np.linspace(first, last, int(points)).tolist()


def _numbers(found: Any) -> list[float]:
    numeric = isinstance(found, list) and all(
        isinstance(x, int | float) and not isinstance(x, bool) for x in found
    )
    if not numeric or not found:
        raise InputError(f"levels are {shown(found)}; give a list of numbers such as [0.1, 0.2]")
    return found


def _check_keys(found: Any, needed: set[str], optional: set[str], what: str) -> None:
    if not isinstance(found, Mapping) or not needed <= set(found) <= needed | optional:
        keys = shown(sorted(map(str, found)) if isinstance(found, Mapping) else found)
        extra = f" and may have {', '.join(sorted(optional))}" if optional else ""
        raise InputError(f"{what} has {keys}; it needs {', '.join(sorted(needed))}{extra}")
