"""Variants of one method: their names, their order, and the figure that they make."""

import numpy as np
import pytest
import yaml

from drspcrl.report import write_report
from drspcrl.report.figures.methods import Family, families
from drspcrl.report.names import method_label, ordered_methods
from drspcrl.runfolder.runs import read_runs

ALPHA = ("self_paced:pacing=0.1", "self_paced:pacing=1", "self_paced:pacing=10")


def test_variants_with_the_same_settings_are_a_family():
    fixed = ("fixed:epsilon_budget=0.1", "fixed:epsilon_budget=3")
    lonely = ("accel:rate=1", "self_paced:pacing=1,rate=3", "vanilla", "a=b", "x:y")
    found = families([*reversed(ALPHA), *fixed, *lonely])
    assert found == [
        Family("fixed", ("epsilon_budget",), fixed),
        Family("self_paced", ("pacing",), ALPHA),
    ]


def test_numbers_are_ordered_as_numbers():
    given = ["self_paced:pacing=10", "self_paced:pacing=3", "own", "self_paced", "vanilla"]
    assert ordered_methods(given) == [
        "vanilla",
        "self_paced",
        "own",
        "self_paced:pacing=3",
        "self_paced:pacing=10",
    ]


@pytest.mark.parametrize(
    ("method", "label"),
    [
        ("self_paced", "Self-Paced"),
        ("self_paced:pacing=0.1", "Self-Paced α=0.1"),
        ("fixed:epsilon_budget=3", "Fixed ε=3"),
        ("self_paced:divergence=tv,epsilon_budget=0.5", "Self-Paced TV, ε=0.5"),
        ("mine:rate=1", "mine:rate=1"),
        ("a=b", "a=b"),
    ],
)
def test_labels(method, label):
    assert method_label(method) == label


def write(synthetic, out, methods, **more):
    synthetic.write_runs(
        out, tasks=["Hopper"], methods=methods, seeds=2, rows=20, episodes=2, **more
    )


def test_a_report_shows_what_a_setting_does(synthetic, tmp_path):
    from matplotlib.image import imread

    write(synthetic, tmp_path / "runs", ["vanilla", *ALPHA])
    write_report(tmp_path / "runs", tmp_path / "report")
    figures = tmp_path / "report" / "figures"
    (name,) = (path.stem for path in figures.glob("ablation-*.png"))
    assert name == "ablation-self-paced-pacing"
    assert (figures / f"{name}.svg").exists()
    picture = imread(figures / f"{name}.png")[..., :3]
    assert picture.shape[0] > picture.shape[1] * 0.6  # three learners, one below the other
    for colour in ("#4d4d4d", "#f0a04b", "#963484", "#10243e"):
        wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert (np.abs(picture - wanted).max(axis=-1) < 0.01).sum() > 100


def with_settings(root, **settings):
    """Say in every config.yaml below a folder what its population was trained with."""
    for file in root.rglob("config.yaml"):
        config = yaml.safe_load(file.read_text()) | {"settings": {"rate": 2.0, **settings}}
        file.write_text(yaml.safe_dump(config))


def test_populations_of_other_settings_are_told_apart(synthetic, tmp_path):
    for ball in ("kl", "tv"):
        write(synthetic, tmp_path / ball, ["self_paced", "vanilla"], algorithms=["sac"])
        with_settings(tmp_path / ball, divergence=ball)
    synthetic.write_run(tmp_path / "kl", "Hopper", "sac", "self_paced", 0, folder="twin")
    with_settings(tmp_path / "kl", divergence="kl")
    synthetic.write_run(tmp_path, "Hopper", "sac", "linear", 0, folder="alone")
    found = read_runs(tmp_path)
    assert {run.method for run in found.runs} == {
        "linear",
        "self_paced:divergence=kl",
        "self_paced:divergence=tv",
        "vanilla:divergence=kl",
        "vanilla:divergence=tv",
    }
    assert len(found.runs) == 9
    assert [skip.path.name for skip in found.skipped] == ["twin"]
