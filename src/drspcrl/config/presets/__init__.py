"""What the package comes with as YAML: settings that differ by algorithm, grids, ablations."""

from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.reading import parse_yaml
from drspcrl.variants import Variant

ABLATIONS = ("pacing", "rate", "budget", "coordinates", "dual", "divergence")


def preset(algorithm: str) -> dict[str, Any]:
    """What an algorithm has in place of the components' defaults; nothing for one's own."""
    file = f"{algorithm}.yaml"
    shipped = algorithm.isidentifier() and files(__name__).joinpath(file).is_file()
    return deepcopy(_parsed(file)) if shipped else {}


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
        raise InputError(f"ablation is {shown(name)}; choose one of {', '.join(ABLATIONS)}")
    content = deepcopy(_parsed(f"ablations/{name}.yaml"))
    variants = (Variant(entry["method"], entry["settings"]) for entry in content["variants"])
    return Ablation(content["title"], tuple(variants))


@cache
def _parsed(file: str) -> Any:
    """Parsed once: a grid asks for the same presets hundreds of times."""
    return parse_yaml(files(__name__).joinpath(file).read_text("utf-8"))
