import io
import sys

import numpy as np
import pytest

from drspcrl.evaluation import Suite, evaluate

ONE = Suite("one", [None])


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def play(counter):
    def run(show):
        evaluate(lambda o: np.ones((len(o), 1)), counter, ONE, episodes=30, show=show)

    return run


def test_a_bar_on_a_terminal(play, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setenv("TERM", "xterm")
    play("bar")
    assert isinstance(sys.stderr, Screen)
    assert "30/30" in sys.stderr.getvalue()
    assert "steps/s" in sys.stderr.getvalue()


def test_lines_or_nothing_elsewhere(play, capsys):
    for show in ("bar", None):
        play(show)
        assert capsys.readouterr() == ("", "")
    play("lines")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Counter: 30 of 30 episodes, ")
