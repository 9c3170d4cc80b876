"""Where scaled physics parameters and pushes are written: a batch, or Gymnasium environments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drspcrl.errors import InputError
from drspcrl.physics.components import field_of

if TYPE_CHECKING:
    from drspcrl.physics.engine import Model
    from drspcrl.physics.pool import Simulations


class Backend(ABC):
    """Where scaled values and forces are written."""

    model: Model
    num_envs: int

    @abstractmethod
    def write(self, field: str, ids: np.ndarray, values: np.ndarray) -> None:
        """Write a model field of some simulations."""

    @abstractmethod
    def commit(self, ids: np.ndarray) -> None:
        """Let MuJoCo derive its constants again."""

    @abstractmethod
    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """Add a force at a body's centre of mass, in world coordinates."""

    @abstractmethod
    def clear_forces(self) -> None:
        """Remove all added forces."""

    def verify(self) -> None:
        """Raise an `InputError` if what was written is not what is simulated."""
        return


class BatchBackend(Backend):
    """The simulations of one batch."""

    def __init__(self, batch: Simulations):
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
    """Gymnasium environments, each with its own `model` and `data`.

    Args:
        bases: the unwrapped environments.
    """

    def __init__(self, bases: Sequence[Any]):
        import copy

        from drspcrl.physics.engine import mujoco

        self.num_envs = len(bases)
        self.model = copy.copy(bases[0].model)  # the nominal values, safe from our own writes
        self._bases = list(bases)
        self._models = [base.model for base in bases]
        # mj_setConst overwrites the MjData it computes in, so it gets one of its own.
        self._scratch = mujoco.MjData(self.model)
        self._undo: list[tuple[int, int, np.ndarray]] = []

    def write(self, field: str, ids: np.ndarray, values: np.ndarray) -> None:
        """See `Backend`."""
        for i, value in zip(ids, values, strict=True):
            field_of(self._models[i], field)[...] = value

    def commit(self, ids: np.ndarray) -> None:
        """See `Backend`."""
        from drspcrl.physics.engine import mujoco

        for i in ids:
            mujoco.mj_setConst(self._models[i], self._scratch)

    def add_force(self, ids: np.ndarray, body: int, forces: np.ndarray) -> None:
        """See `Backend`."""
        for i, force in zip(ids, forces, strict=True):
            applied = self._bases[i].data.xfrc_applied[body, :3]
            self._undo.append((i, body, applied.copy()))
            applied += force

    def clear_forces(self) -> None:
        """See `Backend`; forces that the environment itself applies stay."""
        for i, body, before in reversed(self._undo):
            self._bases[i].data.xfrc_applied[body, :3] = before
        self._undo.clear()

    def verify(self) -> None:
        """See `Backend`."""
        if any(
            base.model is not model for base, model in zip(self._bases, self._models, strict=True)
        ):
            raise InputError(
                "the environment made a new MuJoCo model, so its perturbed physics was lost; "
                "let it keep one model and reset only its data"
            )
