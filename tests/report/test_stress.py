"""The report's section about what `drspcrl stress` found."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import spiral

from drspcrl.evaluation.stress import stress
from drspcrl.report.collected import collect
from drspcrl.report.page import render_page
from drspcrl.report.tables import COLUMNS, stress_table
from drspcrl.runfolder.runs import read_runs


@pytest.fixture
def runs(synthetic, tmp_path) -> Path:
    root = tmp_path / "runs"
    synthetic.write_runs(
        root, tasks=["Hopper"], algorithms=["sac"], methods=["vanilla"],
        seeds=2, rows=5, episodes=2,
    )  # fmt: skip
    return root


@pytest.fixture(scope="module")
def result():
    return stress(
        spiral.act, spiral.Spiral, spiral.WORLDS, limit=0.0,
        parameters=["gain", "twist"], budget=320, episodes=1, show=None,
    )  # fmt: skip


def test_a_row_for_each_run_that_was_stressed(runs, result):
    folder = read_runs(runs).runs[0].path
    (folder / "stress.json").write_text(json.dumps(result.record()))
    table = stress_table(read_runs(runs).runs)
    ((run, nominal, limit, near, parts, near_return, worst, returns),) = table.rows
    assert len(COLUMNS) == 8
    assert run == "Hopper, SAC, Vanilla, seed 0"
    assert nominal == "38.18 [38.18, 38.18]"
    assert (limit, near[:2]) == ("0", "3.")
    assert "twist 0." in parts
    assert "gain 0." in parts
    assert float(near_return.split()[0]) < 0
    assert worst.startswith("2: twist 0.7")
    assert returns.startswith("35.")
    page = render_page(collect(runs, None, "the command"))
    assert '"rows":[["Hopper, SAC, Vanilla, seed 0"' in page


def test_no_failing_world_is_said(runs, result):
    folder = read_runs(runs).runs[0].path
    (folder / "stress.json").write_text(json.dumps(replace(result, nearest=None).record()))
    (row,) = stress_table(read_runs(runs).runs).rows
    assert row[3:6] == ("none within 5", "–", "–")


def test_a_nearest_world_that_holds_with_fresh_episodes_is_said(runs, result):
    folder = read_runs(runs).runs[0].path
    above = replace(result.nearest.above, value=3.0, low=1.0, high=5.0)
    doubtful = replace(result, nearest=replace(result.nearest, above=above))
    (folder / "stress.json").write_text(json.dumps(doubtful.record()))
    (row,) = stress_table(read_runs(runs).runs).rows
    assert row[3].endswith(" (but holds with fresh episodes)")
    assert "with fresh episodes the nearest failing world does not fail" in str(doubtful)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "cannot be read"),
        ("[1]", "is no result of drspcrl stress"),
        ('{"kind": "drspcrl stress", "format_version": 2}', "has format_version 2"),
        ('{"kind": "drspcrl stress", "format_version": 1}', "is damaged"),
    ],
)
def test_a_damaged_file_is_named(runs, content, why):
    folder = read_runs(runs).runs[0].path
    (folder / "stress.json").write_text(content)
    table = stress_table(read_runs(runs).runs)
    assert not table.rows
    assert len(table.notes) == 1
    assert why in table.notes[0]
    assert why in render_page(collect(runs, None, "the command"))
