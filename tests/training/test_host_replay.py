"""Replay in another memory than the learner's changes nothing; two CPU devices stand for it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import jax, numpy as np
from drspcrl.training.loop import make_loop
from drspcrl.training.collector import Collector
from drspcrl.training.settings import resolve

here, there = jax.devices("cpu")
changes = {"hidden": [8], "batch_size": 16, "learning_starts": 40, "envs_per_member": 4}
settings = resolve("sac", changes, 200)

def train(memory):
    collector = Collector("Pendulum-v1", [3, 4], 4)
    loop = make_loop("sac", settings, collector, [3, 4], 200, here, memory)
    while loop.steps < 200:
        loop.iterate()
    assert loop.updates == 160
    assert loop.replay.observation.devices() == {memory}
    return jax.tree.map(np.asarray, loop.state)

jax.tree.map(np.testing.assert_array_equal, train(here), train(there))
"""


@pytest.mark.slow
def test_replay_elsewhere_learns_the_same():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=os.environ | flags)
