"""Which versions of packages are at work, for what is written down with a result."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def versions_of(packages: Iterable[str], missing: str = "unknown") -> dict[str, str]:
    """Name → version; `missing` for what is not installed, as a source folder on the path is."""
    return {name: _version_of(name, missing) for name in packages}


def _version_of(name: str, missing: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return missing
