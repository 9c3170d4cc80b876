"""A suite: the settings a policy is tried in, and the seed of every episode in them.

Suites of the package are YAML files in `suites/`; a user's own have the same form.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.files import read_text
from drspcrl.named import refuse_imports
from drspcrl.perturbations import Perturbation, Setting, as_parts, grid, label, parse, values
from drspcrl.perturbations.attacks import Attack
from drspcrl.perturbations.setting import MOST_POINTS
from drspcrl.reading import MOST_YAML, parse_yaml
from drspcrl.registry import Entry, Registry

OTHERS = "others"
"""In a suite's tasks: all that are not named."""

Statistic = Literal["mean", "worst"]
"""What sums a suite up: the mean over its perturbed settings, or the worst of their means."""


@dataclass(frozen=True)
class Row:
    """One setting of a suite.

    Attributes:
        perturbation: The table's column `perturbation`: `none`, `action`, `scale[mass]`, and for a
            combination all of it but the last level, `scale[mass]=2,scale[friction]`.
        level: The table's column `level`, the level of the last perturbation; 0 for `none`.
        parts: The perturbations, innermost first.
        onset: The step at which the first fault among them begins, None where none does. Of the
            nominal setting of a suite with faults that of its earliest one, as a control.
    """

    perturbation: str
    level: float
    parts: tuple[Perturbation, ...]
    onset: int | None = None

    @property
    def attack(self) -> Attack | None:
        """What changes the observations that the policy sees, None where nothing does."""
        return self.parts[-1].attack if self.parts else None

    @property
    def simulated(self) -> tuple[Perturbation, ...]:
        """The perturbations that the environment knows of."""
        return self.parts if self.attack is None else self.parts[:-1]

    @property
    def label(self) -> str:
        """The setting in words, e.g. `action=0.3`."""
        return label(self.parts)


@dataclass(frozen=True)
class Suite:
    """Settings to evaluate in.

    Args:
        name: Letters, digits, `_` and `-`; it becomes part of file names.
        settings: Each None (nominal), a `Perturbation`, or a tuple of them, innermost first.
        description: A line for people.
        statistic: What sums it up, `mean` or `worst`.
        tasks: Further settings of single tasks, of a suite that has others for each; those of
            `others` are for every task that is not named.

    Raises:
        InputError: A name that cannot be a file name, no settings, or one that is there twice.
    """

    name: str
    settings: Sequence[Setting]
    description: str = ""
    statistic: Statistic = "mean"
    tasks: Mapping[str, Sequence[Setting]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise InputError(
                f"suite name is {shown(self.name)}; use letters, digits, _ and -, as in 'my_suite'"
            )
        if self.statistic not in get_args(Statistic):
            raise InputError(
                f"suite {shown(self.name)} has the statistic {shown(self.statistic)}; choose one "
                f"of {', '.join(get_args(Statistic))}"
            )
        if not self.settings and not self.tasks:
            raise InputError(
                f"suite {shown(self.name)} has no settings; give at least one, e.g. none"
            )
        for own in self.tasks.values() or [()]:
            self._check_twice([*self.settings, *own])

    def _check_twice(self, settings: Sequence[Setting]) -> None:
        seen: set[str] = set()
        for setting in settings:
            name = label(as_parts(setting))
            if any(part.attack is not None for part in as_parts(setting)[:-1]):
                raise InputError(
                    f"suite {shown(self.name)} has {name}; an attack is on what the policy sees, "
                    "so it comes last, and once"
                )
            if name in seen:
                raise InputError(f"suite {shown(self.name)} has {name} twice; keep one of them")
            seen.add(name)

    def for_task(self, env: str | Callable[[], Any]) -> "Suite":
        """The suite as it is for one task, without those of others.

        Raises:
            InputError: it has settings for other tasks alone.
        """
        if not self.tasks:
            return self
        task = env.removesuffix("-v5") if isinstance(env, str) else ""
        own = self.tasks.get(task, self.tasks.get(OTHERS))
        if own is None:
            raise InputError(
                f"suite {self.name!r} is of {', '.join(self.tasks)} and has nothing for "
                f"{shown(env if isinstance(env, str) else type(env).__name__)}; take another suite"
            )
        return replace(self, settings=(*self.settings, *own), tasks={})

    @property
    def rows(self) -> tuple[Row, ...]:
        """The settings with the names they have in tables."""
        rows = [_row(as_parts(setting)) for setting in self.settings]
        onsets = [row.onset for row in rows if row.onset is not None]
        control = min(onsets, default=None)
        return tuple(row if row.parts else replace(row, onset=control) for row in rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """The settings in words; what makes two suites of one task equal."""
        return tuple(row.label for row in self.rows)

    def same_as(self, other: "Suite") -> bool:
        """Whether both have the same settings for every task, whatever they are called."""
        mine, theirs = ((s.labels, s.statistic, s._labels_of_tasks()) for s in (self, other))
        return mine == theirs

    def _labels_of_tasks(self) -> dict[str, tuple[str, ...]]:
        return {
            task: tuple(label(as_parts(setting)) for setting in own)
            for task, own in self.tasks.items()
        }


def episode_seed(seed: int, setting: Setting, episode: int) -> int:
    """The seed of one episode, which depends on nothing but these three.

    It is an ordinary Gymnasium seed: `wrap(gymnasium.make("Hopper-v5"), setting)`, reset with it,
    plays the very episode that the table has.

    Args:
        seed: The evaluation's seed.
        setting: What the episode is perturbed by.
        episode: Its number, from 0.
    """
    digest = hashlib.sha256(f"{seed}/{label(setting)}/{episode}".encode()).digest()
    # 31 bits, for environments that hand their seed on to older generators
    return int.from_bytes(digest[:4], "little") >> 1


def _row(parts: tuple[Perturbation, ...]) -> Row:
    if not parts:
        return Row("none", 0.0, ())
    *inner, last = parts
    before = f"{label(inner)}," if inner else ""
    onsets = [part.onset for part in parts if part.onset is not None]
    return Row(f"{before}{last.kind}", float(last.level), parts, min(onsets, default=None))


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
        """The suite, read again."""
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
