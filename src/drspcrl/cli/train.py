"""`drspcrl train`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from drspcrl.cli.durations import Duration
from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.training.config import TrainConfig


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
    """Train every (method, seed) as one population; each leaves a run folder in OUT."""

    # Some options are written in another way than in Python; all others are the configuration's.
    env: str
    """Task: Hopper, HalfCheetah, Walker2d, Humanoid, any Gymnasium id with Box spaces, or your own
    as my_module:My-v0 (an id that my_module registers) or my_module:make (a function or class in
    it); the module is looked for in the working directory, too."""
    settings: Settings = field(default_factory=dict)
    """Hyper-parameters that differ from the preset, e.g. --set critic_lr=3e-4 hidden=[64,64]."""
    worlds: Path | None = None
    """YAML file with the tolerances that worlds are drawn from, e.g. tank.yaml; see
    docs/worlds.md. Without it the default ones: physics, sensors and actuators."""
    time_limit: Duration = None
    """Stop cleanly with a checkpoint after this time: seconds, or a text such as 9m or 1h30m."""

    def run(self) -> None:
        """Train; exit with code 1 if a run diverged."""
        from drspcrl.cli.outcome import show
        from drspcrl.cli.say import console
        from drspcrl.training.run import train

        show(train(self, console()))
