"""Grids as data: which populations to train, how to evaluate them, what to compare with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from drspcrl import variants
from drspcrl.config.presets import ablation
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.experiments.population import TRAINING, Population
from drspcrl.files import read_text, resolved
from drspcrl.reading import MOST_YAML, parse_yaml
from drspcrl.training.settings import is_shared
from drspcrl.variants import Variant
from drspcrl.worlds.declare import read_declared

_MOST_EPISODES = 2**32
_NAMES = {"title", "groups", "training", "evaluation", "report"}
_GROUP_NAMES = {"env", "algorithm", "methods", "ablation", "seeds", "steps", "settings"}


@dataclass(frozen=True)
class Evaluation:
    """How finished runs are evaluated.

    Attributes:
        suite: name of a suite, or the path of a YAML file.
        episodes: episodes for each setting.
    """

    suite: str = "paper"
    episodes: int = 100

    def __post_init__(self) -> None:
        whole = isinstance(self.episodes, int) and not isinstance(self.episodes, bool)
        if not whole or not 1 <= self.episodes <= _MOST_EPISODES or not isinstance(self.suite, str):
            raise InputError(
                f"evaluation has suite {shown(self.suite)} and {shown(self.episodes)} episodes; "
                "give a name or path, and at least one whole episode"
            )


@dataclass(frozen=True)
class Grid:
    """Many trainings and what is made of them.

    Attributes:
        name: what it is called on the command line.
        title: what it is about.
        populations: the groups, one population each.
        evaluation: how finished runs are evaluated.
        compare: "paper" sets the paper's numbers beside ours in the report.
    """

    name: str
    title: str
    populations: tuple[Population, ...]
    evaluation: Evaluation = field(default_factory=Evaluation)
    compare: str | None = None

    def __post_init__(self) -> None:
        if len({population.uncertainty for population in self.populations}) > 1:
            raise InputError(
                f"grid {self.name} has uncertainty=worlds and uncertainty=transitions; make a grid "
                "of each, with an --out of its own"
            )
        seen: dict[str, str] = {}
        for population in self.populations:
            for folder in population.folders():
                if folder in seen:
                    raise InputError(f"grid {self.name}: the run {folder} is in two groups")
                seen[folder] = population.group

    @property
    def uncertainty(self) -> str:
        """`worlds` or `transitions`, the same for all of its runs."""
        return self.populations[0].uncertainty

    def folders(self) -> list[str]:
        """All run folders, relative to the grid's folder."""
        return [folder for population in self.populations for folder in population.folders()]

    @property
    def code(self) -> tuple[str, ...]:
        """Tasks and methods; who typed the grid has named the modules of those that have one."""
        methods = (label for population in self.populations for label in population.methods)
        names = [population.env for population in self.populations]
        return tuple(
            dict.fromkeys([*names, *(variants.parse_variant(label).method for label in methods)])
        )

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(population.size for population in self.populations)

    def of_length(self, steps: int) -> "Grid":
        """The same with so many steps for every run."""
        changed = (replace(population, steps=steps) for population in self.populations)
        return replace(self, populations=tuple(changed))


def grid_names() -> tuple[str, ...]:
    """The grids that come with the package."""
    found = (
        Path(file.name) for file in files("drspcrl.config.presets").joinpath("grids").iterdir()
    )
    return tuple(sorted(path.stem for path in found if path.suffix == ".yaml"))


def load_grid(name: str | Path) -> Grid:
    """A grid of the package by its name, or one from a YAML file by its path.

    Raises:
        InputError: an unknown name, or a file that is missing or not as it should be.
    """
    if str(name) in grid_names():
        text = files("drspcrl.config.presets").joinpath(f"grids/{name}.yaml").read_text("utf-8")
        return parse_grid(text, str(name), Path())
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(
            f"grid {shown(str(name))} is unknown; choose one of {', '.join(grid_names())}, or "
            "give the path of your own YAML file"
        )
    try:
        text = read_text(path, follow=True, most=MOST_YAML)
    except (OSError, ValueError) as error:
        raise InputError(f"grid file {brief(path)} cannot be read: {brief(error)}") from None
    return parse_grid(text, str(path), path.parent)


