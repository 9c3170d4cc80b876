"""A table that cannot be shown is named and left out; everything else is in the report."""

import re
import shutil
from pathlib import Path

import pytest

from drspcrl.cli import main
from drspcrl.report.collected import MOST_KINDS, MOST_SETTINGS, collect
from synthetic_runs import write_run

HEADER = "perturbation,level,episode,return,length\n"
EVALUATIONS = {
    "nan as level": ("action,nan,0,1,1\n", "has the level nan"),
    "a level beyond floats": ("action,1e400,0,1,1\n", "has the level inf"),
    "an infinite level": ("action,-inf,0,1,1\n", "has the level -inf"),
    "a huge level": ("action,1e300,0,1,1\n", r"has the level 1e\+300"),
    "a huge return": ("action,0.1,0,1e308,1\naction,0.1,1,-1e308,1\n", r"has the return 1e\+308"),
    "kinds without end": (
        "".join(f"kind{i},0.1,0,1,1\n" for i in range(MOST_KINDS + 1)),
        "201 kinds of perturbation; a report shows at most 200",
    ),
    "levels without end": (
        "".join(f"action,{i}e-5,0,1,1\n" for i in range(MOST_SETTINGS + 1)),
        "5,001 settings; a report shows at most 5,000",
    ),
}
METRICS = {
    "nan as step": ("step,episode_return\nnan,1\n", "has the step nan"),
    "a step beyond floats": ("step,episode_return\n1e400,1\n", "has the step inf"),
    "a huge return": ("step,episode_return\n1,1e308\n2,-1e308\n", r"'episode_return' has 1e\+308"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("sound") / "runs"
    for seed in (0, 1):
        write_run(root, "Hopper", "sac", "vanilla", seed, rows=10, episodes=2)
    return root


@pytest.fixture
def runs(sound, tmp_path) -> Path:
    return shutil.copytree(sound, tmp_path / "runs")


@pytest.mark.parametrize(("rows", "reason"), EVALUATIONS.values(), ids=EVALUATIONS)
def test_an_evaluation_that_cannot_be_shown(runs, rows, reason):
    damaged = runs / "Hopper-sac-vanilla-s1" / "evaluation.csv"
    damaged.write_text(HEADER + rows)
    collected = collect(runs, None, "")
    (skip,) = collected.found.skipped
    assert skip.path == damaged
    assert re.search(reason, skip.reason)
    assert len(collected.found.runs) == 2
    ((n, _),) = [x.shape for x in collected.results["paper"].runs["sac", "Hopper"].values()]
    assert n == 1


@pytest.mark.parametrize(("text", "reason"), METRICS.values(), ids=METRICS)
def test_metrics_that_cannot_be_shown(runs, text, reason):
    damaged = runs / "Hopper-sac-vanilla-s1" / "metrics.csv"
    damaged.write_text(text)
    collected = collect(runs, None, "")
    (skip,) = collected.found.skipped
    assert skip.path == damaged
    assert re.search(reason, skip.reason)
    assert len(collected.found.runs) == 2
    assert len(collected.results["paper"].runs["sac", "Hopper"]["vanilla"]) == 2


def test_the_report_is_written_and_names_them(runs, tmp_path, capsys):
    damaged = runs / "Hopper-sac-vanilla-s1" / "evaluation.csv"
    damaged.write_text(HEADER + "none,0,0,1,1\naction,nan,0,1,1\n")
    assert main(["report", str(runs), "--out", str(tmp_path / "report")]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"skipped {damaged}: it has the level nan")
    assert told[1] == f"wrote {tmp_path / 'report' / 'index.html'}"
    assert "it has the level nan" in (tmp_path / "report" / "index.html").read_text()


def test_an_episode_that_diverged_is_no_fault(runs):
    file = runs / "Hopper-sac-vanilla-s1" / "evaluation.csv"
    file.write_text(HEADER + "none,0,0,1,1\naction,0.1,0,nan,1\naction,0.1,1,inf,1\n")
    assert collect(runs, None, "").found.skipped == ()
