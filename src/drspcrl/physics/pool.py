"""Persistent simulations on MuJoCo's thread pool, on which MuJoCo's own functions can be run.

`mujoco.batch.Batch` is the same engine and has the same methods, except `apply`. Without it, what
a task needs beyond a step would be computed one simulation after another, on one thread. MuJoCo's
C functions for batches are called as its header `mjbatch.h` declares them.
"""

from __future__ import annotations

import copy
import ctypes
import weakref
from ctypes import POINTER, c_bool, c_char_p, c_int, c_void_p
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mujoco.batch import Batch, SimulationError

from drspcrl.errors import InputError
from drspcrl.physics.components import field_of
from drspcrl.physics.engine import mujoco


class BatchConfig(ctypes.Structure):
    """`mjBatchConfig`."""

    _fields_ = (("nthread", c_int), ("persistent", c_bool))


_FIELD = (c_void_p, [c_void_p, c_char_p, POINTER(c_int), POINTER(c_int)])
_SIGNATURES = {
    "mjb_makeBatch": (c_void_p, [c_void_p, c_int, POINTER(BatchConfig), c_char_p, c_int]),
    "mjb_deleteBatch": (None, [c_void_p]),
    "mjb_nsim": (c_int, [c_void_p]),
    "mjb_nthread": (c_int, [c_void_p]),
    "mjb_persistent": (c_int, [c_void_p]),
    "mjb_nstate": (c_int, [c_void_p]),
    "mjb_state": (c_void_p, [c_void_p]),
    "mjb_stateComponent": (c_void_p, [c_void_p, c_int, POINTER(c_int)]),
    "mjb_warning": (c_void_p, [c_void_p]),
    "mjb_status": (c_void_p, [c_void_p]),
    "mjb_error": (c_char_p, [c_void_p, c_int]),
    "mjb_output": _FIELD,
    "mjb_expand": _FIELD,
    "mjb_expanded": _FIELD,
    "mjb_step": (c_int, [c_void_p, c_void_p, c_int, c_int, c_int]),
    "mjb_forward": (c_int, [c_void_p, c_void_p, c_int, c_int]),
    "mjb_reset": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_int]),
    "mjb_setConst": (c_int, [c_void_p, c_void_p, c_int]),
    "mjb_getModel": (None, [c_void_p, c_int, c_void_p]),
    "mjb_apply": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int]),
}


@cache
def library() -> ctypes.CDLL:
    """The library that the `mujoco` package itself has loaded; its calls release Python's lock.

    Raises:
        InputError: it is not where it used to be, or has no batches.
    """
    folder = Path(mujoco.__file__).parent
    names = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco.dll")
    found = [path for name in names for path in folder.glob(name)]
    try:
        loaded = ctypes.CDLL(str(found[0]))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (IndexError, OSError, AttributeError) as error:
        raise InputError(
            f"MuJoCo {mujoco.__version__} in {folder} has no batches in C ({error}); "
            "install the version that constraints/ names"
        ) from None
    return loaded


if TYPE_CHECKING:
    from drspcrl.physics.engine import Model

_NONE, _ALL = mujoco.mjtStage.mjSTAGE_NONE.value, mujoco.mjtStage.mjSTAGE_ACC.value
_CALLBACKS = [getattr(mujoco, name) for name in dir(mujoco) if name.startswith("get_mjcb_")]


