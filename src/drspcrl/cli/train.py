"""`drspcrl train` and `resume`: options, every number in the help, what a config.yaml holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.training.config import TrainConfig
from drspcrl.training.stopping import seconds

Duration = Annotated[
    float | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="TIME",
        instance_from_str=lambda texts: seconds("time_limit", texts[0]),
        is_instance=lambda value: value is None or isinstance(value, float),
        str_from_instance=lambda value: ["none" if value is None else f"{value:g}s"],
    ),
]
"""Seconds, or a text such as 90s, 9m or 1h30m."""


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Settings from `name=value` texts, the values read as YAML.

    Raises:
        InputError: a text without a name or a value, or a name given twice.
    """
    from drspcrl.variants import read_value

    settings = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals and text):
            raise InputError(f"--set {shown(pair)} is not name=value, e.g. critic_lr=3e-4")
        if name in settings:
            raise InputError(f"--set {name} is given twice")
        try:
            settings[name] = read_value(text)
        except ValueError:
            raise InputError(f"--set {shown(pair)} has no readable value") from None
    return settings


Settings = Annotated[
    Mapping[str, Any],
    tyro.conf.arg(name="set"),
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="[NAME=VALUE [NAME=VALUE ...]]",
        instance_from_str=parse_settings,
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [f"{name}={one}" for name, one in value.items()],
    ),
]


@dataclass(frozen=True)
class Train(TrainConfig):
    """Train every (method, seed) as one population; each leaves a run folder in OUT.

    With --config FILE, everything that a config.yaml holds is the default of the options here. Code
    of your own that it names as module:Class is imported only where you type that name, too.
    """

    # Some options are written in another way than in Python; all others are the configuration's.
    env: str
    """Task: Hopper, HalfCheetah, Walker2d, Humanoid, any Gymnasium id with Box spaces, or your own
    as my_module:My-v0 (an id that my_module registers) or my_module:make (a function or class in
    it); the module is looked for in the working directory, too."""
    settings: Settings = field(default_factory=dict)
    """Hyper-parameters that differ from the preset, e.g. --set critic_lr=3e-4 hidden=[64,64]."""
    worlds: Path | None = None
    """YAML file with the tolerances that worlds are drawn from, e.g. tank.yaml; see
    docs/concepts/worlds.md. Without it the default ones: physics, sensors and actuators."""
    time_limit: Duration = None
    """Stop cleanly with a checkpoint after this time: seconds, or a text such as 9m or 1h30m."""

    def run(self) -> None:
        """Train; exit with code 1 if a run diverged."""
        from drspcrl.cli.say import console, show
        from drspcrl.training.run import train

        show(train(self, console()))


def settings_help(arguments: Sequence[str]) -> str:
    """The parts by name, and every number: of the algorithm and uncertainty given, or of all.

    Args:
        arguments: of the command, `--help` among them.
    """
    from drspcrl.training.settings import as_text, groups, parts_text

    algorithm = _value_of("--algorithm", arguments)
    uncertainty = _value_of("--uncertainty", arguments)
    return f"{parts_text()}\n{as_text(groups(algorithm, uncertainty))}"


def from_file(arguments: Sequence[str]) -> Train:
    """The training that `--config FILE` and the options beside it describe.

    Raises:
        InputError: a file that cannot be read, or that does not describe a training.
    """
    path = _value_of("--config", arguments)
    if path is None:
        raise InputError("--config needs a file; give the path of a config.yaml")
    place = next(i for i, one in enumerate(arguments) if one.split("=")[0] == "--config")
    rest = [*arguments[:place], *arguments[place + (1 if "=" in arguments[place] else 2) :]]
    given = read_training(Path(path))
    _refuse_code(given, rest)
    own, worlds = given.pop("settings", {}), given.pop("worlds", None)
    lacking = {"env", "algorithm", "out"} - given.keys()
    options = {one.split("=")[0].removeprefix("--") for one in rest if one.startswith("--")}
    if missing := sorted(lacking - options):
        raise InputError(f"{path} says nothing of {', '.join(missing)}; give --{missing[0]}")
    # What is missing there is in the options, and checked with them.
    filler = {"env": "Hopper", "algorithm": "ppo", "out": Path()}
    default = Train(**({name: filler[name] for name in lacking} | given))
    parsed = tyro.cli(Train, args=rest, default=default, prog="drspcrl train")
    changes: dict[str, Any] = {"settings": {**own, **parsed.settings}}
    if parsed.worlds is None and worlds is not None:
        changes["worlds"] = worlds
    return replace(parsed, **changes)


