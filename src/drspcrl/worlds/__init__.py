"""Uncertainty drawn once an episode: what may differ, by how much, and which world comes next.

A *world* is what differs between the simulator and reality and stays for an episode. In units of
the declared tolerances it is a vector f = r·u: a radius r and a unit draw u; f = 0 is the
simulator. `Declared` is what a user says, `WorldModel` what it means on one task, `EpisodeWorlds`
puts a batch of environments into worlds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A configuration needs what is declared, and must not load a simulator for it.
_EXPORTS = {
    "Declared": "drspcrl.worlds.declare",
    "EpisodeWorlds": "drspcrl.worlds.episodes",
    "Parameter": "drspcrl.worlds.declare",
    "Range": "drspcrl.worlds.declare",
    "SetWorld": "drspcrl.worlds.own",
    "WorldModel": "drspcrl.worlds.model",
    "declared": "drspcrl.worlds.declare",
    "read_declared": "drspcrl.worlds.declare",
    "world_model": "drspcrl.worlds.model",
}

__all__ = [
    "Declared",
    "EpisodeWorlds",
    "Parameter",
    "Range",
    "SetWorld",
    "WorldModel",
    "declared",
    "read_declared",
    "world_model",
]

if TYPE_CHECKING:
    from drspcrl.worlds.declare import Declared, Parameter, Range, declared, read_declared
    from drspcrl.worlds.episodes import EpisodeWorlds
    from drspcrl.worlds.model import WorldModel, world_model
    from drspcrl.worlds.own import SetWorld


if not TYPE_CHECKING:  # a checker would take every name for Any

    def __getattr__(name: str) -> Any:
        if name in _EXPORTS:
            return getattr(import_module(_EXPORTS[name]), name)
        raise AttributeError(f"module 'drspcrl.worlds' has no attribute {name!r}")
