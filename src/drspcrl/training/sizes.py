"""How much memory and disk a training will take, from its configuration alone; without JAX."""

from dataclasses import dataclass

from drspcrl.config.learners import LearnerSettings
from drspcrl.config.transitions import ReplayTransitionSettings, TransitionSettings
from drspcrl.training.config import TrainConfig

_ROW_BYTES = 700  # one row of metrics.csv and its TensorBoard event


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
    observation_size += coordinates
    needed = settings.learner.memory(config.steps, observation_size, action_size)
    learning = needed.learning
    if settings.transitions is not None and not all(member.plain for member in config.members):
        learning += _draws(settings.learner, settings.transitions, observation_size, action_size)
    rows = config.steps // config.log_every + 1
    disk = rows * _ROW_BYTES + needed.policy + needed.checkpoints + 8192
    return Estimate(members * needed.replay, members * learning, members * disk)


def _draws(
    learner: LearnerSettings,
    transitions: TransitionSettings,
    observation_size: int,
    action_size: int,
) -> int:
    """What the worst case over noise draws needs while a member learns.

    One program learns for all members, so plain ones among robust ones need it too. How many
    arrays of a network's width live at once was read off the programs that XLA makes on a CPU.
    """
    draws = 1 if transitions.nominal == "single" else transitions.draws
    moved = transitions.divergence == "wasserstein"  # differentiates with respect to every draw
    layers = 2 if moved else 1
    if isinstance(transitions, ReplayTransitionSettings):
        layers = 7 if moved else 2 if transitions.actor_draws == "one" else 5
    numbers = layers * sum(learner.hidden) + 2 * observation_size + action_size
    return 4 * draws * learner.states_at_once * numbers


def readable(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
