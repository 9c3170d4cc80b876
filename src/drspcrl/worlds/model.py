"""The worlds of one task: coordinates, their law, and what they mean to simulator and critic."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.physics.components import DEFAULT_PARAMETERS, Components
from drspcrl.worlds.declare import KINDS, REACH, Declared, Parameter, Range

if TYPE_CHECKING:
    from drspcrl.physics.parameters import Physics

PRESENT = 0.5
"""Probability that a kind is present in a world, where nothing else is declared."""
_FEW = 6  # readings whose sizes are shown one by one
NORMAL, UNIFORM, ABOVE, BELOW, RANGE = range(5)
_LAW: dict[str, int] = {"normal": NORMAL, "uniform": UNIFORM, "above": ABOVE, "below": BELOW}


class Valued(NamedTuple):
    """A physics coordinate that sets a number of the model instead of scaling it.

    Attributes:
        name: as declared, e.g. `mass:torso`.
        components: the simulator's components that get the value.
        nominal: their own value.
        range: the declared one.
    """

    name: str
    components: tuple[int, ...]
    nominal: float
    range: Range

    @property
    def size(self) -> float:
        """The tolerance: how far the further end of the range is from the model's own value."""
        return max(abs(self.range.low - self.nominal), abs(self.range.high - self.nominal))

    @property
    def ends(self) -> tuple[float, float]:
        """The range in units of the tolerance."""
        low, high = self.range.low - self.nominal, self.range.high - self.nominal
        return low / self.size, high / self.size


