"""How much memory and disk a training will take, told before it starts."""

import os
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax

from drspcrl.errors import InputError
from drspcrl.learners.replay import observation_slots
from drspcrl.trainer.config import TrainConfig
from drspcrl.trainer.loop import Device

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
        replay, learning, disk = (_readable(n) for n in (self.replay, self.learning, self.disk))
        return f"replay {replay}, learning {learning}, disk {disk}"


def estimate(config: TrainConfig, observation_size: int, action_size: int) -> Estimate:
    """What a training will take; see `Estimate`."""
    settings, members = config.resolved, len(config.members)
    envs = settings["envs_per_member"]
    sizes = [observation_size + action_size, *settings["hidden"], 2 * action_size]
    weights = sum((a + 1) * b for a, b in pairwise(sizes))
    if config.algorithm == "ppo":
        replay = settings["rollout_size"] * 4 * (3 * observation_size + 2 * action_size + 5)
        learning = 4 * 2 * weights * 4 + 2 * replay
    else:
        rows = -(-min(settings["buffer_size"], config.steps) // envs)
        transition = 4 * action_size + 4 + 1 + 4
        replay = envs * (rows * transition + observation_slots(rows) * 4 * observation_size)
        updates = round(envs * settings["updates_per_step"])
        numbers = 2 * observation_size + action_size + 2
        batches = updates * settings["batch_size"] * numbers * 4
        activations = 8 * settings["batch_size"] * sum(settings["hidden"]) * 4
        # Actor, two critics and their targets, two Adam moments of each, gradients.
        learning = 14 * weights * 4 + 2 * batches + activations
    rows = config.steps // config.log_every + 1
    # Checkpoints share replay blocks but for those that change, and hold the learner twice each
    # while a third is written.
    checkpoints = replay * 5 // 4 + 3 * 14 * weights * 4 if config.algorithm != "ppo" else learning
    disk = rows * _ROW_BYTES + 2 * weights * 4 + checkpoints + 8192
    return Estimate(members * replay, members * learning, members * disk)


def check_room(needed: Estimate, config: TrainConfig, device: Device, memory: Device) -> None:
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
                f"the population needs {_readable(share)} of memory on {place.platform}, "
                f"{_readable(free)} are free; use fewer seeds or methods, a smaller buffer_size"
                + ("" if place.platform == "cpu" else ", or replay_memory=host")
            )
    room = shutil.disk_usage(_existing(config.out)).free
    if needed.disk > room:
        raise InputError(
            f"the runs need {_readable(needed.disk)} of disk, {_readable(room)} are free at "
            f"{config.out}; make room, use fewer seeds or a smaller buffer_size, or raise log_every"
        )


def free_memory(device: Device) -> int | None:
    """Bytes that a device can still give, None where nobody says."""
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


def _readable(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
