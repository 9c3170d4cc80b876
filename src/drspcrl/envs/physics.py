"""Physics parameters of MuJoCo models: their names, nominal values, and scales per environment.

A component is what a data sheet would give one tolerance for: the mass of one body (its inertia
goes with it), the friction of one geom, the damping or armature of one joint, gravity, the gear of
one actuator. Values are always written as nominal × scale, so nothing compounds, and the constants
that MuJoCo derives from them follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.errors import InputError

if TYPE_CHECKING:
    from mujoco.batch import Batch

    from drspcrl.envs.engine import Data, Model

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
STANDARD_GRAVITY = 9.80665


@dataclass(frozen=True)
class Components:
    """The components of one model.

    Attributes:
        names: `parameter:object` (`mass:torso`, `gear:0` for a nameless object), or `gravity`.
        nominal: one nominal value each (for friction the sliding coefficient).
        index: field → which component scales each of its elements; `len(names)` means none.
    """

    names: tuple[str, ...]
    nominal: np.ndarray
    index: dict[str, np.ndarray]

    def select(self, parameters: Sequence[str]) -> np.ndarray:
        """The components that `mass` (all bodies) or `mass:torso` (one of them) stand for."""
        if isinstance(parameters, str):
            raise InputError(f"parameters is {parameters!r}; give a list such as ['{parameters}']")
        chosen = []
        for parameter in parameters:
            found = [
                k
                for k, name in enumerate(self.names)
                if name == parameter or name.split(":")[0] == parameter
            ]
            if not found:
                raise InputError(
                    f"physics parameter {parameter!r} is not in this task (or zero in it); "
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
    for array in index.values():
        array[array < 0] = len(names)
    return Components(tuple(names), np.array(nominal), index)


def _owners(model: Model, kind: str, rows: int) -> np.ndarray:
    if kind == "dof":
        return np.asarray(model.dof_jntid)
    return np.zeros(rows, int) if kind == "world" else np.arange(rows)


def _name(model: Model, parameter: str, kind: str, owner: int) -> str:
    if kind == "world":
        return parameter
    lookup = model.joint if kind == "dof" else getattr(model, kind)
    return f"{parameter}:{lookup(owner).name or owner}"


class Backend(ABC):
    """Where scaled values and forces are written."""

    model: Model
    num_envs: int

    @abstractmethod
    def write(self, field: str, ids: np.ndarray, values: np.ndarray) -> None:
        """Write a model field of some simulations."""

    @abstractmethod
    def commit(self, ids: np.ndarray) -> None:
        """Let MuJoCo derive its constants anew."""

    @abstractmethod
    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """Add a force at a body's centre of mass, in world coordinates."""

    @abstractmethod
    def clear_forces(self) -> None:
        """Remove all added forces."""


class BatchBackend(Backend):
    """The simulations of one `mujoco.batch.Batch`."""

    def __init__(self, batch: Batch):
        self.model, self.num_envs = batch.model, batch.nsim
        self._batch = batch
        self._forces = batch.bind("xfrc_applied")
        self._pushed = False

    def write(self, field: str, ids: np.ndarray, values: np.ndarray) -> None:
        """See `Backend`."""
        self._batch.expand(field)[ids] = values

    def commit(self, ids: np.ndarray) -> None:
        """See `Backend`."""
        self._batch.set_const(np.sort(ids))

    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """See `Backend`."""
        self._forces[ids, body, :3] += forces
        self._pushed = True

    def clear_forces(self) -> None:
        """See `Backend`."""
        if self._pushed:
            self._forces[:] = 0.0
            self._pushed = False


class ModelsBackend(Backend):
    """Gymnasium environments, each with its own `model` and `data`."""

    def __init__(self, models: Sequence[Model], datas: Sequence[Data]):
        import copy

        from drspcrl.envs.engine import mujoco

        self.num_envs = len(models)
        self.model = copy.copy(models[0])  # the nominal values, safe from our own writes
        self.models, self._datas = list(models), list(datas)
        # mj_setConst overwrites the MjData it computes in, so it gets one of its own.
        self._scratch = mujoco.MjData(self.model)
        self._undo: list[tuple[int, int, np.ndarray]] = []

    def write(self, field: str, ids: np.ndarray, values: np.ndarray) -> None:
        """See `Backend`."""
        for i, value in zip(ids, values, strict=True):
            field_of(self.models[i], field)[...] = value

    def commit(self, ids: np.ndarray) -> None:
        """See `Backend`."""
        from drspcrl.envs.engine import mujoco

        for i in ids:
            mujoco.mj_setConst(self.models[i], self._scratch)

    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """See `Backend`."""
        for i, force in zip(ids, forces, strict=True):
            applied = self._datas[i].xfrc_applied[body, :3]
            self._undo.append((i, body, applied.copy()))
            applied += force

    def clear_forces(self) -> None:
        """See `Backend`; forces that the environment itself applies stay."""
        for i, body, before in reversed(self._undo):
            self._datas[i].xfrc_applied[body, :3] = before
        self._undo.clear()


