"""Uncertainty drawn once an episode: what may differ, by how much, and which world comes next.

A *world* is what differs between the simulator and reality and stays for an episode. In units of
the declared tolerances it is a vector f = r·u: a radius r and a unit draw u; f = 0 is the
simulator. `WorldModel` says what the coordinates mean, `EpisodeWorlds` puts a batch of environments
into worlds.
"""

from drspcrl.worlds.declare import Declared, Parameter, declared, read_declared
from drspcrl.worlds.episodes import EpisodeWorlds
from drspcrl.worlds.model import WorldModel

__all__ = [
    "Declared",
    "EpisodeWorlds",
    "Parameter",
    "WorldModel",
    "declared",
    "read_declared",
]
