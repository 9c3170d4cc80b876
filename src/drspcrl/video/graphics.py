"""OpenGL without a screen: MuJoCo chooses its backend when it is imported, and never again."""

import importlib
import os
import sys
import warnings
from typing import Any

from drspcrl.errors import InputError

# Without a graphics card, MuJoCo's 4096 pixels and mirroring floors take twice the time.
_SHADOW = 1024


def prepare_graphics() -> None:
    """Choose EGL unless `MUJOCO_GL` says otherwise; call it before MuJoCo is imported.

    Raises:
        InputError: `MUJOCO_GL` names a backend that is not here.
    """
    if sys.platform.startswith("linux") and "mujoco" not in sys.modules:
        os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        importlib.import_module("mujoco")
    except Exception as error:  # each backend fails in its own way
        raise _nothing_can_be_drawn(error) from None


def open_renderer(model: Any, width: int, height: int) -> Any:
    """MuJoCo's renderer of a model.

    Raises:
        InputError: OpenGL does not work here.
    """
    from drspcrl.envs.simulator import _Quiet
    from drspcrl.physics.engine import mujoco

    model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
    model.vis.global_.offheight = max(height, model.vis.global_.offheight)
    model.vis.quality.shadowsize = min(_SHADOW, model.vis.quality.shadowsize)
    try:
        with warnings.catch_warnings(), _Quiet():
            warnings.simplefilter("ignore")  # what GLFW says without a display follows as an error
            renderer = mujoco.Renderer(model, height, width)
    except Exception as error:
        raise _nothing_can_be_drawn(error) from None
    renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
    return renderer


def _nothing_can_be_drawn(error: Exception) -> InputError:
    backend = os.environ.get("MUJOCO_GL")
    chosen = f"MUJOCO_GL={backend}" if backend else "MUJOCO_GL not set"
    install = "apt-get install libegl1 (Debian, Ubuntu) or dnf install mesa-libEGL (Fedora)"
    remedy = f"set MUJOCO_GL=egl before MuJoCo is imported; if EGL is missing, {install}"
    if backend == "egl":
        remedy = f"install EGL, which needs no screen: {install}"
    return InputError(
        f"nothing can be drawn here: with {chosen}, OpenGL fails ({type(error).__name__}: {error})."
        f" The remedy: {remedy}. drspcrl doctor tries every backend"
    )
