"""What a user declares: tolerances, how likely each kind of deviation is, and their law."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.files import read_bytes
from drspcrl.physics.components import DEFAULT_PARAMETERS, PARAMETERS
from drspcrl.reading import MOST_YAML, parse_yaml

REACH = 2.5
"""Normal draws are clipped at so many tolerances: a world is never further away than this."""
LEAST_SCALE = 0.05
"""A physics parameter never falls below this share of its nominal value."""
LAWS = ("auto", "sphere", "ball")
PARAMETER_LAWS = ("normal", "uniform", "above", "below")
SENSOR_UNITS = ("auto", "absolute", "relative")
_SHIPPED = Path(__file__).parent.parent / "config" / "presets" / "worlds"
_SHORT = re.compile(r"[-+]?\d+[eE][-+]?\d+")


@dataclass(frozen=True)
class Parameter:
    """A parameter of one's own simulator.

    Attributes:
        name: as the environment's `set_world` knows it.
        nominal: its value in the simulator.
        tolerance: standard deviation (`normal`, `above`, `below`) or half-width (`uniform`), in the
            parameter's own unit, or a text such as "10%" of the nominal value.
        law: `normal`, `uniform`, or one-sided: `above` or `below` the nominal value.
        low: least value that makes sense; it must not be reached at the full budget.
        high: greatest value that makes sense.
    """

    name: str
    nominal: float
    tolerance: float | str
    law: str = "normal"
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"a world parameter's name is {shown(self.name)}; give a text")
        for name in ("nominal", "low", "high"):
            value = getattr(self, name)
            finite = math.isfinite(value) if _is_number(value) else False
            if not finite and not (_is_number(value) and name != "nominal" and value == value):
                raise InputError(
                    f"world parameter {self.name}: {name} is {shown(value)}; give a number"
                )
        if self.law not in PARAMETER_LAWS:
            raise InputError(
                f"world parameter {self.name}: law is {shown(self.law)}; "
                f"choose one of {', '.join(PARAMETER_LAWS)}"
            )
        _ = self.size

    @property
    def size(self) -> float:
        """The tolerance in the parameter's own unit."""
        given = self.tolerance
        if not isinstance(given, str):
            return _tolerance(f"world parameter {self.name}", given)
        text = given.strip()
        try:
            share = float(text.removesuffix("%")) / 100 if text.endswith("%") else math.nan
        except ValueError:
            share = math.nan
        if math.isnan(share):
            raise InputError(
                f"world parameter {self.name}: tolerance is {shown(given)}; give a number or a "
                "text such as 10%"
            )
        if self.nominal == 0:
            raise InputError(
                f"world parameter {self.name}: tolerance is {given} of a nominal value of 0, "
                "which is nothing; give it in the parameter's own unit"
            )
        return _tolerance(f"world parameter {self.name}", share * abs(self.nominal))

    def ends(self, budget: float) -> tuple[float, float]:
        """The least and the greatest value in worlds within the budget."""
        furthest = budget * self.size * (1.0 if self.law == "uniform" else REACH)
        down = 0.0 if self.law == "above" else furthest
        up = 0.0 if self.law == "below" else furthest
        return self.nominal - down, self.nominal + up

    def check_reach(self, budget: float) -> None:
        """Raise an `InputError` if a world within the budget lies beyond `low` or `high`."""
        least, greatest = self.ends(budget)
        if least < self.low or greatest > self.high:
            raise InputError(
                f"world parameter {self.name} reaches from {least:g} to "
                f"{greatest:g} at epsilon_budget {budget:g}, beyond its bounds "
                f"[{self.low:g}, {self.high:g}]; declare a smaller tolerance, a uniform or "
                "one-sided law, or other bounds"
            )


