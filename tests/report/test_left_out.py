"""A report tells what a suite has and a task has nothing for, on its page and in its tables."""

import html
import json
import shutil
from dataclasses import replace

import pytest

from drspcrl.report import write_report
from drspcrl.report.results import NOMINAL, setting_means
from drspcrl.runfolder.runs import read_run

LEFT_OUT = {"mass=0.5": "it has no MuJoCo model", "mass=1.5": "it has no MuJoCo model"}
LINE = "Hopper: mass=0.5, mass=1.5 (it has no MuJoCo model)"


@pytest.fixture
def runs(small_runs, tmp_path):
    """The same runs; in one the evaluation left settings out."""
    shutil.copytree(small_runs, tmp_path / "runs")
    beside = tmp_path / "runs" / "Hopper-sac-fixed-s0" / "evaluation.json"
    beside.write_text(json.dumps({"left_out": LEFT_OUT}))
    return tmp_path / "runs"


def test_one_line_on_the_page_and_in_the_tables(runs, tmp_path):
    write_report(runs, tmp_path / "report")
    assert LINE in html.unescape((tmp_path / "report" / "index.html").read_text())
    markdown = (tmp_path / "report" / "tables" / "results-sac.md").read_text()
    assert f"Not evaluated: {LINE}." in markdown.replace("\\", "")
    for ending in ("md", "tex"):
        assert "Not evaluated" in (tmp_path / "report" / "tables" / f"means.{ending}").read_text()


def test_a_suite_whose_worst_counts_is_one_number(small_runs, tmp_path):
    shutil.copytree(small_runs, tmp_path / "runs")
    for folder in (tmp_path / "runs").glob("*-s?"):
        if (folder / "evaluation.csv").exists():
            shutil.move(folder / "evaluation.csv", folder / "evaluation-hard.csv")
            (folder / "evaluation-hard.json").write_text(json.dumps({"statistic": "worst"}))
    write_report(tmp_path / "runs", tmp_path / "report")
    run = read_run(tmp_path / "runs" / "Hopper-sac-vanilla-s0")
    means = setting_means(replace(run.evaluations["hard"], statistic="mean"), "", [])
    found = setting_means(run.evaluations["hard"], "", [])
    least = min(mean for setting, mean in means.items() if setting != NOMINAL)
    assert found == {NOMINAL: means[NOMINAL], ("worst", 15.0): least}
    markdown = (tmp_path / "report" / "tables" / "results-sac.md").read_text()
    assert "Worst of the means, settings" in markdown
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"left_out": 3}', "{"])
def test_a_table_does_not_need_the_file_beside_it(runs, content):
    run = runs / "Hopper-sac-fixed-s0"
    whole = read_run(run).evaluations["paper"]
    (run / "evaluation.json").write_text(content)
    found = read_run(run).evaluations["paper"]
    assert (len(found.returns), found.left_out) == (len(whole.returns), {})
    assert whole.left_out == LEFT_OUT