@dataclass(frozen=True)
class WorldModel:
    """Coordinates of the worlds of one task, in units of the declared tolerances.

    A world of radius r is f = r·u with a unit draw u: each kind is present with its probability,
    coordinates of a kind that is present are standard normal, clipped at ±2.5, or uniform in
    [−1, 1] or in a range, or one-sided; under the law `ball`, u is shortened by a uniform factor.

    Attributes:
        names: of the coordinates, e.g. `mass:torso`, `sensor`, `bias:3`, `inflow`, [W].
        kind: number in `KINDS` of each coordinate's kind, [W].
        laws: NORMAL, UNIFORM, ABOVE, BELOW or RANGE for each coordinate, [W].
        tolerance: log scale for scaled physics, level or size for others, [W].
        presence: probability of each kind in `KINDS`.
        ball: whether radii are uniform up to that of the iteration.
        components: for each scaled physics coordinate its component in the simulator, [P].
        valued: the further physics coordinates, which set values.
        parameters: the user's own; those without a tolerance keep their nominal value.
        sensor_unit: what one unit of sensor noise is for each reading, [O].
        actions: numbers in an action.
    """

    names: tuple[str, ...]
    kind: np.ndarray
    laws: np.ndarray
    tolerance: np.ndarray
    presence: np.ndarray
    ball: bool
    components: np.ndarray
    valued: tuple[Valued, ...]
    parameters: tuple[Parameter, ...]
    sensor_unit: np.ndarray
    actions: int

    @property
    def size(self) -> int:
        """W, the number of coordinates."""
        return len(self.names)

    def columns(self, kind: str) -> np.ndarray:
        """The coordinates of a kind."""
        return self._columns[kind]

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return {kind: np.flatnonzero(self.kind == k) for k, kind in enumerate(KINDS)}

    @cached_property
    def _scaled(self) -> np.ndarray:
        """The coordinates that scale physics, [P]; those that set values follow them."""
        return self.columns("physics")[: len(self.components)]

    @cached_property
    def _set(self) -> np.ndarray:
        return self.columns("physics")[len(self.components) :]

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the uniform laws end, in units of the tolerances, [2, W]."""
        ends = np.stack([np.full(self.size, -1.0), np.full(self.size, 1.0)])
        for column, valued in zip(self._set, self.valued, strict=True):
            ends[:, column] = valued.ends
        return ends

    @property
    def mean_square(self) -> float:
        """E|u|², the squared Wasserstein-2 distance of the law of radius 1 from the simulator."""
        low, high = self.ends
        uniform = (low * low + low * high + high * high) / 3
        even = (self.laws == UNIFORM) | (self.laws == RANGE)
        by_law = np.where(even, uniform, _clipped_variance())
        total = float(np.sum(by_law * self.presence[self.kind]))
        return total / 3 if self.ball else total

    def unit_draws(self, normal: Any, uniform: Any, xp: Any = np, erf: Any = special.erf) -> Any:
        """u from random numbers, in NumPy or in `jax.numpy`.

        Args:
            normal: standard normal numbers, [..., W].
            uniform: uniform numbers in [0, 1), [..., len(KINDS) + 1]; the last is the ball's.
            xp: the array module.
            erf: its error function.
        """
        clipped = xp.clip(normal, -REACH, REACH)
        laws = xp.broadcast_to(xp.asarray(self.laws), normal.shape)
        # Φ(n) is uniform: one kind of random number serves every law.
        u = xp.where(laws == UNIFORM, erf(normal / math.sqrt(2.0)), clipped)
        if self.valued:
            ends = (xp.asarray(end, dtype=normal.dtype) for end in self.ends)
            low, high = (xp.broadcast_to(end, normal.shape) for end in ends)
            even = (low + high) / 2 + (high - low) / 2 * erf(normal / math.sqrt(2.0))
            u = xp.where(laws == RANGE, even, u)
        u = xp.where(laws == ABOVE, xp.abs(clipped), u)
        u = xp.where(laws == BELOW, -xp.abs(clipped), u)
        likely = xp.asarray(self.presence, dtype=uniform.dtype)
        present = uniform[..., :-1] < xp.broadcast_to(likely, uniform[..., :-1].shape)
        u = xp.where(present[..., self.kind], u, xp.zeros_like(u))
        return u * uniform[..., -1:] if self.ball else u

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """One u, [W]."""
        normal = random.standard_normal(self.size)
        return self.unit_draws(normal, random.random(len(KINDS) + 1))

    def scales(self, features: np.ndarray, components: int) -> np.ndarray:
        """Factors of the simulator's physics components in worlds f [n, W], [n, components]."""
        columns = self._scaled
        factors = np.ones((len(features), components))
        factors[:, self.components] = np.exp(self.tolerance[columns] * features[:, columns])
        return factors

    def physics_values(self, features: np.ndarray, components: int) -> np.ndarray:
        """Values of physics components in worlds f [n, W], [n, components]; nan: left alone."""
        values = np.full((len(features), components), np.nan)
        for column, valued in zip(self._set, self.valued, strict=True):
            own = valued.nominal + valued.size * features[:, column]
            values[:, list(valued.components)] = own[:, None]
        return values

    def enter(self, physics: "Physics", ids: np.ndarray, features: np.ndarray, layer: str) -> None:
        """Put some simulations into worlds f [n, W], as far as their physics goes."""
        if len(self.components):
            physics.set_scales(ids, self.scales(features, len(physics.names)), layer)
        if self.valued:
            physics.set_values(ids, self.physics_values(features, len(physics.names)), layer)

    def check_reach(self, budget: float) -> None:
        """Raise an `InputError` if a value could fall to 0 within the budget."""
        for valued in self.valued:
            least = valued.nominal + budget * (valued.range.low - valued.nominal)
            if least <= 0:
                raise InputError(
                    f"worlds: {valued.name} falls to {least:.3g} at epsilon_budget {budget:g}; "
                    "declare a higher low, or take a smaller budget"
                )

    def values(self, features: np.ndarray) -> np.ndarray:
        """The user's own parameters in worlds f [n, W], [n, K]."""
        columns = self.columns("parameters")
        values = np.empty((len(features), len(self.parameters)))
        values[:] = [parameter.nominal for parameter in self.parameters]
        moving = [k for k, parameter in enumerate(self.parameters) if parameter.size]
        values[:, moving] += self.tolerance[columns] * features[:, columns]
        return values

    def describe(self, budget: float = 1.0) -> list[tuple[str, str, str]]:
        """What is trained against at a radius: kind, unit, and range in the user's words."""
        rows: list[tuple[str, str, str]] = []
        physics = self._scaled
        families = dict.fromkeys(self.names[k].split(":")[0] for k in physics)
        for family in families:
            own = [k for k in physics if self.names[k].split(":")[0] == family]
            for size in sorted({float(self.tolerance[k]) for k in own}):
                count = sum(self.tolerance[k] == size for k in own)
                low, high = (np.exp(sign * budget * size) for sign in (-1, 1))
                name = f"{family} ({count} components)" if count > 1 else self.names[own[0]]
                rows.append((name, "× nominal", f"{low:.2f} to {high:.2f}"))
        for valued in self.valued:
            low, high = (
                valued.nominal + budget * (end - valued.nominal)
                for end in (valued.range.low, valued.range.high)
            )
            name, law = valued.name, f"value, uniform ({valued.nominal:.3g} in the simulator)"
            rows.append((name, law, f"{low:.3g} to {high:.3g}"))
        for k in self.columns("sensor"):
            size = self._of_readings(budget * float(self.tolerance[k]))
            rows.append(("sensor noise", "sd, half-normal", size))
        for k in self.columns("actuator"):
            size = f"{budget * self.tolerance[k]:.3g}"
            rows.append(("actuator noise", "sd, half-normal", size))
        if len(columns := self.columns("bias")):
            size = self._of_readings(budget * float(self.tolerance[columns[0]]))
            rows.append(("sensor bias", "sd, per episode", f"± {size}"))
        own = ((p.name, p.law, _range_of(p, budget)) for p in self.parameters if p.size)
        return [*rows, *own]

    def _of_readings(self, size: float) -> str:
        """A size in units of the sensors, in those of the readings themselves."""
        each = [f"{size * unit:.3g}" for unit in self.sensor_unit]
        if len(set(each)) == 1:
            return each[0]
        if len(each) <= _FEW:
            return ", ".join(each)
        low, high = (f"{size * edge(self.sensor_unit):.3g}" for edge in (np.min, np.max))
        return f"{low} to {high}, by reading"


