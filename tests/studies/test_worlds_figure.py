"""The picture of a family of worlds, made by the script that the documentation names."""

import sys

import matplotlib.image
import numpy as np

import worlds_figure


def test_the_script_draws_the_picture_and_prints_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(worlds_figure, "POINTS", 21)
    monkeypatch.setattr(worlds_figure, "UPDATES", 60)
    target = tmp_path / "worlds.png"
    monkeypatch.setattr(sys, "argv", ["worlds_figure.py", str(target)])
    worlds_figure.main()
    picture = matplotlib.image.imread(target)
    assert picture.shape[1] > 1000
    assert np.ptp(picture[..., :3]) > 0.5  # something is on it
    assert target.stat().st_size < 150_000
    assert [path.name for path in tmp_path.iterdir()] == ["worlds.png"]
    printed = capsys.readouterr().out
    assert "root at 0.5507, stable\nkink at 0.9036, unstable\nupper at 1.0000, stable" in printed
    assert "| self_paced | bridge | 4.35 |" in printed