class Pool:
    """`nsim` simulations of one model, each with an `MjData` of its own.

    Args:
        model: the model.
        nsim: number of simulations.
        nthread: number of threads.
    """

    def __init__(self, model: Model, nsim: int, nthread: int):
        self.model, self.nsim = model, nsim
        self._handle = _Handle(model, nsim, nthread)
        self._template = mujoco.MjData(model)
        size = library().mjb_nstate(self._handle.address)
        self.state = self._rows("mjb_state", (size,), np.dtype(float))
        self.warning = self._rows("mjb_warning", (len(self._template.warning), 2), np.dtype("i4"))
        self._status = self._rows("mjb_status", (), np.dtype("i4"))

    def bind(self, name: str) -> np.ndarray:
        """A live array over a field of `MjData`, one row per simulation.

        State fields can be written; others are copied out after every call and are read-only.
        """
        template = getattr(self._template, name)
        component = getattr(mujoco.mjtState, f"mjSTATE_{name.upper()}", None)
        if component is None:
            return _read_only(self._field("mjb_output", name, template))
        address = library().mjb_stateComponent(self._handle.address, int(component), None)
        first = (address - self.state.ctypes.data) // self.state.itemsize
        columns = self.state[:, first : first + template.size]
        return columns.reshape(self.nsim, *template.shape)

    def expand(self, name: str) -> np.ndarray:
        """Give each simulation values of its own for a field of the model; they are live."""
        return self._field("mjb_expand", name, field_of(self.model, name))

    def expanded(self, name: str) -> np.ndarray | None:
        """The simulations' own values for a field of the model, None where they share one."""
        if not library().mjb_expanded(self._handle.address, name.encode(), None, None):
            return None
        return _read_only(self._field("mjb_expanded", name, field_of(self.model, name)))

    def step(self, ids: np.ndarray | None = None, nstep: int = 1) -> None:
        """Advance simulations (all by default) by `nstep` calls of `mj_step`."""
        self._call("mjb_step", ids, nstep, _NONE)

    def forward(self, ids: np.ndarray | None = None, stage: int = _ALL) -> None:
        """Compute what follows from the states, without a step."""
        self._call("mjb_forward", ids, stage)

    def reset(self, ids: np.ndarray | None = None, stage: int = _ALL) -> None:
        """Put simulations into the model's default state, then compute `stage`."""
        self._call("mjb_reset", ids, None, stage)

    def set_const(self, ids: np.ndarray | None = None) -> None:
        """Let MuJoCo derive the constants of expanded models again."""
        self._call("mjb_setConst", ids)

    def get_model(self, sim: int) -> Model:
        """A copy of one simulation's model."""
        model = copy.copy(self.model)
        library().mjb_getModel(self._handle.address, sim, model._address)
        return model

    def apply(self, function: str) -> None:
        """Run one of MuJoCo's functions of (model, data) on every simulation.

        The data is as the last call left it. Bound fields show the result.
        """
        # A function of two arguments may be called with the four that mjb_apply passes: on all
        # platforms that MuJoCo is built for, those beyond the second are not even looked at.
        address = ctypes.cast(getattr(library(), function), ctypes.c_void_p)
        self._call("mjb_apply", None, address, None, 0)
        self.forward(stage=_NONE)  # computes nothing, but copies the bound fields out

    def _call(self, function: str, ids: np.ndarray | None, *arguments: Any) -> None:
        if any(installed() is not None for installed in _CALLBACKS):
            raise InputError(
                "a physics callback of MuJoCo is installed and would act here, too; "
                "remove it with mujoco.set_mjcb_…(None)"
            )
        chosen = np.arange(self.nsim) if ids is None else ids
        rows = None if ids is None else np.ascontiguousarray(ids, np.int32)
        start = None if rows is None else rows.ctypes.data
        run = getattr(library(), function)
        if run(self._handle.address, start, len(chosen), *arguments):
            failed = chosen[self._status[chosen] != 0]
            message = library().mjb_error(self._handle.address, int(failed[0])).decode()
            raise SimulationError(failed, message, len(chosen))

    def _field(self, function: str, name: str, template: np.ndarray) -> np.ndarray:
        size, width = ctypes.c_int(), ctypes.c_int()
        address = getattr(library(), function)(
            self._handle.address, name.encode(), ctypes.byref(size), ctypes.byref(width)
        )
        if not address or (size.value, width.value) != (template.size, template.itemsize):
            raise InputError(f"{name!r} is not a field that differs between simulations")
        return self._handle.array(address, (self.nsim, *template.shape), template.dtype)

    def _rows(self, function: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        address = getattr(library(), function)(self._handle.address)
        return self._handle.array(address, (self.nsim, *shape), dtype)


Simulations: TypeAlias = Batch | Pool


class _Handle:
    """MuJoCo's batch; it lives as long as the last array over its memory."""

    def __init__(self, model: Model, nsim: int, nthread: int):
        error = ctypes.create_string_buffer(1000)
        config = BatchConfig(nthread, True)
        self.address = library().mjb_makeBatch(
            model._address, nsim, ctypes.byref(config), error, len(error)
        )
        if not self.address:
            raise InputError(f"MuJoCo made no batch of {nsim} simulations: {error.value.decode()}")
        free = weakref.finalize(self, library().mjb_deleteBatch, self.address)
        free.atexit = False  # arrays may be read until the very end
        made = [library().mjb_nsim, library().mjb_nthread, library().mjb_persistent]
        if [count(self.address) for count in made] != [nsim, nthread, 1]:
            raise InputError(
                f"MuJoCo {mujoco.__version__} reads the settings of a batch differently; "
                "install the version that constraints/ names"
            )

    def array(self, address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array over the batch's memory, which keeps the batch alive."""
        length = int(np.prod(shape)) * dtype.itemsize
        memory: Any = (ctypes.c_byte * length).from_address(address)
        memory.owner = self
        return np.frombuffer(memory, dtype).reshape(shape)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
