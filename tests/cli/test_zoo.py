"""`drspcrl zoo`, and names of the zoo in other commands."""

import csv
import json

import pytest
from hopper_runs import make_run

from drspcrl.cli import main
from drspcrl.runfolder import tables

NAME = "Hopper-sac-vanilla"


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    place = tmp_path / "zoo"
    make_run(place, 0).rename(place / NAME)
    told = json.loads((place / NAME / "run.json").read_text())
    (place / NAME / "run.json").write_text(json.dumps(told | {"steps": 1_000_000}))
    (place / NAME / "metrics.csv.xz").write_bytes(tables.pack("step,epsilon\n9,0.5\n"))
    (place / NAME / "card.md").write_text("# Hopper\n\nMade by \x1b[31mhand.\n")
    monkeypatch.setenv("DRSPCRL_ZOO", str(place))
    return place


def write_evaluation(folder):
    rows = [("none", 0, 0, 100, 9), ("none", 0, 1, 300, 9)]
    rows += [("action", 0.1, k, 50, 9) for k in (0, 1)] + [("push", 0.1, 0, 10, 9)]
    with (folder / "evaluation.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([("perturbation", "level", "episode", "return", "length"), *rows])


def files(folder) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_all_are_listed(zoo, capsys):
    assert main(["zoo"]) == 0
    heading, line, place = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["name", "task", "learner"]
    assert line.split() == [NAME, "Hopper", "sac", "vanilla", "simulator", "1,000,000", "–", "–"]
    assert str(zoo) in place
    write_evaluation(zoo / NAME)
    assert main(["zoo"]) == 0
    # Unperturbed (100 + 300)/2; perturbed the mean of two settings, 50 and 10.
    assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["200", "30"]


def test_a_card(zoo, capsys):
    for name in (NAME, f"zoo:{NAME}"):
        assert main(["zoo", name]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith("# Hopper\n\nMade by ")
        assert "\x1b" not in printed
    (zoo / NAME / "card.md").unlink()
    assert main(["zoo", NAME]) == 2
    assert "card.md cannot be read" in capsys.readouterr().err
    assert main(["zoo", "../zoo"]) == 2
    assert "has no policy '../zoo'" in capsys.readouterr().err


def test_export(zoo, tmp_path, capsys):
    out = tmp_path / "policy.npz"
    assert main(["export", f"zoo:{NAME}", "--out", str(out)]) == 0
    assert out.is_file()
    assert main(["export", "zoo:nothing", "--out", str(out)]) == 2
    assert "the zoo has no policy 'nothing'" in capsys.readouterr().err


def test_evaluate_leaves_the_zoo_as_it_is(zoo, tmp_path, capsys):
    before, out = files(zoo / NAME), tmp_path / "runs"
    options = ["--suite", "quick", "--episodes", "1", "--jobs", "1", "--threads", "1"]
    assert main(["evaluate", f"zoo:{NAME}", *options]) == 2
    assert f"give the folder of runs that zoo:{NAME} is to join" in capsys.readouterr().err
    assert main(["evaluate", f"zoo:{NAME}", *options, "--out", str(out)]) == 0
    assert files(zoo / NAME) == before
    assert "evaluation-quick.csv" in files(out / NAME)
    capsys.readouterr()
    assert "--env is for a policy from elsewhere" in _mistake(
        capsys, "evaluate", f"zoo:{NAME}", "--env", "Hopper", "--out", str(out)
    )


def test_transitions_do_not_join_worlds(zoo, tmp_path, capsys):
    other = make_run(tmp_path / "runs", 3)
    config = json.loads((other / "config.yaml").read_text())
    (other / "config.yaml").write_text(json.dumps(config | {"uncertainty": "worlds"}))
    said = _mistake(capsys, "evaluate", f"zoo:{NAME}", "--out", str(tmp_path / "runs"))
    assert "holds runs of uncertainty=worlds" in said


def test_stress_leaves_the_zoo_as_it_is(zoo, tmp_path, capsys, monkeypatch):
    before = files(zoo / NAME)
    monkeypatch.chdir(tmp_path)
    options = ["--parameters", "gravity", "--budget", "300", "--episodes", "1", "--steps", "5"]
    assert main(["stress", f"zoo:{NAME}", *options, "--threads", "1"]) == 0
    assert "wrote stress-output/stress.json" in capsys.readouterr().out
    assert files(zoo / NAME) == before


def test_render_takes_names(zoo, tmp_path, capsys):
    said = _mistake(capsys, "render", "zoo:nothing", "--out", str(tmp_path / "clip.gif"))
    assert "the zoo has no policy 'nothing'" in said
    said = _mistake(
        capsys, "render", f"zoo:{NAME}", f"zoo:{NAME}", "--out", str(tmp_path / "clip.gif")
    )
    assert "a policy is given twice" in said


def _mistake(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_one_damaged_policy_does_not_hide_the_others(zoo, capsys):
    (zoo / "Damaged").mkdir()
    (zoo / "Damaged" / "run.json").write_text("[" * 50_000)
    assert main(["zoo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(NAME)
    assert lines[2].startswith("Damaged is left out: run.json cannot be read")
    (zoo / NAME / "card.md").write_bytes(b"\xff\xfe")
    assert main(["zoo", NAME]) == 2
    assert "card.md cannot be read" in capsys.readouterr().err