def parse_grid(text: str, name: str, folder: Path) -> Grid:
    """The grid that a YAML text describes.

    Args:
        text: the content of a grid file.
        name: what it is called.
        folder: where suites and worlds that are given as paths are looked for.

    Raises:
        InputError: it is not as it should be.
    """
    try:
        content = parse_yaml(text)
    except InputError as error:
        raise InputError(f"grid {name} is not YAML: {error}") from None
    try:
        return _grid(content, name, folder)
    except InputError as error:
        raise InputError(f"grid {name}: {error}") from None


def _grid(content: Any, name: str, folder: Path) -> Grid:
    _check_names("it", content, _NAMES, {"groups"})
    training = content.get("training") or {}
    _check_names("training", training, set(TRAINING))
    if isinstance(training.get("worlds"), str):
        # What the file holds, so that every machine trains in the same worlds.
        training = training | {"worlds": read_declared(folder / training["worlds"])[0].record()}
    if not isinstance(content["groups"], list) or not content["groups"]:
        raise InputError(f"groups is {shown(content['groups'])}; give a list of groups")
    populations: list[Population] = []
    for number, entry in enumerate(content["groups"], start=1):
        try:
            populations += _populations(entry, training)
        except InputError as error:
            raise InputError(f"group {number}: {error}") from None
    report = content.get("report") or {}
    _check_names("report", report, {"compare"})
    if report.get("compare") not in (None, "paper"):
        raise InputError(f"report compares with {shown(report['compare'])}; give paper or nothing")
    return Grid(
        name,
        str(content.get("title", name)),
        tuple(populations),
        _evaluation(content.get("evaluation") or {}, folder),
        report.get("compare"),
    )


def _populations(entry: Any, training: Mapping[str, Any]) -> list[Population]:
    _check_names("it", entry, _GROUP_NAMES, {"env", "algorithm", "seeds", "steps"})
    settings = entry.get("settings") or {}
    _check_names("settings", settings, None)
    methods = [variants.parse_variant(text) for text in _list(entry, "methods", str)]
    if "ablation" in entry:
        methods += ablation(entry["ablation"]).variants
    if not methods:
        raise InputError("it has neither methods nor an ablation; give one of them")
    seeds, steps = _list(entry, "seeds", int), entry["steps"]
    return [
        Population(env, algorithm, labels, tuple(seeds), steps, shared, training)
        for algorithm, env in product(_list(entry, "algorithm", str), _list(entry, "env", str))
        for labels, shared in programs(algorithm, methods, settings)
    ]


def programs(
    algorithm: str, methods: Sequence[Variant], settings: Mapping[str, Any]
) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Methods that may share a program, with the settings of that program.

    A variant that changes what shapes the program gets one of its own, to which all of its changes
    belong: `self_paced:divergence=tv,epsilon_budget=0.5` is `self_paced` among other settings.
    """
    groups: list[tuple[list[str], dict[str, Any]]] = []
    for variant in methods:
        lifted = any(is_shared(algorithm, name) for name in variant.changes)
        shared = {**settings, **(variant.changes if lifted else {})}
        label = variants.variant_label(Variant(variant.method) if lifted else variant)
        labels = next((known for known, own in groups if own == shared), None)
        if labels is None:
            groups.append(([label], shared))
        else:
            labels.append(label)
    return [(tuple(labels), shared) for labels, shared in groups]


def _evaluation(content: Any, folder: Path) -> Evaluation:
    _check_names("evaluation", content, {"suite", "episodes"})
    found = Evaluation(**content)
    if Path(found.suite).suffix in (".yaml", ".yml"):
        return replace(found, suite=str(resolved(folder / found.suite)))
    return found


def _list(entry: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """One value or several; none where the name is not there."""
    given = entry.get(name, [])
    values = given if isinstance(given, list) else [given]
    if any(isinstance(one, bool) or not isinstance(one, kind) for one in values):
        wanted = "names" if kind is str else "whole numbers"
        raise InputError(f"{name} is {shown(given)}; give a list of {wanted}")
    if name in entry and not values:
        raise InputError(f"{name} is empty; give at least one")
    return values


def _check_names(
    what: str, found: Any, allowed: set[str] | None, needed: set[str] | None = None
) -> None:
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise InputError(f"{what} is {shown(found)}; give names with values")
    unknown = sorted(set(found) - allowed) if allowed is not None else []
    missing = sorted((needed or set()) - set(found))
    if unknown or missing:
        problem = f"has {shown(unknown[0])}" if unknown else f"lacks {missing[0]!r}"
        raise InputError(f"{what} {problem}; it may have {', '.join(sorted(allowed or ()))}")
