"""Versions, machine and commit, for what is written down with a result."""

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def versions_of(packages: Iterable[str], missing: str = "unknown") -> dict[str, str]:
    """Name → version; `missing` for what is not installed, as a source folder on the path is."""
    return {name: _version_of(name, missing) for name in packages}


def _version_of(name: str, missing: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return missing


_PACKAGES = ("drspcrl", "jax", "jaxlib", "numpy", "optax", "mujoco", "gymnasium")


def environment_info(device_kind: str) -> dict[str, Any]:
    """Versions, machine and commit as plain data.

    Args:
        device_kind: what computes, as JAX names it.
    """
    return {
        "versions": {"python": platform.python_version(), **versions_of(_PACKAGES)},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "device": device_kind,
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