def world_model(
    worlds: Declared,
    components: Components | None,
    observations: int,
    actions: int,
    sensor_unit: np.ndarray | None = None,
) -> WorldModel:
    """The coordinates that a declaration has on one task.

    Args:
        worlds: what was declared.
        components: the simulator's physics components; None for a task without a MuJoCo model.
        observations: readings in an observation.
        actions: numbers in an action.
        sensor_unit: what one unit of sensor noise is for each reading, [O]; 1 by default.

    Raises:
        InputError: a physics parameter that the task does not have, or nothing that it has.
    """
    names, kinds, laws, sizes = [], [], [], []

    def add(kind: str, name: str, tolerance: float, law: int = NORMAL) -> None:
        names.append(name)
        kinds.append(KINDS.index(kind))
        laws.append(law)
        sizes.append(tolerance)

    scaled = {k: t for k, t in worlds.physics.items() if not isinstance(t, Range)}
    valued = _valued(worlds.physics, components)
    alone = {component for one in valued for component in one.components}
    chosen = {k: t for k, t in _physics_of(scaled, components).items() if k not in alone}
    for component, tolerance in chosen.items():
        assert components is not None
        add("physics", components.names[component], tolerance)
    for one in valued:
        add("physics", one.name, one.size, RANGE)
    if worlds.sensor:
        add("sensor", "sensor", worlds.sensor, ABOVE)
    if worlds.actuator:
        add("actuator", "actuator", worlds.actuator, ABOVE)
    if worlds.bias:
        for k in range(observations):
            add("bias", f"bias:{k}", worlds.bias)
    for parameter in worlds.parameters:
        if parameter.name in names:
            raise InputError(
                f"worlds: parameter {shown(parameter.name)} has the name of another coordinate of "
                "the same worlds; give it another one"
            )
        if parameter.size:
            add("parameters", parameter.name, parameter.size, _LAW[parameter.law])
    presence = np.array([worlds.presence.get(kind, PRESENT) for kind in KINDS])
    if not presence[kinds].any():
        raise InputError(
            "worlds: nothing of what is declared exists in this task and may be present in a "
            "world, so that none differs from the simulator; give sensor or actuator a tolerance"
        )
    unit = np.ones(observations) if sensor_unit is None else np.asarray(sensor_unit, float)
    return WorldModel(
        names=tuple(names),
        kind=np.array(kinds),
        laws=np.array(laws),
        tolerance=np.array(sizes),
        presence=presence,
        ball=worlds.law == "ball",
        components=np.array(list(chosen), int),
        valued=valued,
        parameters=worlds.parameters,
        sensor_unit=unit,
        actions=actions,
    )


