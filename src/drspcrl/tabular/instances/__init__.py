"""Finite MDPs to solve: random ones, classics of robust control, and Gymnasium's own tables."""

from collections.abc import Callable

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.tabular.instances.classic import inventory, machine_replacement, river_swim
from drspcrl.tabular.instances.garnet import garnet
from drspcrl.tabular.instances.toy_text import cliff_walking, from_table, frozen_lake, taxi
from drspcrl.tabular.instances.worlds import crossings, relay
from drspcrl.tabular.mdp import MDP, SparseMDP

INSTANCES: dict[str, Callable[..., MDP | SparseMDP]] = {
    "cliffwalking": cliff_walking,
    "frozenlake": frozen_lake,
    "garnet": garnet,
    "inventory": inventory,
    "machine": machine_replacement,
    "riverswim": river_swim,
    "taxi": taxi,
}

__all__ = [
    "INSTANCES",
    "cliff_walking",
    "crossings",
    "from_table",
    "frozen_lake",
    "garnet",
    "inventory",
    "machine_replacement",
    "make_instance",
    "relay",
    "river_swim",
    "taxi",
]


def make_instance(name: str, discount: float | None = None) -> MDP | SparseMDP:
    """The named instance with its default parameters, and its own discount unless one is given."""
    if name not in INSTANCES:
        raise InputError(f"unknown MDP {shown(name)}; choose one of {', '.join(INSTANCES)}")
    return INSTANCES[name]() if discount is None else INSTANCES[name](discount=discount)
