"""Uncertainty drawn once an episode: what may differ, by how much, and which world comes next.

A *world* is what differs between the simulator and reality and stays for an episode. In units of
the declared tolerances it is a vector f = r·u: a radius r and a unit draw u; f = 0 is the
simulator. `Declared` is what a user says, `WorldModel` what it means on one task, `EpisodeWorlds`
puts a batch of environments into worlds.
"""

from drspcrl.worlds.declare import Declared, Parameter, declared, read_declared
from drspcrl.worlds.episodes import EpisodeWorlds
from drspcrl.worlds.model import WorldModel, world_model
from drspcrl.worlds.own import SetWorld

__all__ = [
    "Declared",
    "EpisodeWorlds",
    "Parameter",
    "SetWorld",
    "WorldModel",
    "declared",
    "read_declared",
    "world_model",
]
