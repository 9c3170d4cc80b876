"""What a run was made with: versions, machine, commit."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from drspcrl.training.loop import Device
from drspcrl.versions import versions_of

_PACKAGES = ("drspcrl", "jax", "jaxlib", "numpy", "optax", "mujoco", "gymnasium")


def facts(device: Device) -> dict[str, Any]:
    """Versions, machine and commit as plain data."""
    return {
        "versions": {"python": platform.python_version(), **versions_of(_PACKAGES)},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "device": device.device_kind,
        },
        "commit": _commit(),
    }


def version_changes(before: Any) -> list[str]:
    """What was another version when a run was begun, e.g. "mujoco 4.0.0 (it was 3.3.7)"."""
    known = before if isinstance(before, dict) else {}
    now = {"python": platform.python_version(), **versions_of(_PACKAGES)}
    return [
        f"{name} {version} (it was {known[name]})"
        for name, version in now.items()
        if name in known and known[name] != version
    ]


def _commit() -> str | None:
    """The commit of the source this package runs from, None for an installed one."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
