"""Six kinds of parts can be added: from outside as `module:Class`, inside by one file, one line."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import drspcrl
from drspcrl.cli import main
from drspcrl.errors import InputError
from drspcrl.evaluation import load_suite
from drspcrl.runfolder.runs import read_run
from drspcrl.training import resume
from drspcrl.training.transitions import nominal_class

LEARNER, CURRICULUM = "own_parts:Quiet", "own_parts:Stairs"
PARTS = ["divergence=own_parts:HalfChiSquared", "nominal=own_parts:UniformSensor", "calm=0.25"]
TINY = ["hidden=[8]", "batch_size=8", "learning_starts=16", "curriculum_every=32", "sensor=0.1"]
TRUST = [LEARNER, CURRICULUM, "own_parts:HalfChiSquared", "own_parts:UniformSensor"]
HELPERS = Path(__file__).parent / "helpers"


def train_line(out: Path, algorithm: str, *settings: str, methods=(CURRICULUM, "self_paced")):
    line = ["train", "--env", "Pendulum-v1", "--algorithm", algorithm, "--methods", *methods]
    line += ["--steps", "128", "--out", str(out), "--no-tensorboard"]
    return [*line, "--uncertainty", "transitions", "--set", *TINY, *settings]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("own") / "runs"
    assert main(train_line(out, LEARNER, *PARTS)) == 0
    return out


def test_parts_from_outside_train(runs):
    folders = sorted(folder for folder in runs.iterdir() if folder.is_dir())
    assert [folder.name.partition("_Quiet-")[0] for folder in folders] == 2 * [
        "Pendulum-v1-own_parts"
    ]
    stairs = next(read_run(f) for f in folders if read_run(f).method == CURRICULUM)
    assert stairs.algorithm == LEARNER
    assert stairs.config["settings"]["calm"] == 0.25
    assert list(stairs.metrics["epsilon"])[-1] == pytest.approx(0.3)  # after three iterations


def test_what_a_folder_names_is_imported_only_where_the_user_names_it(runs, tmp_path):
    there = tmp_path / "runs"
    shutil.copytree(runs, there)
    quiet = Console(quiet=True)
    for missing in TRUST:
        trust = [name for name in TRUST if name != missing]
        with pytest.raises(InputError, match=f"names '{missing}', whose module"):
            resume(there, steps=160, console=quiet, trust=trust)
    assert len(resume(there, steps=160, console=quiet, trust=TRUST)) == 2


def test_parts_from_outside_are_evaluated_and_reported(runs, tmp_path, capsys):
    assert main(["evaluate", str(runs), "--suite", "own_parts:SUITE", "--episodes", "2"]) == 0
    assert main(["report", str(runs), "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "Quiet" in page
    assert "Stairs" in page
    suite = tmp_path / "mine.yaml"
    suite.write_text("settings: [none, 'own_parts:WeakMotors=0.5']")
    with pytest.raises(InputError, match="the suite names 'own_parts:WeakMotors', whose module"):
        load_suite(suite)
    assert load_suite(suite, trust=["own_parts:WeakMotors"]).labels[1] == "own_parts:WeakMotors=0.5"
    capsys.readouterr()


def test_what_is_no_nominal_model_is_refused():
    with pytest.raises(InputError, match="'json:JSONDecoder' is no subclass of drspcrl"):
        nominal_class("json:JSONDecoder")


def test_a_divergence_from_outside_solves(tmp_path):
    own = ["solve", "--mdp", "riverswim", "--points", "3", "--iterations", "10", "--budget", "0.5"]
    ball = ["--divergence", "own_parts:HalfChiSquared"]
    assert main([*own, *ball, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "frontier.png").exists()


# room: file that is added, the line in its registry, and where that goes
INSIDE = {
    "learner": (
        "learners",
        '        "toy": LearnerEntry("drspcrl.learners.toy:Quiet", "Toy", "a toy", '
        'settings="drspcrl.learners.toy:QuietSettings"),\n',
        "LEARNERS = Registry(",
    ),
    "divergence": (
        "divergences",
        '        "toy": Entry("drspcrl.divergences.toy:HalfChiSquared", "Toy", "a toy"),\n',
        "DIVERGENCES = Registry(",
    ),
    "nominal model": (
        "transitions",
        '        "toy": Entry("drspcrl.transitions.toy:UniformSensor", "Toy", "a toy"),\n',
        "NOMINAL_MODELS = Registry(",
    ),
    "curriculum": (
        "curricula",
        '        "toy": Entry("drspcrl.curricula.toy:Stairs", "Toy", "a toy"),\n',
        "METHODS = Registry(",
    ),
    "perturbation": (
        "perturbations",
        '        "toy": Entry("drspcrl.perturbations.toy:WeakMotors", "Toy", "a toy"),\n',
        "PERTURBATIONS = Registry(",
    ),
}
PROGRAM = """
from drspcrl.cli import main
from drspcrl.perturbations import parse
import sys
assert parse("toy=0.5")[0].wrapper.__name__ == "WeakMotors"
assert main(sys.argv[1:]) == 0
"""


def test_parts_inside_are_one_file_and_one_line_each(tmp_path):
    source = Path(drspcrl.__file__).parent
    copy = tmp_path / "drspcrl"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    own = (HELPERS / "own_parts.py").read_text(encoding="utf-8").partition("SUITE = ")[0]
    for room, line, registry in INSIDE.values():
        (copy / room / "toy.py").write_text(own.replace("from drspcrl.evaluation import Suite", ""))
        (place,) = [f for f in copy.rglob("*.py") if registry in f.read_text("utf-8")]
        before, after = place.read_text("utf-8").split(registry)
        head, brace, rest = after.partition("{\n")
        place.write_text(before + registry + head + brace + line + rest, encoding="utf-8")
    (copy / "evaluation" / "suites" / "toy.yaml").write_text("settings: [none, toy=0.5]")
    changed, added = differences(filecmp.dircmp(source, copy, ignore=["__pycache__"]))
    assert (changed, added) == (len(INSIDE), len(INSIDE) + 1)  # a suite needs no line
    out = tmp_path / "runs"
    line = train_line(out, "toy", "divergence=toy", "nominal=toy", methods=("toy",))
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", PROGRAM, *line], env=environment, check=True)
    run = read_run(out / "Pendulum-v1-toy-toy-s0")
    assert (run.algorithm, run.config["settings"]["calm"]) == ("toy", 0.5)


def differences(found: filecmp.dircmp) -> tuple[int, int]:
    """How many files differ in two folders, and how many are in the second alone."""
    below = [differences(one) for one in found.subdirs.values()]
    changed, added = (sum(numbers) for numbers in zip(*below, strict=True)) if below else (0, 0)
    return changed + len(found.diff_files), added + len(found.right_only)
