"""How much memory and disk a training takes, and whether it fits, before it starts."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drspcrl.config.learners import LearnerSettings
from drspcrl.config.transitions import ReplayTransitionSettings, TransitionSettings
from drspcrl.errors import InputError
from drspcrl.training.config import TrainConfig

Device = Any  # of JAX, which an estimate need not load
_ROW_BYTES = 700  # one row of metrics.csv and its TensorBoard event


@dataclass(frozen=True)
class MemoryEstimate:
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
) -> MemoryEstimate:
    """What a training will take; see `MemoryEstimate`.

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
    return MemoryEstimate(members * needed.replay, members * learning, members * disk)


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


def check_room(needed: MemoryEstimate, config: TrainConfig, device: Device, memory: Device) -> None:
    """Raise an `InputError` if a training cannot fit.

    Args:
        needed: what it takes.
        config: the training.
        device: where it learns.
        memory: where its replay lives.
    """
    shares: dict[Any, int] = {device: needed.learning}
    shares[memory] = shares.get(memory, 0) + needed.replay
    for place, share in shares.items():
        free = free_memory(place)
        if free is not None and share > free:
            raise InputError(
                f"the population needs {readable(share)} of memory on {place.platform}, "
                f"{readable(free)} are free; use fewer seeds or methods, a smaller buffer_size"
                + ("" if place.platform == "cpu" else ", or replay_memory=host")
            )
    room = shutil.disk_usage(_existing(config.out)).free
    if needed.disk > room:
        raise InputError(
            f"the runs need {readable(needed.disk)} of disk, {readable(room)} are free at "
            f"{config.out}; make room, use fewer seeds or a smaller buffer_size, or raise log_every"
        )


def free_memory(device: Device) -> int | None:
    """Free bytes on the device, or None if unknown."""
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        return stats["bytes_limit"] - stats["bytes_in_use"] if "bytes_limit" in stats else None
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        pages = "SC_AVPHYS_PAGES"
        if pages not in os.sysconf_names:
            return None
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


def choose_devices(config: TrainConfig) -> tuple[Device, Device]:
    """Where to learn and where replay lives.

    Raises:
        InputError: a GPU is asked for and JAX finds none.
    """
    import jax

    try:
        device = jax.devices(None if config.device == "auto" else config.device)[0]
    except RuntimeError:
        raise InputError(
            f"device is {config.device!r}, and JAX finds none; use cpu, or install drspcrl[cuda]"
        ) from None
    return device, jax.devices("cpu")[0] if config.replay_memory == "host" else device


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def ask_for_determinism() -> None:
    """Read when JAX first finds its devices, so a process that has already computed is too late."""
    flag = "--xla_gpu_deterministic_ops=true"
    flags = os.environ.get("XLA_FLAGS", "")
    if flag not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()
