"""How much memory and disk a training will take, from its configuration alone; without JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from drspcrl.learners.slots import observation_slots
from drspcrl.trainer.config import TrainConfig

_ROW_BYTES = 700  # one row of metrics.csv and its TensorBoard event
# Networks and their targets, two Adam moments of each that learns, gradients: SAC has an actor and
# two critics with targets, TD3 a target of the actor besides, DDPG that and a critic less.
_NETWORKS = {"sac": 14, "td3": 15, "ddpg": 10}


@dataclass(frozen=True)
class Estimate:
    """Bytes of a whole population.

    Attributes:
        replay: replay buffers, or rollouts.
        learning: parameters, optimisers, batches and what an update needs in between.
        disk: everything the run folders will hold.
    """

    replay: int
    learning: int
    disk: int

    def __str__(self) -> str:
        replay, learning, disk = (readable(n) for n in (self.replay, self.learning, self.disk))
        return f"replay {replay}, learning {learning}, disk {disk}"


def estimate(
    config: TrainConfig, observation_size: int, action_size: int, coordinates: int = 0
) -> Estimate:
    """What a training will take; see `Estimate`.

    Args:
        config: the training.
        observation_size: the task's own readings.
        action_size: numbers in an action.
        coordinates: of the world, which critics see behind the readings; 0 without worlds.
    """
    settings, members = config.resolved, len(config.members)
    envs = settings["envs_per_member"]
    observation_size += coordinates
    sizes = [observation_size + action_size, *settings["hidden"], 2 * action_size]
    weights = sum((a + 1) * b for a, b in pairwise(sizes))
    if config.algorithm == "ppo":
        parameters = 4 * 2 * weights * 4
        replay = settings["rollout_size"] * 4 * (3 * observation_size + 2 * action_size + 5)
        learning = parameters + 2 * replay
    else:
        rows = -(-min(settings["buffer_size"], config.steps) // envs)
        transition = 4 * action_size + 4 + 1 + 4
        replay = envs * (rows * transition + observation_slots(rows) * 4 * observation_size)
        updates = round(envs * settings["updates_per_step"])
        numbers = 2 * observation_size + action_size + 2
        batches = updates * settings["batch_size"] * numbers * 4
        activations = 8 * settings["batch_size"] * sum(settings["hidden"]) * 4
        parameters = _NETWORKS[config.algorithm] * weights * 4
        learning = parameters + 2 * batches + activations
    rows = config.steps // config.log_every + 1
    # Checkpoints share replay blocks but for those that change, and hold the learner twice each
    # while a third is written.
    checkpoints = learning if config.algorithm == "ppo" else replay * 5 // 4 + 3 * parameters
    transitions = config.uncertainty == "transitions"
    if transitions and not all(member.plain for member in config.members):
        learning += _draws(settings, observation_size, action_size)
    disk = rows * _ROW_BYTES + 2 * weights * 4 + checkpoints + 8192
    return Estimate(members * replay, members * learning, members * disk)


def _draws(settings: Mapping[str, Any], observation_size: int, action_size: int) -> int:
    """What the worst case over noise draws needs while a member learns.

    One program learns for all members, so plain ones among robust ones need it too. How many
    arrays of a network's width live at once was read off the programs that XLA makes on a CPU.
    """
    draws = settings["draws"] if settings["nominal"] == "noise" else 1
    moved = settings["divergence"] == "wasserstein"  # differentiates with respect to every draw
    if "batch_size" in settings:
        states = settings["batch_size"] * 33 // 32
        layers = 7 if moved else 2 if settings["actor_draws"] == "one" else 5
    else:
        states, layers = settings["rollout_size"], 2 if moved else 1
    numbers = layers * sum(settings["hidden"]) + 2 * observation_size + action_size
    return 4 * draws * states * numbers


def readable(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
