"""Studies in worlds: their grids load, and what is said of runs is what their numbers are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import piece
from drspcrl.experiments import load_grid
from drspcrl.experiments.grid import parse_grid
from drspcrl.runfolder.runs import Run
from drspcrl.runfolder.tables import Evaluation
from worlds_study import cell, ends, excess, frontier, frontiers, main, numbers_of, share, tables

GRIDS = sorted((Path(piece.__file__).parent / "grids").glob("*.yaml"))
TINY = """
title: A tiny one
groups:
  - algorithm: ppo
    env: Pendulum-v1
    methods: [vanilla, probes_only, "fixed:end_share=0.5", fixed, self_paced, "self_paced:tilt=1"]
    seeds: [100, 101]
    steps: 512
    settings: {rollout_size: 128, minibatches: 2, hidden: [8], epochs: 1}
training: {uncertainty: worlds, log_every: 128, tensorboard: false}
evaluation: {suite: paper, episodes: 1}
"""


RUNS = {"controls": 390, "controls-ball": 240, "controls-ppo": 135, "million": 30, "tilt": 80}
RUNS |= {"literal": 280, "literal-choice": 72}


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_grids_of_studies_load(path):
    grid = load_grid(path)
    least = min(seed for population in grid.populations for seed in population.seeds)
    form = "transitions" if path.stem.startswith("literal") else "worlds"
    assert grid.uncertainty == form
    assert least == (0 if path.stem == "literal" else 100)  # the one by the protocol's own seeds
    assert grid.runs == RUNS[path.stem]


def group(**means: tuple[float, float]) -> Any:
    """Three seeds of each method, whose numbers differ by −1, 0 and 1."""
    names = ("action", "observation", "environment", "calibration_error", "calibration", "premium")
    others = dict.fromkeys((*names, "beta", "price", "epsilon"), 0.5)
    return {
        name.replace("_at_", ":end_share=0."): {
            seed: others | {"none": u + k, "M": m + k}
            for seed, k in zip((5, 6, 7), (-1, 0, 1), strict=True)
        }
        for name, (u, m) in means.items()
    }


CONSTANTS = {"probes_only": (100.0, 40.0), "fixed_at_5": (80.0, 60.0), "fixed": (40.0, 70.0)}


def test_a_frontier_is_the_upper_hull_of_what_nothing_beats():
    points = np.array([[80, 60], [40, 70], [70, 50], [100, 40], [60, 64.9], [20, 65]], float)
    np.testing.assert_array_equal(frontier(points), [[40, 70], [80, 60], [100, 40]])
    raised = np.vstack([points, [[60, 65.1]]])
    np.testing.assert_array_equal(frontier(raised), [[40, 70], [60, 65.1], [80, 60], [100, 40]])


@pytest.mark.parametrize(
    ("unperturbed", "among", "above"),
    [(90.0, 50.0, 0.0), (90.0, 58.0, 8.0), (60.0, 60.0, -5.0), (10.0, 70.0, 0.0), (120.0, 42.0, 2)],
)
def test_an_excess_is_measured_at_the_same_unperturbed_return(unperturbed, among, above):
    """Between constants by the line; beyond them against the nearest, which is beaten there."""
    found = group(**CONSTANTS, self_paced=(unperturbed, among))
    assert excess(found, "self_paced", (6,)) == pytest.approx(above)


def test_frontiers_are_told_with_their_intervals():
    found = group(**CONSTANTS, self_paced=(90.0, 58.0), linear=(60.0, 60.0))
    lines = frontiers({"Hopper-sac": found}, resamples=50).splitlines()
    # All methods of a seed differ by the same: along a line of slope −1 by 2 in every resample.
    assert [line.split(" | ")[1:4] for line in lines[2:]] == [
        ["`self_paced`", "3", "+8"],
        ["`linear`", "3", "-5"],
    ]
    with pytest.raises(SystemExit, match="needs two constants with seeds in common"):
        frontiers({"Hopper-sac": group(fixed=(1.0, 1.0), self_paced=(1.0, 2.0))})


def test_a_change_is_a_share_of_the_same_method_without_it():
    found = group(fixed=(100.0, 50.0)) | {
        "fixed:tilt=1": {5: {"M": 49.0}, 6: {"M": 55.0}, 8: {"M": 1.0}},
        "fixed:pacing=2.0,tilt=1": {5: {"M": 49.0}},
    }
    assert share(found, "fixed:tilt=1", "tilt=1") == cell([100.0, 110.0], 1)
    assert share(found, "fixed", "tilt=1") == "–"
    assert share(found, "fixed:pacing=2.0,tilt=1", "tilt=1") == "–"


def test_numbers_are_means_over_settings_and_of_the_last_quarter():
    kinds = np.array(["none", "none", "action", "action", "environment"])
    levels = np.array([0.0, 0.0, 0.1, 0.2, 0.1])
    returns = np.array([10.0, 20.0, 6.0, 9.0, 3.0])
    table = Evaluation(kinds, levels, levels, returns, levels)
    metrics = {"step": np.arange(1.0, 9.0), "epsilon": np.arange(8.0)}
    run = Run(Path(), "a", "b", "c", 0, "", False, {}, {}, metrics, {"paper": table})
    found = numbers_of(run)
    assert (found["none"], found["action"], found["M"]) == (15.0, 7.5, 6.0)
    assert np.isnan(found["observation"])
    assert (found["epsilon"], np.isnan(found["price"])) == (6.5, True)


@pytest.mark.slow
def test_a_study_from_its_grid_to_its_tables(tmp_path, capsys, monkeypatch):
    """In two calls: the first has no time for anything, the second finishes and packs."""
    import tarfile

    grid, tar = tmp_path / "tiny.yaml", tmp_path / "tiny.tar.xz"
    grid.write_text(TINY, encoding="utf-8")
    line = [str(grid), "--out", str(tmp_path / "runs"), "--tar", str(tar), "--device", "cpu"]
    monkeypatch.setattr(piece, "PACKING", 60.0)
    assert piece.main([*line, "--minutes", "1"]) == piece.UNFINISHED
    assert not tar.exists()
    assert piece.main([*line, "--minutes", "20"]) == 0
    assert tar.stat().st_size < 12 * 15_000
    with tarfile.open(tar) as file:
        file.extractall(tmp_path / "there", filter="data")
    capsys.readouterr()

    def said(*words: str) -> str:
        main([*words, str(tmp_path / "there")])
        return capsys.readouterr().out

    table = said("table", "--less", "tilt=1")
    assert table.count("| `self_paced:tilt=1` | 2 |") == 1
    assert "–" in table
    assert "± " in table.split("`self_paced:tilt=1`")[1].splitlines()[0].rpartition("| ")[0]
    assert "| Pendulum-v1-ppo | `self_paced` | 2 |" in said("frontier")
    second = said("ends", "--steps", "512")
    found = parse_grid(second, "ends", Path())
    assert found.runs == 6
    assert found.populations[0].methods[0].startswith("fixed:end_share=0.")
    assert yaml.safe_load(second)["training"]["worlds"]["law"] == "ball"  # PPO's
    monkeypatch.setattr(piece, "MOST", 10)
    with pytest.raises(SystemExit, match=r"would have .* bytes; pack parts of it"):
        piece.main([*line, "--minutes", "20"])
    assert tar.stat().st_size > 10  # the one from before


def test_tables_have_a_line_for_each_method():
    found = tables({"Hopper-sac": group(**CONSTANTS)})
    assert "| `fixed:end_share=0.5` | 3 | 80 ± 2 |" in found
    assert found.count("`probes_only`") == 2


def test_the_second_stage_wants_self_paced(tmp_path):
    with pytest.raises(SystemExit, match="has no run of self_paced, whose end"):
        ends({}, tmp_path, 1)
