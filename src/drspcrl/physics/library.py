"""MuJoCo's C functions for batches, as its header `mjbatch.h` declares them."""

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_int, c_void_p
from functools import cache
from pathlib import Path

from drspcrl.errors import InputError
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
