"""`drspcrl grid`: one line for a mistake, before anything is made."""

import pytest

from drspcrl.cli import main
from drspcrl.cli.grid import Grid


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["papers", "--out", "OUT"], "grid 'papers' is unknown; choose one of ablation-alpha"),
        (["quick"], "--out is missing"),
        (["quick", "--out", "OUT", "--only", "env=Ant"], "--only env=Ant: the grid has Hopper"),
        (["quick", "--out", "OUT", "--jobs", "0"], "jobs is 0; give a whole number of at least 1"),
        (["quick", "--out", "OUT", "--retries", "-1"], "retries is -1"),
        (["quick", "--out", "OUT", "--memory", "lots"], "memory is 'lots'; give bytes such as"),
        (["quick", "--out", "OUT", "--steps", "0"], "steps is 0"),
        (["quick", "--out", "OUT", "--rate", "0", "--plan"], "rate is 0.0"),
        (["quick", "--out", "OUT", "--time-limit", "soon"], "time_limit is 'soon'"),
        (["quick", "--out", "OUT", "--engine", "cloud"], "cloud"),
    ],
)
def test_mistakes(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    given = [str(out) if argument == "OUT" else argument for argument in arguments]
    assert main(["grid", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not out.exists()


def test_a_report_is_not_written_over_something_else(tmp_path, capsys):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "thesis.txt").touch()
    assert main(["grid", "quick", "--out", str(tmp_path)]) == 2
    assert "report" in capsys.readouterr().err
    assert not (tmp_path / "manifest.json").exists()


def test_a_plan_starts_nothing(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["grid", "quick", "--out", str(out), "--plan", "--rate", "6144"]) == 0
    told = capsys.readouterr().out
    assert "6 runs: 6 pending" in told
    assert "training takes 20s from the beginning" in told  # 6 × 20,480 steps / 6,144
    assert not out.exists()


def test_figures_name_what_decided_them(tmp_path):
    grid = Grid("quick", tmp_path, only=("seeds=0", "methods=a:b=1,c"), steps=4096, jobs=2)
    assert grid._command() == (
        f"drspcrl grid quick --out {tmp_path} --only seeds=0 methods=a:b=1,c --steps 4096"
    )
