"""Physics parameters of a batch of simulations: names, nominal values, scales per simulation.

Scales are always written as nominal × scale, so nothing compounds, and the constants that MuJoCo
derives from them follow. Values, as some published protocols set them, are written as they are and
alone: no inertia and no derived constant follows a mass.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.physics.backends import Backend, ModelsBackend
from drspcrl.physics.components import components_of, field_of

STANDARD_GRAVITY = 9.80665
_HOLDS = 1e6
"""Dry friction of a locked joint in N·m (or N): more than any robot's motor has."""
_STIFF = (0.9999, 0.9999)
"""How much of a locked joint's motion MuJoCo's soft constraint takes away."""
_HINGE_AND_SLIDE = (3, 2)  # of MuJoCo's mjtJoint
_ON_JOINT = 0  # of its mjtTrn
_LOCK_FIELDS = ("dof_frictionloss", "dof_solref", "dof_solimp")


class Physics:
    """Physics parameters of a batch of simulations, settable per simulation.

    Scales come in layers (one for the caller, one for each perturbation); what is simulated is the
    nominal value times the product of all layers, or a value where a layer sets one.

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
        self._values: dict[str, np.ndarray] = {}
        self._locks: dict[str, np.ndarray] = {}
        self._written: set[str] = set()
        self._valued: set[str] = set()

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
    def body_weights(self) -> np.ndarray:
        """The nominal weight of each body that moves, in newtons; body k is row k − 1."""
        return self._backend.model.body_mass[1:] * STANDARD_GRAVITY

    @property
    def scales(self) -> np.ndarray:
        """The scales that are simulated, [num_envs, len(names)]."""
        return self._total(np.arange(self._backend.num_envs))

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

    def set_values(self, ids: np.ndarray, values: np.ndarray, layer: str = CALLER) -> None:
        """Set the numbers of some components as they are, and nothing that would follow from them.

        A mass changes without its body's inertia, a friction in its sliding coefficient alone, and
        the constants that MuJoCo derives stay those of the scaled model.

        Args:
            ids: simulations.
            values: in the model's own units, nan for a component that is left alone,
                [len(ids), len(names)] (or one row for all of them).
            layer: whose values these are; of several the last by name holds.

        Raises:
            InputError: values of another shape, or not finite.
        """
        ids = np.asarray(ids)
        values = np.asarray(values, float)
        if values.shape not in ((len(self.names),), (len(ids), len(self.names))):
            raise InputError(
                f"values have shape {values.shape}; give one for each of the {len(self.names)} "
                "components in physics.names, nan for those to leave alone"
            )
        if np.any(np.isinf(values)):
            raise InputError("values must be finite, or nan for components to leave alone")
        if layer not in self._values:
            self._values[layer] = np.full((self._backend.num_envs, len(self.names)), np.nan)
        self._values[layer][ids] = values
        self._write(ids)

    def _total(self, ids: np.ndarray) -> np.ndarray:
        total = np.ones((len(ids), len(self.names)))
        for name in sorted(self._layers):  # one order, so that rounding is always the same
            total *= self._layers[name][ids]
        return total

    def _write(self, ids: np.ndarray) -> None:
        extended = np.concatenate([self._total(ids), np.ones((len(ids), 1))], axis=1)
        changed = False
        for field, index in self.components.index.items():
            factors = extended[:, index]
            # Fields never touched stay shared by all simulations, which is faster.
            scaled = field in self._written or bool(np.any(factors != 1.0))
            if scaled or field in self._valued:
                self._backend.write(field, ids, self._nominal[field] * factors)
            if scaled:
                self._written.add(field)
                changed = True
        if changed:
            self._backend.commit(ids)
        self._write_values(ids, extended)

    def _write_values(self, ids: np.ndarray, extended: np.ndarray) -> None:
        """Write what is set alone; after the constants were derived, which must not see it."""
        values = np.full(extended.shape, np.nan)
        for name in sorted(self._values):
            own = self._values[name][ids]
            values[:, :-1] = np.where(np.isnan(own), values[:, :-1], own)
        if np.all(np.isnan(values)):
            return
        for field, index in self.components.single.items():
            alone = values[:, index]
            if not np.all(np.isnan(alone)):
                scaled = self._nominal[field] * extended[:, self.components.index[field]]
                self._backend.write(field, ids, np.where(np.isnan(alone), scaled, alone))
                self._valued.add(field)

    def joints(self, names: Sequence[str] | None = None) -> list[int]:
        """The indices of hinges and slides by name; without names those that a motor drives.

        Raises:
            InputError: a name that is not there, or twice.
        """
        model = self._backend.model
        movable = [j for j in range(model.njnt) if model.jnt_type[j] in _HINGE_AND_SLIDE]
        if names is None:
            on_joints = model.actuator_trntype == _ON_JOINT
            driven = set(model.actuator_trnid[on_joints, 0].tolist())
            return [j for j in movable if j in driven]
        known = {model.joint(j).name: j for j in movable if model.joint(j).name}
        listed = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if name not in known:
                raise InputError(
                    f"joint {shown(name)} is not in this task; choose from {', '.join(known)}"
                )
        if not listed or len(set(listed)) != len(listed):
            raise InputError(f"joints are {shown(listed)}; give some of {', '.join(known)}, once")
        return [known[name] for name in listed]

    def lock(
        self, ids: np.ndarray, joints: np.ndarray, locked: np.ndarray, layer: str = CALLER
    ) -> None:
        """Let joints hold the positions that they have, by dry friction, or move again.

        Args:
            ids: simulations.
            joints: indices of joints, as `joints` gives them.
            locked: which of them are to be locked, bool [len(ids), len(joints)].
            layer: whose locks these are; a joint moves where no layer locks it.
        """
        model = self._backend.model
        if layer not in self._locks:
            if not locked.any():
                return
            self._locks[layer] = np.zeros((self._backend.num_envs, model.nv), bool)
        self._locks[layer][np.ix_(ids, model.jnt_dofadr[joints])] = locked
        self._write_locks(np.asarray(ids))

    def _write_locks(self, ids: np.ndarray) -> None:
        model = self._backend.model
        locked = np.zeros((len(ids), model.nv), bool)
        for own in self._locks.values():
            locked |= own[ids]
        held = {field: field_of(model, field).copy() for field in _LOCK_FIELDS}
        held["dof_frictionloss"][:] = _HOLDS
        held["dof_solref"][:] = 2.0 * model.opt.timestep, 1.0
        held["dof_solimp"][:, :2] = _STIFF
        for field, values in held.items():
            mask = locked.reshape(*locked.shape, *[1] * (values.ndim - 1))
            self._backend.write(field, ids, np.where(mask, values, field_of(model, field)))

    def body(self, name: str | None) -> int:
        """The index of a body; without a name the first one that moves."""
        model = self._backend.model
        if name is None:
            return 1
        names = [model.body(k).name for k in range(1, model.nbody)]
        if name not in names:
            raise InputError(
                f"body {shown(name)} is not in this task; choose from {', '.join(names)}"
            )
        return 1 + names.index(name)

    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """Add forces [len(ids), 3] in newtons at a body's centre of mass, for the next step."""
        self._backend.add_force(ids, body, forces)

    def clear_forces(self) -> None:
        """Remove the added forces."""
        self._backend.clear_forces()

    def verify(self) -> None:
        """Raise an `InputError` if an environment no longer simulates the model written to."""
        if self._written or self._valued or self._locks:
            self._backend.verify()

    def state(self) -> dict[str, np.ndarray]:
        """All layers."""
        layers = {f"layer/{name}": scales.copy() for name, scales in self._layers.items()}
        layers |= {f"value/{name}": own.copy() for name, own in self._values.items()}
        return layers | {f"lock/{name}": own.copy() for name, own in self._locks.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to the layers of a `state()`."""
        had_locks = bool(self._locks)
        self._layers, self._values, self._locks = (
            {
                key.removeprefix(kind): own.copy()
                for key, own in state.items()
                if key.startswith(kind)
            }
            for kind in ("layer/", "value/", "lock/")
        )
        self._write(np.arange(self._backend.num_envs))
        if had_locks or self._locks:
            self._write_locks(np.arange(self._backend.num_envs))


def physics_of(bases: Sequence[Any]) -> Physics | None:
    """The handle on some unwrapped Gymnasium environments; None where one has no MuJoCo model."""
    for base in bases:
        kinds = (
            type(getattr(base, "model", None)).__name__,
            type(getattr(base, "data", None)).__name__,
        )
        if kinds != ("MjModel", "MjData"):
            return None
    seconds = getattr(bases[0], "dt", bases[0].model.opt.timestep)
    return Physics(ModelsBackend(bases), float(seconds))
