"""Runs in worlds and in transitions are never one group, and are called what they are."""

import csv

import pytest
import yaml

from drspcrl.report import write_report
from drspcrl.report.collected import collect
from drspcrl.report.names import algorithm_label, method_in, method_label, ordered_algorithms
from drspcrl.runfolder.runs import read_runs

METHODS = ("vanilla", "fixed", "domain_randomization", "self_paced")


def write(synthetic, root, form: str, methods=METHODS, algorithms=("sac",)) -> None:
    """Synthetic runs of one form, as if trained with it."""
    tasks = ["Hopper"]
    synthetic.write_runs(
        root, tasks=tasks, algorithms=algorithms, methods=methods, seeds=2, rows=10, episodes=2
    )
    for file in root.rglob("config.yaml"):
        config = yaml.safe_load(file.read_text()) | {"uncertainty": form}
        config["settings"] = {"rule": "price" if form == "worlds" else "coordinate"}
        file.write_text(yaml.safe_dump(config))


@pytest.fixture(scope="module")
def both(synthetic, tmp_path_factory):
    """The same methods and seeds in both forms, and PPO in transitions alone."""
    root = tmp_path_factory.mktemp("both")
    write(synthetic, root / "worlds", "worlds", (*METHODS, "probes_only"))
    write(synthetic, root / "transitions", "transitions", algorithms=("sac", "ppo"))
    return root


def test_runs_of_one_name_are_two_where_their_uncertainty_differs(both):
    found = read_runs(both)
    assert not found.skipped
    assert len(found.runs) == 10 + 16
    assert {run.method for run in found.runs} == {*METHODS, "probes_only"}


def test_a_run_that_does_not_say_so_is_of_transitions(small_runs):
    assert {run.uncertainty for run in read_runs(small_runs).runs} == {"transitions"}
    made = collect(small_runs, None, "")
    assert made.algorithms == ["ppo", "sac"]
    assert made.methods == ["vanilla", "fixed", "self_paced"]


def test_both_forms_are_groups_of_their_own(both):
    made = collect(both, "paper", "")
    assert made.algorithms == ["ppo:transitions", "sac:transitions", "sac:worlds"]
    results = made.results["paper"]
    assert results.methods("sac:transitions") == list(METHODS)
    assert results.methods("sac:worlds") == [
        *("vanilla", "probes_only", "fixed_radius", "random_radius", "self_paced")
    ]
    assert {cell.n for cell in results.cells.values()} == {2}
    assert set(made.curves) == {(a, "Hopper") for a in made.algorithms}
    # The paper's own numbers are of transitions.
    shared = made.headlines["paper"]["ours, shared with the paper"]
    assert set(shared.wins) == {"ppo:transitions", "sac:transitions"}


def test_a_report_of_both_says_which(both, tmp_path):
    write_report(both, tmp_path / "report", compare="paper")
    tables = tmp_path / "report" / "tables"
    names = {path.stem for path in tables.glob("results-*.md")}
    assert names == {
        f"results-{name}" for name in ("ppo-transitions", "sac-transitions", "sac-worlds")
    }
    means = (tables / "means.md").read_text()
    assert "Hopper, SAC · worlds" in means
    assert "Hopper, SAC · transitions" in means
    for label in ("Dom. Rand. (fixed radius)", "Random radius", "Probes only"):
        assert label in (tables / "results-sac-worlds.md").read_text()
        assert label not in (tables / "results-sac-transitions.md").read_text()
    with open(tables / "cells.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == "sac:worlds"]
    assert {row["method"] for row in rows} >= {"fixed_radius", "random_radius"}
    assert r"SAC \u00b7 worlds" in (tmp_path / "report" / "index.html").read_text()


def test_worlds_alone_need_no_word_beside_the_learner(synthetic, tmp_path):
    write(synthetic, tmp_path, "worlds")
    made = collect(tmp_path, None, "")
    assert made.algorithms == ["sac"]
    assert made.methods == ["vanilla", "fixed_radius", "random_radius", "self_paced"]


def test_names():
    assert method_in("fixed:epsilon_budget=0.3", "worlds") == "fixed_radius:epsilon_budget=0.3"
    assert method_in("fixed:epsilon_budget=0.3", "transitions") == "fixed:epsilon_budget=0.3"
    assert method_in("self_paced", "worlds") == "self_paced"
    assert method_in("a:b=", "worlds") == "a:b="  # a name that somebody else gave
    label = method_label("fixed_radius:epsilon_budget=0.3")
    assert label == "Dom. Rand. (fixed radius) ε=0.3"
    assert algorithm_label("sac:worlds") == "SAC · worlds"
    names = ["own", "td3", "ddpg:worlds", "ppo:worlds", "ppo:transitions"]
    ordered = ["ppo:transitions", "ppo:worlds", "ddpg:worlds", "td3", "own"]
    assert ordered_algorithms(names) == ordered