@dataclass(frozen=True)
class Range:
    """Absolute values of a number of the MuJoCo model, uniform from `low` to `high` at ε = 1.

    The number is set alone, as M2TD3 and RRLS do it: a mass without its inertia. A family such as
    `friction` gets one value for all its components. A world of radius r lies at the share r of
    the way from the model's own value, which the range need not contain.

    Attributes:
        low: least value.
        high: greatest value.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        numbers = _is_number(self.low) and _is_number(self.high)
        if not numbers or not 0 < self.low < self.high < math.inf:
            raise InputError(
                f"worlds: a range of physics is from {shown(self.low)} to {shown(self.high)}; give "
                "low and high, positive and in this order"
            )


@dataclass(frozen=True)
class Declared:
    """The worlds that a policy is to hold in; ε = 1 means exactly these tolerances.

    Every kind (physics, sensor, actuator, bias, parameters) is present in a world with a
    probability of its own, so that some worlds differ in one kind alone.
    """

    law: str = "auto"
    """sphere: every world of an iteration at its radius; ball: radii uniform from 0 to it; auto:
    ball with PPO, sphere with the others."""
    physics: Mapping[str, float | Range] = field(
        default_factory=lambda: dict.fromkeys(DEFAULT_PARAMETERS, 0.2)
    )
    """Standard deviation of the log scale of each MuJoCo family, e.g. {mass: 0.2}; one number for
    the six default families; per component, e.g. {"mass:torso": 0.3}. A range of absolute values,
    {"mass:torso": {low: 1, high: 5}}, is uniform and sets that number alone."""
    sensor: float = 0.2
    """Scale of the sensors' noise level, half-normal; absolute, or in units of each reading's
    spread (`sensor_unit`)."""
    sensor_unit: str | tuple[float, ...] = "auto"
    """absolute, relative to each reading's spread under random actions, or auto: absolute on the
    paper's four tasks, relative elsewhere; or the unit of each reading itself, as a list."""
    actuator: float = 0.3
    """Scale of the actuators' noise level, half-normal, for actions in [−1, 1]."""
    bias: float = 0.0
    """Standard deviation of a sensor bias that stays for the episode, in the sensors' units."""
    presence: Mapping[str, float] = field(default_factory=dict)
    """Probability that a kind is present in a world, ½ where nothing is said."""
    parameters: tuple[Parameter, ...] = ()
    """Parameters of one's own simulator."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "physics", _physics(self.physics))
        object.__setattr__(self, "parameters", _parameters(self.parameters))
        if self.law not in LAWS:
            raise InputError(f"worlds: law is {shown(self.law)}; choose one of {', '.join(LAWS)}")
        object.__setattr__(self, "sensor_unit", _sensor_unit(self.sensor_unit))
        for name in ("sensor", "actuator", "bias"):
            object.__setattr__(self, name, _tolerance(f"worlds: {name}", getattr(self, name)))
        object.__setattr__(self, "presence", _presence(self.presence))
        if self.vacuous:
            raise InputError(
                "worlds: every tolerance, or the presence of its kind, is 0, so that no world "
                "differs from the simulator; give at least one of physics, sensor, actuator, bias "
                "or parameters a tolerance"
            )

    def with_law(self, law: str) -> "Declared":
        """The same with this law where none was declared; each learner has one that suits it."""
        return replace(self, law=law) if self.law == "auto" else self

    @property
    def vacuous(self) -> bool:
        """Whether no world differs from the simulator."""
        sizes = {
            **{name: [getattr(self, name)] for name in ("sensor", "actuator", "bias")},
            "physics": self.physics.values(),
            "parameters": [parameter.size for parameter in self.parameters],
        }
        return not any(any(own) and self.presence.get(kind, 1) for kind, own in sizes.items())

    def check_reach(self, budget: float) -> None:
        """Raise an `InputError` if something could vanish within the budget."""
        for name, tolerance in self.physics.items():
            if isinstance(tolerance, Range):
                continue  # what it reaches follows from the model's own value, see `world_model`
            least = math.exp(-REACH * tolerance * budget)
            if least < LEAST_SCALE:
                raise InputError(
                    f"worlds: the tolerance {tolerance:g} of {name} lets it fall to {least:.2g} of "
                    f"its nominal value at epsilon_budget {budget:g}, where it vanishes; at most "
                    f"{-math.log(LEAST_SCALE) / (REACH * budget):.2g} is allowed"
                )
        for parameter in self.parameters:
            parameter.check_reach(budget)

    def record(self) -> dict[str, Any]:
        """Everything as plain data, from which `declared` makes the same again."""
        plain = asdict(self)
        if not isinstance(self.sensor_unit, str):
            plain["sensor_unit"] = list(self.sensor_unit)
        plain["physics"] = {
            name: asdict(t) if isinstance(t, Range) else t for name, t in self.physics.items()
        }
        plain["presence"] = dict(self.presence)
        plain["parameters"] = [
            {k: v for k, v in entry.items() if not (isinstance(v, float) and math.isinf(v))}
            for entry in plain["parameters"]
        ]
        return plain


KINDS = ("physics", "sensor", "actuator", "bias", "parameters")


def declared(content: Any, where: str = "worlds") -> Declared:
    """Worlds from plain data, as a file holds them.

    Raises:
        InputError: an unknown entry or one that does not fit.
    """
    if isinstance(content, Declared):
        return content
    if not isinstance(content, Mapping):
        raise InputError(
            f"{where} holds {type(content).__name__}; give entries such as sensor: 0.1"
        )
    names = [f.name for f in fields(Declared)]
    for name in content:
        if name not in names:
            raise InputError(
                f"{where} has the unknown entry {shown(name)}; it may have {_list(names)}"
            )
    return Declared(**content)


def read_declared(path: str | Path) -> tuple[Declared, str]:
    """Worlds from a YAML file or one of the package's by name, and the file's hash.

    Raises:
        InputError: the file cannot be read, or says something that does not fit.
    """
    path = Path(path)
    shipped = _SHIPPED / f"{path}.yaml"
    if not path.is_file() and re.fullmatch(r"[a-z0-9-]+", str(path)) and shipped.is_file():
        path = shipped
    if not path.is_file():
        raise InputError(
            f"worlds file {path} is no file; give a YAML file of at most 1 MiB, or one of the "
            f"package's: {_list(sorted(file.stem for file in _SHIPPED.glob('*.yaml')))}"
        )
    try:
        raw = read_bytes(path, follow=True, most=MOST_YAML)
        content = _with_numbers(parse_yaml(raw.decode("utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"worlds file {path} cannot be read: {brief(error)}") from None
    return declared(content, f"worlds file {path}"), hashlib.sha256(raw).hexdigest()


def _with_numbers(content: Any) -> Any:
    """The same with numbers such as 1e-3, which YAML takes for texts."""
    if isinstance(content, dict):
        return {name: _with_numbers(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_with_numbers(value) for value in content]
    return float(content) if isinstance(content, str) and _SHORT.fullmatch(content) else content


def _physics(given: Any) -> dict[str, float | Range]:
    if _is_number(given):
        given = dict.fromkeys(DEFAULT_PARAMETERS, given)
    if not isinstance(given, Mapping):
        raise InputError(
            f"worlds: physics is {shown(given)}; give a number, or families with numbers"
        )
    for name in given:
        if str(name).split(":")[0] not in PARAMETERS:
            raise InputError(
                f"worlds: unknown physics parameter {shown(name)}; there are {_list(PARAMETERS)}, "
                "or one component such as mass:torso"
            )
    return {str(name): _tolerance_or_range(str(name), found) for name, found in given.items()}


def _tolerance_or_range(name: str, given: Any) -> float | Range:
    if not isinstance(given, Mapping | Range):
        return _tolerance(f"worlds: physics {name}", given)
    if name.split(":")[0] == "gravity":
        raise InputError("worlds: gravity is a vector and takes no range; give it a tolerance")
    if isinstance(given, Range):
        return given
    if set(given) != {"low", "high"}:
        raise InputError(
            f"worlds: physics {name} is {shown(dict(given))}; give a tolerance, or low and high"
        )
    return Range(given["low"], given["high"])


def _parameters(given: Any) -> tuple[Parameter, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise InputError(f"worlds: parameters is {shown(given)}; give a list of them")
    known = [f.name for f in fields(Parameter)]
    made = []
    for entry in given:
        if isinstance(entry, Parameter):
            made.append(entry)
            continue
        if not isinstance(entry, Mapping) or not {"name", "nominal", "tolerance"} <= set(entry):
            raise InputError(
                f"worlds: a parameter is {shown(entry)}; give name, nominal and tolerance of each"
            )
        if unknown := [name for name in entry if name not in known]:
            raise InputError(
                f"worlds: parameter {shown(entry['name'])} has the unknown entry "
                f"{shown(unknown[0])}; it may have {_list(known)}"
            )
        made.append(Parameter(**entry))
    names = [parameter.name for parameter in made]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"worlds: parameter {shown(twice[0])} is declared twice; declare it once")
    return tuple(made)


def _sensor_unit(given: Any) -> str | tuple[float, ...]:
    if isinstance(given, str) and given in SENSOR_UNITS:
        return given
    numbers: list[Any] = list(given) if isinstance(given, list | tuple) else []
    if not numbers or not all(_is_number(size) and 0 < size < math.inf for size in numbers):
        raise InputError(
            f"worlds: sensor_unit is {shown(given)}; choose one of {', '.join(SENSOR_UNITS)}, or "
            "give a positive number for each reading"
        )
    return tuple(float(size) for size in numbers)


def _presence(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise InputError(f"worlds: presence is {shown(given)}; give kinds with probabilities")
    for kind, probability in given.items():
        if kind not in KINDS:
            raise InputError(f"worlds: presence of {shown(kind)}; the kinds are {_list(KINDS)}")
        if not _is_number(probability) or not 0 <= probability <= 1:
            raise InputError(
                f"worlds: presence of {kind} is {shown(probability)}; a probability is from 0 to 1"
            )
    return {str(kind): float(probability) for kind, probability in given.items()}


def _tolerance(what: str, value: Any) -> float:
    if not _is_number(value) or not 0 <= value < math.inf:
        raise InputError(
            f"{what}: the tolerance is {shown(value)}; give a finite number of at least 0"
        )
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(names: Any) -> str:
    return ", ".join(map(str, names))
