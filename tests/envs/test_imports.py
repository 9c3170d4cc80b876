"""Simulating and perturbing needs no JAX, and Gymnasium's tasks no rendering libraries."""

import subprocess
import sys

SCRIPT = """
import sys
import drspcrl.envs
from drspcrl.perturbations import Perturbation
assert "mujoco" not in sys.modules, "importing the packages loads MuJoCo"
env = drspcrl.envs.make("Hopper", 2, perturbations=Perturbation("action", 0.1))
env.reset()
for name in ("jax", "imageio", "matplotlib"):
    assert name not in sys.modules, f"making a task loads {name}"
"""


def test_nothing_heavy_is_imported():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
