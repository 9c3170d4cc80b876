"""`drspcrl doctor` tells what works and fails where something does not."""

import sys

import pytest

from drspcrl.cli import main
from drspcrl.cli.doctor import SELF_TESTS, _draws


def test_doctor_finds_everything_in_order(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for finding in (
        "mujoco",
        "JAX devices",
        "graphics",
        "worst case of a coin is exact",
        "Hoppers",
    ):
        assert finding in printed


def test_doctor_fails_when_a_self_test_fails(capsys, monkeypatch):
    def broken():
        raise ArithmeticError("1 + 1 = 3")

    monkeypatch.setitem(SELF_TESTS, "self-test: arithmetic", broken)
    with pytest.raises(SystemExit) as stop:
        main(["doctor"])
    assert stop.value.code == 1
    assert "failed: ArithmeticError: 1 + 1 = 3" in capsys.readouterr().out


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere GLFW needs no display")
def test_a_backend_that_draws_nothing_does_not_work(monkeypatch):
    """Without a display, GLFW makes a context all the same."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not _draws("glfw")
