"""A number of a component: its default, help line and range, and whether members may differ.

A component is a frozen dataclass whose fields are made by `number`, `whole`, `choice`, `flag`,
`layers` and `text`. Checks, `drspcrl train --help`, the reference page and config.yaml all follow
from it, so that each number is written once.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.registry import Registry

_MOST_LAYERS = 32  # thousands would take hours to compile


@dataclass(frozen=True)
class Spec:
    """What is allowed in one field.

    Attributes:
        kind: `number`, `whole`, `choice`, `part`, `flag`, `layers` or `text`.
        help: one line for people.
        low: the least value, in words and as numbers; see `interval`.
        high: the most.
        with_low: whether `low` itself is allowed.
        with_high: whether `high` itself is allowed.
        options: the words that are allowed.
        parts: the registry that a part's name is looked up in.
        optional: whether null is allowed.
        shared: whether all members of a population have it in common, because it shapes the one
            program that they run.
    """

    kind: str
    help: str
    low: float = 0.0
    high: float = math.inf
    with_low: bool = True
    with_high: bool = False
    options: tuple[str, ...] = ()
    parts: Registry | None = None
    optional: bool = False
    shared: bool = False

    @property
    def interval(self) -> str:
        """What is allowed, in words; empty where anything is."""
        if self.kind in ("choice", "part"):
            return ", ".join(self.parts or self.options)
        if self.kind == "flag":
            return "true, false"
        if self.kind not in ("number", "whole"):
            return ""
        bounds = []
        if self.low > -math.inf:
            bounds.append(f"at least {self.low:g}" if self.with_low else f"above {self.low:g}")
        if self.high < math.inf:
            bounds.append(f"at most {self.high:g}" if self.with_high else f"below {self.high:g}")
        return " and ".join(bounds)

    def checked(self, name: str, value: Any, default: Any) -> Any:
        """The value as the field holds it.

        Raises:
            InputError: another kind of value, or one out of range.
        """
        if self.optional and value is None:
            return None
        return getattr(self, f"_{self.kind}")(name, value, default)

    def _number(self, name: str, value: Any, default: Any) -> float:
        return self._in_range(name, value, default, float)

    def _whole(self, name: str, value: Any, default: Any) -> int:
        return self._in_range(name, value, default, int)

    def _in_range(self, name: str, value: Any, default: Any, kind: type) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or kind(value) != value:
            wanted = "a whole number" if kind is int else "a number"
            example = "" if default is None else f" such as {default}"
            raise InputError(f"{name} is {shown(value)}; give {wanted}{example}")
        above = value >= self.low if self.with_low else value > self.low
        below = value <= self.high if self.with_high else value < self.high
        if not (above and below):
            raise InputError(f"{name} is {shown(value)}; it must be {self.interval}")
        return kind(value)

    def _choice(self, name: str, value: Any, default: Any) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(self.options)}")
        return value

    def _part(self, name: str, value: Any, default: Any) -> str:
        assert self.parts is not None
        self.parts.check(value)
        return value

    def _flag(self, name: str, value: Any, default: Any) -> bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} is {shown(value)}; give true or false")
        return value

    def _text(self, name: str, value: Any, default: Any) -> str:
        if not isinstance(value, str):
            raise InputError(f"{name} is {shown(value)}; choose text")
        return value

    def _layers(self, name: str, value: Any, default: Any) -> tuple[int, ...]:
        sizes = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not sizes or any(isinstance(s, bool) or not isinstance(s, int) or s < 1 for s in sizes):
            raise InputError(
                f"{name} is {shown(value)}; give sizes of hidden layers such as [256, 256]"
            )
        if len(sizes) > _MOST_LAYERS:
            raise InputError(f"{name} has {len(sizes):,} layers; give at most {_MOST_LAYERS}")
        return sizes


def number(
    default: float | None,
    help: str,
    *,
    above: float | None = None,
    least: float = 0.0,
    most: float | None = None,
    below: float = math.inf,
    shared: bool = False,
) -> Any:
    """A field that holds a number, at least 0 unless said otherwise; null for a default of None."""
    return _ranged("number", default, help, above, least, most, below, shared)


def whole(
    default: int,
    help: str,
    *,
    above: float | None = None,
    least: float = 0.0,
    most: float | None = None,
    shared: bool = False,
) -> Any:
    """A field that holds a whole number, at least 0 unless said otherwise."""
    return _ranged("whole", default, help, above, least, most, math.inf, shared)


def _ranged(
    kind: str,
    default: Any,
    help: str,
    above: float | None,
    least: float,
    most: float | None,
    below: float,
    shared: bool,
) -> Any:
    low, high = (least if above is None else above), (below if most is None else most)
    spec = Spec(
        *(kind, help, low, high, above is None, most is not None),
        optional=default is None,
        shared=shared,
    )
    return field(default=default, metadata={"spec": spec})


def choice(default: str, help: str, options: tuple[str, ...], *, shared: bool = False) -> Any:
    """A field that holds one of some words."""
    spec = Spec("choice", help, options=options, shared=shared)
    return field(default=default, metadata={"spec": spec})


def part(default: str, help: str, parts: Registry, *, shared: bool = True) -> Any:
    """A field that names a part of a registry, or one's own as `module:Class`."""
    return field(default=default, metadata={"spec": Spec("part", help, parts=parts, shared=shared)})


def flag(default: bool, help: str, *, shared: bool = False) -> Any:
    """A field that is true or false."""
    return field(default=default, metadata={"spec": Spec("flag", help, shared=shared)})


def text(default: str, help: str) -> Any:
    """A field that holds any text."""
    return field(default=default, metadata={"spec": Spec("text", help)})


def layers(default: tuple[int, ...], help: str) -> Any:
    """A field that holds the sizes of hidden layers."""
    return field(default=default, metadata={"spec": Spec("layers", help, shared=True)})


def spec_of(one: Field) -> Spec:
    """What is allowed in a component's field."""
    return one.metadata["spec"]


@dataclass(frozen=True)
class Component:
    """The numbers of one component, checked when it is made.

    Attributes:
        title: its heading in help texts and on the reference page.
        prefix: what its settings' names begin with, in config.yaml and on the command line.
    """

    title: ClassVar[str] = ""
    prefix: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for one in fields(self):
            name = self.prefix + one.name
            value = spec_of(one).checked(name, getattr(self, one.name), one.default)
            object.__setattr__(self, one.name, value)
        self.check()

    def check(self) -> None:
        """Raise an `InputError` where fields do not go together."""

    @classmethod
    def specs(cls) -> dict[str, Spec]:
        """What is allowed, by the settings' names."""
        return {cls.prefix + one.name: spec_of(one) for one in fields(cls)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The settings' defaults by name, as config.yaml writes them."""
        return {cls.prefix + one.name: _plain(one.default) for one in fields(cls)}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """The component with those of some settings that are its own."""
        names = {cls.prefix + one.name: one.name for one in fields(cls)}
        return cls(**{names[name]: value for name, value in settings.items() if name in names})

    def flat(self) -> dict[str, Any]:
        """Its settings by name, as config.yaml writes them."""
        return {self.prefix + one.name: _plain(getattr(self, one.name)) for one in fields(self)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
