"""Gymnasium's HalfCheetah model makes MuJoCo write a log file; not into the working folder."""

import pytest

from drspcrl.physics.engine import mujoco


@pytest.fixture(autouse=True)
def _no_log_file():
    config = mujoco.MjLogConfig.get()
    quiet = mujoco.MjLogConfig.get()
    quiet.logto_file = quiet.logto_console = False
    quiet.set()
    yield
    config.set()
