"""`drspcrl doctor`: what this machine has, and whether the parts work together on it."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from drspcrl.display import printable
from drspcrl.versions import versions_of

PACKAGES = ("drspcrl", "jax", "jaxlib", "mujoco", "gymnasium", "numpy", "scipy", "optax")
OPTIONAL = ("ray", "onnx", "imageio-ffmpeg", "trackio", "wandb")
# Whether a picture comes out: without a screen, GLFW makes a context that draws nothing.
TRY_GL = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco/>")
renderer = mujoco.Renderer(model, 8, 8)
renderer.update_scene(mujoco.MjData(model))
assert renderer.render().shape == (8, 8, 3)
"""


@dataclass(frozen=True)
class Doctor:
    """Show versions, devices, threads and graphics, and run a self-test."""

    def run(self) -> None:
        """Print the findings; exit with code 1 if a self-test fails."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("", "", show_header=False, box=None, padding=(0, 2, 0, 0))
        for name, finding in [*_software(), *_machine()]:
            table.add_row(name, Text(printable(finding)))
        failures = 0
        for name, test in SELF_TESTS.items():
            finding, works = _attempt(test)
            failures += not works
            table.add_row(name, Text(printable(finding), "green" if works else "red"))
        Console().print(table)
        if failures:
            raise SystemExit(1)


def _software() -> list[tuple[str, str]]:
    optional = versions_of(OPTIONAL, missing="not installed (optional)")
    return [("python", platform.python_version()), *(versions_of(PACKAGES) | optional).items()]


def _machine() -> list[tuple[str, str]]:
    import jax

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("platform", f"{platform.system()} {platform.machine()}"),
        ("CPU cores", str(cores)),
        ("JAX devices", ", ".join(f"{d.platform}:{d.device_kind}" for d in jax.devices())),
        ("graphics", _graphics()),
    ]


def _graphics() -> str:
    """Which OpenGL backends can draw off-screen; each must be chosen before MuJoCo is imported."""
    works = [gl for gl in ("egl", "glfw", "osmesa") if _draws(gl)]
    if not works:
        return "none: no videos here (on Debian or Ubuntu, EGL is in the package libegl1)"
    return f"MUJOCO_GL={works[0]} works"


def _draws(backend: str) -> bool:
    attempt = subprocess.run(
        [sys.executable, "-c", TRY_GL],
        env={**os.environ, "MUJOCO_GL": backend},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return attempt.returncode == 0


def _attempt(test: Callable[[], str]) -> tuple[str, bool]:
    try:
        return test(), True
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}", False


def _worst_case_works() -> str:
    from drspcrl.divergences import ChiSquared

    # A fair coin with values 0 and 1 at χ² distance 0.36 shows 1 with probability 0.2.
    value = float(ChiSquared().worst_case([0.0, 1.0], [0.5, 0.5], 0.36).value)
    if abs(value - 0.2) > 1e-6:
        raise ArithmeticError(f"expected 0.2, got {value}")
    return "worst case of a coin is exact"


def _physics_works() -> str:
    import numpy as np

    from drspcrl.envs import make

    env = make("Hopper", num_envs=4, seed=0)
    env.reset()
    steps = [env.step(np.zeros((4, *env.action_space.shape))) for _ in range(10)]
    if not all(np.all(np.isfinite(step.observation)) for step in steps):
        raise ArithmeticError("the simulation gave numbers that are not finite")
    return "10 steps of 4 Hoppers"


SELF_TESTS = {"self-test: divergences": _worst_case_works, "self-test: physics": _physics_works}
