"""Perturbations as data: a name, a level, settings; combinations and grids of them."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import Parameter, signature
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import gymnasium

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.named import refuse_imports
from drspcrl.perturbations.registry import PERTURBATIONS
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.reading import parse_json

if TYPE_CHECKING:
    from drspcrl.perturbations.attacks import Attack


@dataclass(frozen=True)
class Perturbation:
    """One kind of perturbation at one level.

    Args:
        name: one of `PERTURBATIONS`, or one's own wrapper as `module:Class`.
        level: how strong; what it means and what it may be depends on the kind.
        settings: the further arguments of the kind's wrapper, as JSON-like data.

    Raises:
        InputError: an unknown name, a level out of range, unknown or missing settings.
    """

    name: str
    level: float
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.wrapper.Kernel.check_level(self.level)
        parameters = _settings_of(self.wrapper)
        required = {k for k, default in parameters.items() if default is Parameter.empty}
        if not required <= set(self.settings) <= set(parameters):
            raise InputError(
                f"perturbation {self.name!r} got settings {shown(sorted(self.settings))}; it takes "
                f"{sorted(parameters) or 'none'}, of which {sorted(required) or 'none'} are needed"
            )
        _ = self.attack  # refuses settings of an attack, which nothing else is made with

    @property
    def wrapper(self) -> type[PerturbationWrapper]:
        """The Gymnasium wrapper of this kind."""
        return _wrapper_class(self.name)

    @property
    def attack(self) -> "Attack | None":
        """What it does to the observations that a policy sees, None where it is no attack."""
        make = getattr(self.wrapper, "Attack", None)
        return None if make is None else make(**self.settings)

    @property
    def onset(self) -> int | None:
        """The step of an episode at which it begins to act; None where it always does."""
        return self.record()["settings"].get("onset")

    @property
    def kind(self) -> str:
        """Name and settings, without the level: `push[frequency=1.0]`, `scale[mass:torso]`."""
        if not self.settings:
            return self.name
        if list(self.settings) == ["parameter"]:
            return f"{self.name}[{self.settings['parameter']}]"
        pairs = (f"{key}={json.dumps(self.settings[key])}" for key in sorted(self.settings))
        return f"{self.name}[{';'.join(pairs)}]"

    def record(self) -> dict[str, Any]:
        """Name, level and all settings, defaults included, to be kept with a result."""
        settings = {**_settings_of(self.wrapper), **self.settings}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
        return {"name": self.name, "level": self.level, "settings": plain}

    def wrap(self, env: gymnasium.Env) -> PerturbationWrapper:
        """The Gymnasium environment with this perturbation."""
        return self.wrapper(env, self.level, **self.settings)


def _settings_of(wrapper: type[PerturbationWrapper]) -> dict[str, Any]:
    parameters = list(signature(wrapper.__init__).parameters.values())
    return {parameter.name: parameter.default for parameter in parameters[3:]}


@cache
def _wrapper_class(name: str) -> type[PerturbationWrapper]:
    found = PERTURBATIONS.load(name)
    if not (isinstance(found, type) and issubclass(found, PerturbationWrapper)):
        raise InputError(
            f"perturbation {shown(name)} is no subclass of "
            "drspcrl.perturbations.PerturbationWrapper; an example is in "
            "docs/reference/perturbations.md"
        )
    return found


Setting = Perturbation | Sequence[Perturbation] | None

MOST_POINTS = 10_000
"""The most settings of a grid; all of them are evaluated."""


def as_parts(setting: Setting) -> tuple[Perturbation, ...]:
    """The perturbations of a setting, the innermost first; none for the nominal setting."""
    if setting is None:
        return ()
    parts = (setting,) if isinstance(setting, Perturbation) else tuple(setting)
    for part in parts:
        if not isinstance(part, Perturbation):
            raise InputError(
                f"{shown(part)} is no perturbation; give Perturbation('action', 0.3), a tuple, or "
                "None"
            )
    return parts


def wrap(env: gymnasium.Env, setting: Setting) -> gymnasium.Env:
    """A Gymnasium environment with all perturbations of a setting, the first innermost."""
    for part in as_parts(setting):
        env = part.wrap(env)
    return env


def label(setting: Setting) -> str:
    """A setting in words: `none`, `action=0.3`, `scale[mass:torso]=0.5,scale[friction]=2`.

    Every digit of a level is there, so that no two settings share a label, and `parse` reads back
    the very same setting.
    """
    return ",".join(f"{part.kind}={number(part.level)}" for part in as_parts(setting)) or "none"


def number(value: float) -> str:
    """The shortest text that reads back as exactly this number; whole numbers without a point."""
    return repr(float(value)).removesuffix(".0")


def parse(text: str, trust: Collection[str] | None = None) -> tuple[Perturbation, ...]:
    """The setting that `label` writes as `text`, e.g. `action=0.3,scale[mass:torso]=0.5`.

    Args:
        text: the setting in words.
        trust: kinds `module:Class` that may be imported; None for all, where a user typed `text`.
    """
    if text == "none":
        return ()
    return tuple(_parse_one(item, trust) for item in _split(text))


def _split(text: str) -> list[str]:
    # Settings may hold lists; only the commas outside of all brackets separate perturbations.
    items, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return items


def _parse_one(item: str, trust: Collection[str] | None) -> Perturbation:
    match = re.fullmatch(r"([\w.]+(?::\w+)?)(?:\[(.+)\])?=([^=\]]+)", item)
    try:
        name, inner, level = match.groups() if match else ("", "", item)
        if trust is not None:
            refuse_imports(name, trust, "suite")
        return Perturbation(name, float(level), _parse_settings(inner or ""))
    except InputError:
        raise
    except ValueError:
        message = f"perturbation {shown(item)} is not understood; write e.g. action=0.3"
        raise InputError(message) from None


def _parse_settings(inner: str) -> dict[str, Any]:
    if not inner or "=" not in inner:
        return {"parameter": inner} if inner else {}
    pairs = (pair.partition("=") for pair in inner.split(";"))
    try:
        return {key: parse_json(value) for key, _, value in pairs}
    except InputError as error:
        raise ValueError(str(error)) from None


def grid(scales: Mapping[str, Sequence[float]]) -> list[tuple[Perturbation, ...]]:
    """All combinations of physics parameters at several multiples of their nominal values.

    Args:
        scales: parameter (`mass`, `friction:foot_geom`, …) → factors.

    Returns:
        One setting per grid point, the last parameter varying fastest.
    """
    return _grid("scale", scales)


def values(axes: Mapping[str, Sequence[float]]) -> list[tuple[Perturbation, ...]]:
    """All combinations of numbers of the model set to several values, each alone.

    Args:
        axes: parameter (`mass:torso`, `friction:floor`, …) → values in the model's own unit.

    Returns:
        One setting per grid point, the last parameter varying fastest.
    """
    return _grid("value", axes)


def _grid(kind: str, axes: Mapping[str, Sequence[float]]) -> list[tuple[Perturbation, ...]]:
    points = prod(len(levels) for levels in axes.values())
    if not axes or points == 0:
        raise InputError(
            f"grid got {shown(dict(axes))}; give parameters with at least one factor or value each"
        )
    if points > MOST_POINTS:
        raise InputError(f"grid has {points:,} points; give at most {MOST_POINTS:,}")
    parts = [[Perturbation(kind, x, {"parameter": p}) for x in own] for p, own in axes.items()]
    return [tuple(point) for point in product(*parts)]


def sweep(parameter: str, factors: Sequence[float]) -> list[Perturbation]:
    """One physics parameter at several multiples of its nominal value."""
    return [point[0] for point in grid({parameter: factors})]