def _refuse_code(given: dict[str, Any], typed: Sequence[str]) -> None:
    """Refuse a name in the file whose module would be imported, unless it is typed as well.

    The file may be one of a run folder, and that may come from anywhere.
    """
    from drspcrl.training.settings import named_parts

    methods = list(given.get("methods", ()))
    for name in named_parts({**given, "methods": methods}):
        if ":" in name and not any(name in one for one in typed):
            raise InputError(
                f"the file given as --config names {shown(name)}, whose module would be imported; "
                "if you trust that code, give it beside the file, too, as --env, --algorithm, "
                "--methods or --set"
            )


def read_training(path: Path) -> dict[str, Any]:
    """What a config.yaml says of a training, as the fields of `TrainConfig`.

    A run folder's file is about one run: its method and seed, with every number that it had.

    Raises:
        InputError: it cannot be read, or has entries that no training has.
    """
    from drspcrl.files import read_text
    from drspcrl.reading import MOST_YAML, parse_yaml

    try:
        text = read_text(path, follow=True, most=MOST_YAML)
    except (OSError, ValueError) as error:
        raise InputError(f"--config {path} cannot be read: {brief(error)}") from None
    try:
        found = parse_yaml(text)
    except InputError as error:
        raise InputError(f"--config {path} is not valid YAML: {error}") from None
    known = {f.name for f in fields(TrainConfig)} | {"method", "seed", "population", "worlds_file"}
    if not isinstance(found, dict) or set(found) - known:
        unknown = (
            sorted(map(str, set(found) - known)) if isinstance(found, dict) else [shown(found)]
        )
        raise InputError(
            f"--config {path} has {brief(unknown[0])}, which no training has; it may have "
            f"{', '.join(sorted(known))}"
        )
    if not isinstance(found.get("settings", {}), dict):
        raise InputError(
            f"--config {path} has the settings {shown(found['settings'])}; give names with values"
        )
    for one, several in (("method", "methods"), ("seed", "seeds")):
        if one in found:
            found[several] = [found.pop(one)]
        if several in found:
            value = found[several]
            found[several] = tuple(value) if isinstance(value, list) else (value,)
    for beside in ("population", "worlds_file", "out" if "population" in found else ""):
        found.pop(beside, None)
    if "out" in found:
        found["out"] = Path(str(found["out"]))
    return found


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value of an option among arguments, given as `--option value` or `--option=value`."""
    for one, following in zip(arguments, [*arguments[1:], None], strict=True):
        name, equals, value = one.partition("=")
        if name == option:
            return value if equals else following
    return None


@dataclass(frozen=True)
class Resume:
    """Continue exactly where a training stopped, or make it longer.

    The runs of a population continue together, also if the folder of one of them is given.
    """

    dir: Annotated[Path, tyro.conf.Positional]
    """The OUT of a training, or a run folder in it."""
    steps: int | None = None
    """A new length of each run, above the old one."""
    time_limit: Duration = None
    """Stop again after this time: seconds, or a text such as 9m or 1h30m."""

    trust: tuple[str, ...] = ()
    """Methods and environments of the runs whose module may be imported, as my_module:My-v0."""

    def run(self) -> None:
        """Continue; exit with code 1 if a run diverged."""
        from drspcrl.cli.say import console, show
        from drspcrl.training.resuming import resume

        show(resume(self.dir, self.steps, self.time_limit, console(), self.trust))