class Physics:
    """Physics parameters of a batch of simulations, settable per simulation.

    Scales come in layers (one for the caller, one for each perturbation); what is simulated is the
    nominal value times the product of all layers.

    Args:
        backend: where values are written.
        step_seconds: simulated time of one environment step.
    """

    CALLER = "caller"

    def __init__(self, backend: Backend, step_seconds: float):
        self._backend = backend
        self.step_seconds = step_seconds
        self.components = components_of(backend.model)
        self._nominal = {
            field: field_of(backend.model, field).copy() for field in self.components.index
        }
        self._layers: dict[str, np.ndarray] = {}
        self._written: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """The components' names, in the order of `nominal` and of the columns of `scales`."""
        return self.components.names

    @property
    def nominal(self) -> np.ndarray:
        """One nominal value per component."""
        return self.components.nominal

    @property
    def weight(self) -> float:
        """The nominal weight of everything that moves, in newtons."""
        return float(self._backend.model.body_mass.sum()) * STANDARD_GRAVITY

    @property
    def scales(self) -> np.ndarray:
        """The scales that are simulated, [num_envs, len(names)]."""
        total = np.ones((self._backend.num_envs, len(self.names)))
        for name in sorted(self._layers):  # one order, so that rounding is always the same
            total *= self._layers[name]
        return total

    def set_scales(self, ids: np.ndarray, scales: np.ndarray, layer: str = CALLER) -> None:
        """Set one layer of scales for some simulations, at once and from the nominal values.

        Args:
            ids: simulations.
            scales: positive factors, [len(ids), len(names)] (or one row for all of them).
            layer: whose factors these are.

        Raises:
            InputError: scales of another shape, or not positive and finite.
        """
        ids = np.asarray(ids)
        scales = np.asarray(scales, float)
        if scales.shape not in ((len(self.names),), (len(ids), len(self.names))):
            raise InputError(
                f"scales have shape {scales.shape}; give one factor for each of the "
                f"{len(self.names)} components in physics.names"
            )
        if not np.all(np.isfinite(scales) & (scales > 0)):
            raise InputError("scales must be positive and finite; 1 is the nominal value")
        if layer not in self._layers:
            self._layers[layer] = np.ones((self._backend.num_envs, len(self.names)))
        self._layers[layer][ids] = scales
        self._write(ids)

    def _write(self, ids: np.ndarray) -> None:
        total = self.scales[ids]
        extended = np.concatenate([total, np.ones((len(ids), 1))], axis=1)
        changed = False
        for field, index in self.components.index.items():
            factors = extended[:, index]
            # Fields never touched stay shared by all simulations, which is faster.
            if field in self._written or np.any(factors != 1.0):
                self._backend.write(field, ids, self._nominal[field] * factors)
                self._written.add(field)
                changed = True
        if changed:
            self._backend.commit(ids)

    def body(self, name: str | None) -> int:
        """The index of a body; without a name the first one that moves."""
        model = self._backend.model
        if name is None:
            return 1
        names = [model.body(k).name for k in range(1, model.nbody)]
        if name not in names:
            raise InputError(f"body {name!r} is not in this task; choose from {', '.join(names)}")
        return 1 + names.index(name)

    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """Add forces [len(ids), 3] in newtons at a body's centre of mass, for the next step."""
        self._backend.add_force(ids, body, forces)

    def clear_forces(self) -> None:
        """Remove the added forces."""
        self._backend.clear_forces()

    def state(self) -> dict[str, np.ndarray]:
        """All layers."""
        return {f"layer/{name}": scales.copy() for name, scales in self._layers.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to the layers of a `state()`."""
        self._layers = {key.removeprefix("layer/"): rows.copy() for key, rows in state.items()}
        self._write(np.arange(self._backend.num_envs))
