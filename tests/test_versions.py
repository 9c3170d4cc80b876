"""Versions that are written down with results."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from drspcrl import versions
from drspcrl.evaluation import evaluate


def test_versions_of_what_is_installed():
    assert versions.versions_of(["numpy", "mujoco"]) == {
        "numpy": np.__version__,
        "mujoco": version("mujoco"),
    }


def test_a_source_folder_that_is_not_installed_evaluates(monkeypatch: pytest.MonkeyPatch):
    def installed(name: str) -> str:
        if name == "drspcrl":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(versions, "version", installed)
    table = evaluate(lambda o: np.zeros((len(o), 3)), "Hopper", "quick", episodes=1)
    assert table.info["versions"]["drspcrl"] == "unknown"
    assert table.info["versions"]["numpy"] == np.__version__
