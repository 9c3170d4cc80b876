"""Perturbations as data: a name, a level, settings; combinations and grids of them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from itertools import product
from math import prod
from typing import Any

import gymnasium

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations.action import ActionDelay, ActionNoise
from drspcrl.perturbations.gusts import Gusts
from drspcrl.perturbations.observation import (
    ObservationBias,
    ObservationDropout,
    ObservationNoise,
)
from drspcrl.perturbations.physics import PhysicsNoise, PhysicsScale
from drspcrl.perturbations.push import ExternalPush
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.reading import parse_json

# name in suites, tables and on the command line → wrapper; a new kind is one class and one line
KINDS: dict[str, type[PerturbationWrapper]] = {
    "action": ActionNoise,
    "observation": ObservationNoise,
    "environment": PhysicsNoise,
    "scale": PhysicsScale,
    "push": ExternalPush,
    "gusts": Gusts,
    "action_delay": ActionDelay,
    "observation_dropout": ObservationDropout,
    "observation_bias": ObservationBias,
}


@dataclass(frozen=True)
class Perturbation:
    """One kind of perturbation at one level.

    Args:
        name: a key of `KINDS`.
        level: how strong; what it means and what it may be depends on the kind.
        settings: the further arguments of the kind's wrapper, as JSON-like data.

    Raises:
        InputError: an unknown name, a level out of range, unknown or missing settings.
    """

    name: str
    level: float
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise InputError(
                f"perturbation {shown(self.name)} is unknown; choose from {', '.join(KINDS)}"
            )
        KINDS[self.name].Kernel.check_level(self.level)
        parameters = _settings_of(self.name)
        required = {k for k, default in parameters.items() if default is Parameter.empty}
        if not required <= set(self.settings) <= set(parameters):
            raise InputError(
                f"perturbation {self.name!r} got settings {shown(sorted(self.settings))}; it takes "
                f"{sorted(parameters) or 'none'}, of which {sorted(required) or 'none'} are needed"
            )

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
        settings = {**_settings_of(self.name), **self.settings}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
        return {"name": self.name, "level": self.level, "settings": plain}

    def wrap(self, env: gymnasium.Env) -> PerturbationWrapper:
        """The Gymnasium environment with this perturbation."""
        return KINDS[self.name](env, self.level, **self.settings)


def _settings_of(name: str) -> dict[str, Any]:
    parameters = list(signature(KINDS[name].__init__).parameters.values())
    return {parameter.name: parameter.default for parameter in parameters[3:]}


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


def parse(text: str) -> tuple[Perturbation, ...]:
    """The setting that `label` writes as `text`, e.g. `action=0.3,scale[mass:torso]=0.5`."""
    if text == "none":
        return ()
    return tuple(_parse_one(item) for item in _split(text))


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


def _parse_one(item: str) -> Perturbation:
    match = re.fullmatch(r"(\w+)(?:\[(.+)\])?=([^=\]]+)", item)
    try:
        name, inner, level = match.groups() if match else ("", "", item)
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
    points = prod(len(factors) for factors in scales.values())
    if not scales or points == 0:
        raise InputError(
            f"grid got {shown(dict(scales))}; give parameters with at least one factor each"
        )
    if points > MOST_POINTS:
        raise InputError(f"grid has {points:,} points; give at most {MOST_POINTS:,}")
    axes = [[Perturbation("scale", f, {"parameter": p}) for f in fs] for p, fs in scales.items()]
    return [tuple(point) for point in product(*axes)]


def sweep(parameter: str, factors: Sequence[float]) -> list[Perturbation]:
    """One physics parameter at several multiples of its nominal value."""
    return [point[0] for point in grid({parameter: factors})]
