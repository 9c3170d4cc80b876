"""The hyper-parameters that each algorithm comes with, as YAML beside this file."""

from importlib.resources import files
from typing import Any

import yaml

from drspcrl.errors import InputError

ALGORITHMS = ("ppo", "sac", "ddpg")


def preset(algorithm: str) -> dict[str, Any]:
    """The hyper-parameters of an algorithm by name.

    Raises:
        InputError: an unknown algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm is {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    return yaml.safe_load(files(__name__).joinpath(f"{algorithm}.yaml").read_text("utf-8"))
