"""The worlds of one task: coordinates, their law, and what they mean to simulator and critic."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.physics.components import DEFAULT_PARAMETERS, Components
from drspcrl.worlds.declare import KINDS, REACH, Declared, Parameter

PRESENT = 0.5
"""Probability that a kind is present in a world, where nothing else is declared."""
_FEW = 6  # readings whose sizes are shown one by one
NORMAL, UNIFORM, ABOVE, BELOW = range(4)
_LAW: dict[str, int] = {"normal": NORMAL, "uniform": UNIFORM, "above": ABOVE, "below": BELOW}


@dataclass(frozen=True)
class WorldModel:
    """Coordinates of the worlds of one task, in units of the declared tolerances.

    A world of radius r is f = r·u with a unit draw u: each kind is present with its probability,
    coordinates of a kind that is present are standard normal, clipped at ±2.5, or uniform in
    [−1, 1], or one-sided; under the law `ball`, u is shortened by a uniform factor.

    Attributes:
        names: of the coordinates, e.g. `mass:torso`, `sensor`, `bias:3`, `inflow`, [W].
        kind: number in `KINDS` of each coordinate's kind, [W].
        laws: NORMAL, UNIFORM, ABOVE or BELOW for each coordinate, [W].
        tolerance: log scale for physics, level or size for others, [W].
        presence: probability of each kind in `KINDS`.
        ball: whether radii are uniform up to that of the iteration.
        components: for each physics coordinate its component in the simulator, [P].
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

    @property
    def mean_square(self) -> float:
        """E|u|², the squared Wasserstein-2 distance of the law of radius 1 from the simulator."""
        by_law = np.array([_clipped_variance(), 1 / 3, _clipped_variance(), _clipped_variance()])
        total = float(np.sum(by_law[self.laws] * self.presence[self.kind]))
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
        columns = self.columns("physics")
        factors = np.ones((len(features), components))
        factors[:, self.components] = np.exp(self.tolerance[columns] * features[:, columns])
        return factors

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
        physics = self.columns("physics")
        families = dict.fromkeys(self.names[k].split(":")[0] for k in physics)
        for family in families:
            own = [k for k in physics if self.names[k].split(":")[0] == family]
            for size in sorted({float(self.tolerance[k]) for k in own}):
                count = sum(self.tolerance[k] == size for k in own)
                low, high = (np.exp(sign * budget * size) for sign in (-1, 1))
                name = f"{family} ({count} components)" if count > 1 else self.names[own[0]]
                rows.append((name, "× nominal", f"{low:.2f} to {high:.2f}"))
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

    chosen = _physics_of(worlds.physics, components)
    for component, tolerance in chosen.items():
        assert components is not None
        add("physics", components.names[component], tolerance)
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
