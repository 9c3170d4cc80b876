"""What the package comes with as YAML: hyper-parameters of each algorithm, and ablations."""

from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from drspcrl.errors import InputError
from drspcrl.variants import Variant

ALGORITHMS = ("ppo", "sac", "ddpg")
ABLATIONS = ("pacing", "rate", "budget", "coordinates", "dual", "divergence")


def preset(algorithm: str) -> dict[str, Any]:
    """The hyper-parameters of an algorithm by name.

    Raises:
        InputError: an unknown algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm is {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    return yaml.safe_load(files(__name__).joinpath(f"{algorithm}.yaml").read_text("utf-8"))


class Ablation(NamedTuple):
    """One question, and the variants that answer it."""

    title: str
    variants: tuple[Variant, ...]


def ablation(name: str) -> Ablation:
    """The variants of a named ablation.

    Raises:
        InputError: an unknown ablation.
    """
    if name not in ABLATIONS:
        raise InputError(f"ablation is {name!r}; choose one of {', '.join(ABLATIONS)}")
    content = yaml.safe_load(files(__name__).joinpath(f"ablations/{name}.yaml").read_text("utf-8"))
    variants = (Variant(entry["method"], entry["settings"]) for entry in content["variants"])
    return Ablation(content["title"], tuple(variants))
