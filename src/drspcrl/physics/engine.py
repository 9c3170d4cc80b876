"""MuJoCo's Python module; its compiled names are unknown to type checkers, hence `Any`."""

import importlib
from typing import Any, TypeAlias

mujoco: Any = importlib.import_module("mujoco")

Model: TypeAlias = Any
Data: TypeAlias = Any
