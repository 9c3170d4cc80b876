"""The notebooks run top to bottom, as notebooks: cells in their order, nothing hidden."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import sb3_files

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "examples" / "notebooks"
SMALLER = {"STEPS = 50_000": "STEPS = 2_048", "EPISODES = 8": "EPISODES = 2"}


def cells_of(name: str) -> list[str]:
    """The code cells of a notebook, after it was written as .ipynb and read again."""
    jupytext = pytest.importorskip("jupytext")
    notebook = jupytext.reads(jupytext.writes(jupytext.read(NOTEBOOKS / name), "ipynb"), "ipynb")
    assert notebook.cells[0].cell_type == "markdown"
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def run(name: str) -> dict:
    names: dict = {"__name__": "__main__"}
    for cell in cells_of(name):
        for long, short in (SMALLER | {"EPISODES = 20": "EPISODES = 2"}).items():
            cell = cell.replace(long, short)
        exec(compile(cell, name, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("notebook_tank", None)
    plt.close("all")


def test_every_notebook_has_a_test():
    names = {path.name for path in NOTEBOOKS.glob("*.py")}
    assert names == {"own_simulator.py", "results_in_pandas.py", "sb3_policy.py"}


@pytest.mark.slow
def test_own_simulator(folder, capsys):
    run("own_simulator.py")
    assert "worst world" in capsys.readouterr().out
    assert (folder / "tank.npz").is_file()


@pytest.mark.slow
def test_sb3_policy(folder, capsys):
    sb3_files.save_model(folder / "hopper.zip", sb3_files.ppo(11, 3))
    run("sb3_policy.py")
    assert "under observation noise it keeps" in capsys.readouterr().out
    assert (folder / "sb3-report" / "index.html").is_file()


def test_results_in_pandas(folder):
    pytest.importorskip("pandas")
    (folder / "studies").symlink_to(ROOT / "studies")
    table = run("results_in_pandas.py")["table"]
    # As in the table of docs/results: self_paced keeps more under observation noise.
    assert table.loc["self_paced", "observation"] > table.loc["vanilla", "observation"]
    assert {"vanilla", "nominal", "self_paced"} <= set(table.index)