def sensor_spread(observations: np.ndarray) -> np.ndarray:
    """The standard deviation of each reading over observations [n, O], the unit of its noise.

    Raises:
        InputError: a reading that never changed, whose noise has no unit.
    """
    spread = np.std(np.asarray(observations, float), axis=0)
    still = np.flatnonzero(~(spread > 0))
    if still.size:
        which = ", ".join(f"number {k}" for k in still[:8])
        raise InputError(
            f"sensor noise is relative to each reading's spread, and {len(still)} of "
            f"{len(spread)} readings did not change in {len(observations):,} random steps "
            f"({which}); declare sensor_unit: absolute, or sensor: 0 and bias: 0"
        )
    return spread


def _valued(
    physics: Mapping[str, float | Range], components: Components | None
) -> tuple[Valued, ...]:
    """The coordinates that are declared by ranges, one each.

    Raises:
        InputError: a task without a MuJoCo model, or components of different values.
    """
    found = []
    for name, declared in physics.items():
        if not isinstance(declared, Range):
            continue
        if components is None:
            raise InputError(
                f"worlds: physics has {name}, and this task has no MuJoCo model; declare its own "
                "parameters instead, see Parameter"
            )
        chosen = components.select([name])
        own = np.unique(components.nominal[chosen])
        if len(own) > 1:
            raise InputError(
                f"worlds: {name} has {len(chosen)} components of different values "
                f"({own[0]:.3g} to {own[-1]:.3g}) and no one range; name one, such as "
                f"{components.names[chosen[0]]}"
            )
        if set(chosen.tolist()) & {k for one in found for k in one.components}:
            raise InputError(f"worlds: {name} is in another range already; declare it once")
        found.append(Valued(name, tuple(chosen.tolist()), float(own[0]), declared))
    return tuple(found)


def _physics_of(physics: Mapping[str, float], components: Components | None) -> dict[int, float]:
    """The components that are declared, with their tolerances; one by one beats by family."""
    default = physics.keys() == set(DEFAULT_PARAMETERS)
    if components is None:
        # What is declared without a word holds as far as the task has it; what was asked for, not.
        if physics != Declared().physics and any(physics.values()):
            raise InputError(
                f"worlds: physics has {', '.join(physics)}, and this task has no MuJoCo model; "
                "declare its own parameters instead, see Parameter"
            )
        return {}
    families = {name.split(":")[0] for name in components.names}
    chosen: dict[int, float] = {}
    for name in sorted(physics, key=lambda name: ":" in name):
        if default and name not in families:
            continue  # the default declaration holds as far as the model has it
        for component in components.select([name]):
            chosen[int(component)] = physics[name]
    return {k: tolerance for k, tolerance in sorted(chosen.items()) if tolerance}


def _clipped_variance() -> float:
    """E min(n², 2.5²) of a standard normal n."""
    within = math.erf(REACH / math.sqrt(2.0))
    inside = within - REACH * math.sqrt(2 / math.pi) * math.exp(-(REACH**2) / 2)
    return inside + REACH**2 * (1 - within)


def _range_of(parameter: Parameter, budget: float) -> str:
    size = budget * parameter.size
    down = 0.0 if parameter.law == "above" else size
    up = 0.0 if parameter.law == "below" else size
    return f"{parameter.nominal - down:g} to {parameter.nominal + up:g}"
