"""A grid of a user's own environment: planned, trained, continued and evaluated."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from drspcrl.errors import InputError
from drspcrl.experiments.engine import Task
from drspcrl.experiments.grid import load_grid
from drspcrl.experiments.manifest import Manifest, Piece
from drspcrl.experiments.run import Options, plan_grid
from drspcrl.experiments.worker import work
from drspcrl.runfolder.runs import read_runs

MODULE = """
import os
import own_environments

os.chdir(os.path.expanduser("~"))

def tank_of_a_grid():
    os.chdir("/")
    return own_environments.make_tank()
"""


@pytest.fixture
def file(tmp_path, monkeypatch, tiny) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "grid_module", raising=False)
    Path("grid_module.py").write_text(MODULE)
    path = Path("own.yaml")
    text = tiny(methods="vanilla", seeds="3").replace("probe/noise", "grid_module:tank_of_a_grid")
    path.write_text(text)
    return path


def test_a_grid_is_planned_in_the_directory_it_was_begun_in(file, tmp_path):
    lines = plan_grid(load_grid(str(file)), Path("out"), Options())
    assert any("grid_module" in line for line in lines)
    assert Path.cwd() == tmp_path


def test_its_pieces_are_trained_continued_and_evaluated(file, tmp_path):
    grid = load_grid(str(file))
    (population,) = grid.populations
    evaluation = {"suite": "paper", "episodes": 1}
    machine = {"device": "cpu", "threads": 1}
    task = {"piece": "one", "population": population.plain(), "out": str(tmp_path / "out")}
    task |= {"machine": machine, "evaluation": evaluation}
    first = work(vars(Task(**task, time_limit=1e-3)))
    assert first["status"] == "interrupted"
    second = work(vars(Task(**task)))
    assert (second["status"], second["error"]) == ("done", "")
    (run,) = read_runs(tmp_path / "out").runs
    assert (run.environment, run.status) == ("grid_module:tank_of_a_grid", "finished")
    assert "paper" in run.evaluations


def test_what_only_the_manifest_names_is_not_imported(file, tmp_path):
    grid = load_grid(str(file))
    (population,) = grid.populations
    Path("never_imported.py").write_text("raise SystemExit")
    forged = replace(population, env="never_imported:Id-v0")
    pieces = {"forged": Piece.new(forged), "own": Piece.new(population)}
    out = tmp_path / "out"
    out.mkdir()
    Manifest(out, pieces, "noise").save()
    assert "never_imported:Id-v0" in (out / "manifest.json").read_text()
    with pytest.raises(InputError, match="--trust never_imported:Id-v0"):
        plan_grid(grid, out, Options())
    assert "never_imported" not in sys.modules
