"""Whether a training fits into memory and onto the disk, told before it starts."""

import os
import shutil
from pathlib import Path
from typing import Any

import jax

from drspcrl.errors import InputError
from drspcrl.training.config import TrainConfig
from drspcrl.training.loop import Device
from drspcrl.training.sizes import Estimate, estimate, readable

__all__ = ["check_room", "choose_devices", "estimate", "free_memory"]


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
