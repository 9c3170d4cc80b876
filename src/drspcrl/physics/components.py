"""The scalable components of a MuJoCo model.

A component is what a data sheet would give one tolerance for: the mass of one body (its inertia
goes with it), the friction of one geom, the damping or armature of one joint, gravity, the gear of
one actuator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError

if TYPE_CHECKING:
    from drspcrl.physics.engine import Model

# parameter → model fields that share the factor, and the kind of object a factor belongs to
PARAMETERS = {
    "mass": (("body_mass", "body_inertia"), "body"),
    "friction": (("geom_friction",), "geom"),
    "damping": (("dof_damping",), "dof"),
    "armature": (("dof_armature",), "dof"),
    "gravity": (("opt.gravity",), "world"),
    "gear": (("actuator_gear",), "actuator"),
    "stiffness": (("jnt_stiffness",), "joint"),
}
DEFAULT_PARAMETERS = ("mass", "friction", "damping", "armature", "gravity", "gear")


@dataclass(frozen=True)
class Components:
    """The components of one model.

    Attributes:
        names: `parameter:object` (`mass:torso`, `gear:0` for a nameless object), or `gravity`.
        nominal: one nominal value each (for friction the sliding coefficient).
        index: field → which component scales each of its elements; `len(names)` means none.
        single: field → the same for the elements that hold a component's own number alone: a mass
            without inertia, the sliding coefficient of a friction.
    """

    names: tuple[str, ...]
    nominal: np.ndarray
    index: dict[str, np.ndarray]
    single: dict[str, np.ndarray]

    def select(self, parameters: Sequence[str]) -> np.ndarray:
        """The components that `mass` (all bodies) or `mass:torso` (one of them) stand for."""
        if isinstance(parameters, str):
            raise InputError(
                f"parameters is {shown(parameters)}; give a list such as ['{parameters}']"
            )
        chosen = []
        for parameter in parameters:
            found = [
                k
                for k, name in enumerate(self.names)
                if name == parameter or name.split(":")[0] == parameter
            ]
            if not found:
                raise InputError(
                    f"physics parameter {shown(parameter)} is not in this task (or zero in it); "
                    f"choose from {', '.join(self._choices(parameter))}"
                )
            chosen += found
        if len(set(chosen)) != len(chosen):
            raise InputError(f"parameters {list(parameters)} name a component twice; name it once")
        return np.array(sorted(chosen))

    def _choices(self, parameter: str) -> list[str]:
        family = parameter.split(":")[0]
        same = [name for name in self.names if name.split(":")[0] == family]
        return same or sorted({name.split(":")[0] for name in self.names})


def field_of(model: Model, field: str) -> np.ndarray:
    """A model field by name, `opt.` fields included."""
    return getattr(model.opt, field[4:]) if field.startswith("opt.") else getattr(model, field)


def components_of(model: Model) -> Components:
    """List the scalable components of a model; what is zero would stay zero and is left out."""
    names: list[str] = []
    nominal: list[float] = []
    index: dict[str, np.ndarray] = {}
    single: dict[str, np.ndarray] = {}
    for parameter, (fields, kind) in PARAMETERS.items():
        values = np.atleast_1d(field_of(model, fields[0]))
        owners = _owners(model, kind, len(values))
        component = np.full(len(values), -1)
        for owner in np.unique(owners):
            own = values[owners == owner]
            if np.any(own):
                component[owners == owner] = len(names)
                names.append(_name(model, parameter, kind, int(owner)))
                nominal.append(float(own[own != 0][0]))
        for field in fields:
            shape = field_of(model, field).shape
            index[field] = np.broadcast_to(
                component.reshape(-1, *[1] * (len(shape) - 1)), shape
            ).copy()
        single[fields[0]] = _first_numbers(values, index[fields[0]])
    for array in (*index.values(), *single.values()):
        array[array < 0] = len(names)
    return Components(tuple(names), np.array(nominal), index, single)


def _first_numbers(values: np.ndarray, component: np.ndarray) -> np.ndarray:
    """Of each row the first element that is not 0, of a field that is one vector its only one."""
    rows = values.reshape(len(values), -1)
    first = np.zeros(rows.shape, bool)
    first[np.arange(len(rows)), np.argmax(rows != 0, axis=1)] = True
    held = (first & (rows != 0)).reshape(values.shape)
    return np.where(held, component, -1)


def _owners(model: Model, kind: str, rows: int) -> np.ndarray:
    if kind == "dof":
        return np.asarray(model.dof_jntid)
    return np.zeros(rows, int) if kind == "world" else np.arange(rows)


def _name(model: Model, parameter: str, kind: str, owner: int) -> str:
    if kind == "world":
        return parameter
    lookup = model.joint if kind == "dof" else getattr(model, kind)
    return f"{parameter}:{lookup(owner).name or owner}"
