"""`drspcrl.plot`: the report's figures from a folder of runs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from report_runs import foreign_run, rewrite

from drspcrl import InputError, plot

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """One learner in worlds, three methods and two seeds, on two tasks; a policy from elsewhere."""
    spec = importlib.util.spec_from_file_location(
        "synthetic_runs", ROOT / "scripts" / "synthetic_runs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    synthetic = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(synthetic)
    root = tmp_path_factory.mktemp("plot") / "runs"
    synthetic.write_runs(
        root, tasks=["Hopper", "HalfCheetah"], algorithms=["sac"],
        methods=["vanilla", "linear", "self_paced"], seeds=2, rows=12, episodes=2,
    )  # fmt: skip
    for file in root.rglob("metrics.csv"):
        rewrite(file, lambda row: row | {"price": row["epsilon"]})
    foreign_run(synthetic, root, "Hopper", "mine")
    return root


@pytest.fixture(scope="module")
def read(runs) -> plot.Runs:
    return plot.read(runs)


def panels(figure) -> list[str]:
    """The titles of the panels that are seen."""
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_what_was_read(read):
    assert read.algorithms == ["sac"]
    assert read.tasks == ["HalfCheetah", "Hopper"]
    assert read.methods == ["vanilla", "linear", "self_paced", "mine"]
    assert read.suites == ["paper"]


def test_learning_curves_are_the_seeds_and_their_mean(runs, read):
    figure = plot.learning_curves(runs)
    assert panels(figure) == ["HalfCheetah", "Hopper"]
    assert labels(figure) == ["Vanilla", "Linear", "Self-Paced"]
    lines = figure.axes[0].get_lines()
    assert len(lines) == 3 * (2 + 1)
    one, other, mean = (np.asarray(line.get_ydata(), float) for line in lines[:3])
    assert (one + other) / 2 == pytest.approx(mean)
    for draw, label in ((plot.radius, "ε"), (plot.price, "price")):
        figure = draw(read, tasks=["Hopper"], methods=["self_paced", "linear"])
        assert panels(figure) == ["Hopper"]
        assert labels(figure) == ["Linear", "Self-Paced"]
        assert figure.axes[0].get_ylabel() == label


def test_evaluations_by_level_and_method(read):
    figure = plot.levels(read, tasks=["Hopper"])
    assert labels(figure) == ["Vanilla", "Linear", "Self-Paced", "mine"]
    assert len(figure.axes) == 3  # kinds of perturbation
    assert panels(plot.levels(read, tasks="Hopper", suite="paper")) == panels(figure)
    side = plot.methods(read)
    assert panels(side) == ["HalfCheetah", "Hopper"]
    names = [label.get_text() for label in side.axes[1].get_yticklabels()]
    assert names == ["mine", "Self-Paced", "Linear", "Vanilla"]
    assert panels(plot.frontier(read, methods=["vanilla", "mine"])) == ["HalfCheetah", "Hopper"]
    assert panels(plot.profiles(read)) == ["SAC"]
    assert "P(Self-Paced > rival)" in plot.improvement(read).axes[0].get_xlabel()
    assert "P(mine > rival)" in plot.improvement(read, "mine").axes[0].get_xlabel()


def test_a_figure_is_saved_as_any_other(read, tmp_path):
    figure = plot.methods(read, tasks=["Hopper"])
    for name in ("figure.png", "figure.pdf", "figure.svg"):
        figure.savefig(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5_000


@pytest.mark.parametrize(
    ("draw", "choice", "why"),
    [
        ("learning_curves", {"metric": "loss"}, "metric is 'loss'; choose one of episode_return"),
        ("learning_curves", {"algorithm": "ppo"}, "algorithm is 'ppo'; choose of sac"),
        ("learning_curves", {"tasks": ["Ant"]}, "task is 'Ant'; choose of HalfCheetah, Hopper"),
        ("learning_curves", {"methods": ["mine"]}, "nothing to draw: no training of these runs"),
        ("levels", {"methods": ["accel"]}, "method is 'accel'; choose of vanilla, linear"),
        ("levels", {"suite": "quick"}, "suite is 'quick'; choose of paper"),
        ("profiles", {"methods": ["linear"]}, None),
        ("improvement", {"method": "fixed"}, "Fixed has no other method to compare with"),
    ],
)
def test_what_is_not_there_is_said(read, draw, choice, why):
    if why is None:  # one task needs no common scale, two do
        with pytest.raises(InputError, match="common scale"):
            getattr(plot, draw)(read, **choice)
        assert panels(getattr(plot, draw)(read, tasks=["Hopper"], **choice)) == ["SAC"]
        return
    with pytest.raises(InputError, match=why):
        getattr(plot, draw)(read, **choice)


def test_several_learners_ask_for_one(read, tmp_path):
    both = plot.Runs(
        read.folder, (*read.runs, *(type(r)(**{**vars(r), "algorithm": "ppo"}) for r in read.runs))
    )
    with pytest.raises(InputError, match="several learners; say algorithm='ppo', of ppo, sac"):
        plot.levels(both)
    assert panels(plot.profiles(both, algorithm="ppo")) == ["PPO"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no readable run"):
        plot.levels(tmp_path / "empty")


def test_neither_jax_nor_pyplot(runs):
    code = (
        "import sys; from drspcrl import plot; assert 'matplotlib' not in sys.modules; "
        f"plot.levels({str(runs)!r}); "
        "sys.exit('jax' in sys.modules or 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
