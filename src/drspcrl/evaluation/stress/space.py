"""The worlds that are searched: some coordinates of a task's worlds, and what they mean to a user.

A point x [d] holds the searched coordinates in units of their tolerances; all others are 0, as in
the simulator.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from drspcrl.errors import InputError
from drspcrl.worlds.declare import KINDS, LEAST_SCALE
from drspcrl.worlds.model import ABOVE, BELOW, RANGE, Valued, WorldModel

SHAPES = ("ball", "box")
_INSIDE = 1e-3  # of a tolerance: what lies at a bound itself may be without sense, as a mass of 0


@dataclass(frozen=True)
class Space:
    """Points to search, with their distance from the simulator.

    Attributes:
        model: the task's worlds.
        columns: which of its coordinates are searched, [d].
        nominal: values of the physics components in the simulator, by name.
        relative: whether sensor noise is in units of each reading's `sensor_unit`.
        shape: `ball` for the distance |x|, `box` for max |xᵢ|.
    """

    model: WorldModel
    columns: np.ndarray
    nominal: dict[str, float]
    relative: bool = False
    shape: str = "ball"

    @property
    def size(self) -> int:
        """d, how many coordinates are searched."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, such as `mass:torso` or `sensor`."""
        return tuple(self.model.names[k] for k in self.columns)

    @property
    def tolerance(self) -> np.ndarray:
        """Their tolerances, [d]."""
        return self.model.tolerance[self.columns]

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest coordinates that make sense, [d] each."""
        pairs = [self._bounds(int(k)) for k in self.columns]
        low, high = np.array(pairs).T
        return low, high

    def _bounds(self, column: int) -> tuple[float, float]:
        kind, size = KINDS[self.model.kind[column]], float(self.model.tolerance[column])
        if (valued := self._valued(column)) is not None:
            least = LEAST_SCALE * min(valued.nominal, valued.range.low) - valued.nominal
            toward = [end for end in valued.ends if end > 0]
            return (least / size if valued.ends[0] < 0 else 0.0), (math.inf if toward else 0.0)
        if kind == "physics":
            furthest = -math.log(LEAST_SCALE) / size
            return -furthest, furthest
        low, high = -math.inf, math.inf
        if kind == "parameters":
            own = next(p for p in self.model.parameters if p.name == self.model.names[column])
            low = min(0.0, (own.low - own.nominal) / size + _INSIDE)
            high = max(0.0, (own.high - own.nominal) / size - _INSIDE)
        law = self.model.laws[column]
        return (0.0 if law == ABOVE else low), (0.0 if law == BELOW else high)

    def _valued(self, column: int) -> Valued | None:
        """What a physics coordinate sets; None where it scales, or is of another kind."""
        name, law = self.model.names[column], self.model.laws[column]
        return (
            next((v for v in self.model.valued if v.name == name), None) if law == RANGE else None
        )

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points [..., d] are from the simulator, in tolerances."""
        return np.linalg.norm(points, ord=2 if self.shape == "ball" else np.inf, axis=-1)

    def directions(self, z: np.ndarray) -> np.ndarray:
        """Any vectors [n, d] as allowed directions of distance 1."""
        allowed = self._signed(z)
        lost = ~np.any(allowed, axis=1)
        allowed[lost] = self._signed(-z[lost])
        allowed[~np.any(allowed, axis=1)] = 1.0
        return allowed / self.distance(allowed)[:, None]

    def at(self, directions: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
        """The points at a radius in some directions [n, d], moved within their bounds."""
        return np.clip(np.reshape(radius, (-1, 1)) * directions, *self.bounds)

    def inside(self, z: np.ndarray, radius: float) -> np.ndarray:
        """Any vectors [n, d] as points no further away than a radius, from units of it."""
        allowed = self._signed(z)
        if self.shape == "box":
            allowed = np.clip(allowed, -1.0, 1.0)
        else:
            allowed = allowed / np.maximum(1.0, self.distance(allowed))[:, None]
        return np.clip(radius * allowed, *self.bounds)

    def _signed(self, z: np.ndarray) -> np.ndarray:
        low, high = self.bounds
        return np.clip(z, np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0))

    def features(self, points: np.ndarray) -> np.ndarray:
        """The worlds f [n, W] of points [n, d]."""
        features = np.zeros((len(points), self.model.size))
        features[:, self.columns] = points
        return features

    def unit(self, coordinate: int) -> str:
        """The user's unit of a coordinate."""
        column = int(self.columns[coordinate])
        kind = KINDS[self.model.kind[column]]
        if self._valued(column) is not None:
            return "the model's own unit"
        readings = "each reading's sensor_unit" if self.relative else "the readings' own units"
        return {
            "physics": "× nominal",
            "sensor": f"noise sd, in {readings}",
            "actuator": "noise sd, for actions in [−1, 1]",
            "bias": f"offset, in {'its sensor_unit' if self.relative else 'its own unit'}",
            "parameters": "own unit",
        }[kind]

    def value(self, coordinate: int, x: float) -> float:
        """A coordinate in the user's unit: a factor for physics, else a level or a value."""
        column = int(self.columns[coordinate])
        kind, size = KINDS[self.model.kind[column]], float(self.model.tolerance[column])
        if (valued := self._valued(column)) is not None:
            return valued.nominal + size * x
        if kind == "physics":
            return math.exp(size * x)
        if kind == "parameters":
            name = self.model.names[column]
            return next(p.nominal for p in self.model.parameters if p.name == name) + size * x
        return size * x

    def words(self, coordinate: int, x: float) -> str:
        """A coordinate in short, e.g. `1.35 × nominal (4.95)`, `noise sd 0.12`, `0.31`."""
        value, name = self.value(coordinate, x), self.names[coordinate]
        if name in self.nominal and self._valued(int(self.columns[coordinate])) is None:
            return f"{value:.3g} × nominal ({value * self.nominal[name]:.3g})"
        return f"{value:.4g}"


def select(model: WorldModel, wanted: Sequence[str] | None, absent: Collection[str]) -> np.ndarray:
    """The coordinates that names stand for: one of them, a family such as `mass`, or a kind.

    Args:
        model: the task's worlds.
        wanted: names; None for all.
        absent: families that the task has and the worlds do not declare.

    Raises:
        InputError: no names, or one that is not there.
    """
    if wanted is None:
        return np.arange(model.size)
    if isinstance(wanted, str) or not wanted:
        raise InputError(
            f"parameters is {wanted!r}; name at least one of {_choices(model)}, or leave it out "
            "for all of them"
        )
    chosen: set[int] = set()
    for name in wanted:
        found = [k for k, own in enumerate(model.names) if name in (own, own.split(":")[0])]
        found = found or (model.columns(name).tolist() if name in KINDS else [])
        if not found:
            raise InputError(_unknown(str(name), model, absent))
        chosen.update(found)
    return np.array(sorted(chosen))


def _unknown(name: str, model: WorldModel, absent: Collection[str]) -> str:
    if name.split(":")[0] in (*absent, "sensor", "actuator", "bias"):
        return (
            f"parameter {name!r} has no tolerance in the worlds that are declared, so its distance "
            "has no unit; declare one in a file and give it with --worlds, or choose from "
            f"{_choices(model)}"
        )
    return f"parameter {name!r} is not in this task; choose from {_choices(model)}"


def _choices(model: WorldModel) -> str:
    families = dict.fromkeys(name.split(":")[0] for name in model.names)
    single = [name for name in model.names if ":" in name and not name.startswith("bias:")]
    return ", ".join([*families, *single])
