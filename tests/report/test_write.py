"""The whole report on disk: what it holds, how it replaces, what it refuses."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from drspcrl.data import paper_results
from drspcrl.errors import InputError
from drspcrl.report import write_report
from drspcrl.report.names import METHOD_LABELS, looks


def test_everything_is_there(small_report):
    figures = {path.name for path in (small_report / "figures").iterdir()}
    kinds = ("training", "epsilon", "beta", "robustness", "frontier", "means")
    expected = {f"{kind}-{a}" for kind in kinds for a in ("sac", "ppo")} | {
        "profiles",
        "improvement",
    }
    assert figures == {f"{name}.{suffix}" for name in expected for suffix in ("png", "svg")}
    tables = {path.stem for path in (small_report / "tables").iterdir()}
    assert tables >= {"results-sac", "paper-sac", "means", "aggregates", "summary", "cells"}
    assert "methods" in tables
    assert "stress" not in tables
    marker = json.loads((small_report / "report.json").read_text())
    assert marker["runs"] == 60
    assert "run.json cannot be read" in marker["skipped"][0][1]


def test_synthetic_runs_are_marked_everywhere(small_report):
    assert "SYNTHETIC DATA" in (small_report / "index.html").read_text()
    for path in (small_report / "tables").glob("*.md"):
        assert "SYNTHETIC DATA" in path.read_text()
    with (small_report / "tables" / "means.csv").open() as file:
        assert {row["data"] for row in csv.DictReader(file)} == {"synthetic"}


def test_what_a_killed_report_left_is_removed_by_the_next(own_runs, tmp_path, monkeypatch):
    def killed(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("drspcrl.files.shutil.rmtree", lambda *_, **__: None)  # nor tidied up
    monkeypatch.setattr("drspcrl.report.write._put_in_place", lambda aside, out: killed(aside))
    with pytest.raises(KeyboardInterrupt):
        write_report(own_runs, tmp_path / "report")
    monkeypatch.undo()
    assert len(list(tmp_path.iterdir())) == 1
    write_report(own_runs, tmp_path / "report")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_note_stands_above_everything_and_stays_text(own_runs, tmp_path):
    note = "Ahead by 3 </script><b>bold</b>\n\x1b[31m"
    write_report(own_runs, tmp_path / "report", note=note)
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Ahead by 3" in page
    assert "<b>bold" not in page
    assert "\x1b" not in page


def test_summary_has_both_sides_by_the_same_code(small_report):
    with (small_report / "tables" / "summary.csv").open() as file:
        rows = {(row["figure"], row["column"]): row for row in csv.DictReader(file)}
    chance = rows["G by chance, were the curricula the same", "ours"]
    assert float(chance["low"]) < float(chance["value"]) < float(chance["high"])
    assert not rows["G by chance, were the curricula the same", "paper"]["value"]
    whole = rows["Headline gain G over the best rival", "paper"]
    assert round(100 * float(whole["value"]), 1) == 30.6
    shared = rows["Headline gain G over the best rival", "paper, shared with ours"]
    # by hand over the paper's tables: the two tasks, two algorithms and three methods of the runs
    gains = []
    for algorithm in ("sac", "ppo"):
        for task in ("Hopper", "HalfCheetah"):
            means = {
                m: np.mean([
                    c.mean for c in paper_results()
                    if (c.algorithm, c.environment, c.method) == (algorithm, task, m)
                ])
                for m in ("vanilla", "fixed", "self_paced")
            }  # fmt: skip
            best = max(means["vanilla"], means["fixed"])
            gains.append((means["self_paced"] - best) / best)
    assert float(shared["value"]) == pytest.approx(np.mean(gains))


def test_cells_have_the_columns_of_the_papers_data(small_report):
    with (small_report / "tables" / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "algorithm", "environment", "method", "perturbation", "level", "mean", "ci95", "n",
    ]  # fmt: skip
    assert len(rows) == 2 * 2 * 3 * 16


def test_hostile_names_stay_inside_the_folder(hostile_report):
    allowed = {"index.html", "report.json", "tables", "figures"}
    assert {path.name for path in hostile_report.iterdir()} == allowed
    for path in hostile_report.rglob("*"):
        assert path.name.isascii()
    page = (hostile_report / "index.html").read_text()
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    for path in (hostile_report / "figures").glob("*.svg"):
        assert "<img" not in path.read_text()
    for path in (hostile_report / "tables").glob("*.md"):
        assert "<img" not in path.read_text()
        assert "<script" not in path.read_text()


def test_an_old_report_is_replaced_whole(small_runs, tmp_path):
    one = next(small_runs.glob("Hopper-sac-vanilla-s0"))
    out = tmp_path / "deep" / "report"
    write_report(one, out)
    (out / "left over").write_text("x")
    write_report(one, out)
    assert not (out / "left over").exists()
    assert [path.name for path in out.parent.iterdir()] == ["report"]


def test_one_run_of_one_seed_is_enough(small_runs, tmp_path):
    write_report(small_runs / "Hopper-sac-vanilla-s0", tmp_path / "r", compare="paper")
    text = (tmp_path / "r" / "tables" / "results-sac.md").read_text()
    assert "<sub>" not in text
    assert (tmp_path / "r" / "figures" / "robustness-sac.png").exists()


def test_runs_that_are_not_evaluated_show_their_training(small_runs, tmp_path, synthetic):
    run = synthetic.write_run(tmp_path / "runs", "Hopper", "sac", "self_paced", 0, rows=20)
    (run / "evaluation.csv").unlink()
    write_report(tmp_path / "runs", tmp_path / "r")
    figures = {path.stem for path in (tmp_path / "r" / "figures").iterdir()}
    assert figures == {"training-sac", "epsilon-sac", "beta-sac"}


def test_another_suite_gets_its_own_files(tmp_path, synthetic):
    run = synthetic.write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=20, episodes=2)
    (run / "evaluation-wind & rain.csv").write_text(
        "perturbation,level,episode,return,length\nnone,0,0,9,1\nwind,2,0,5,1\n"
    )
    write_report(tmp_path / "runs", tmp_path / "r")
    assert (tmp_path / "r" / "tables" / "results-sac-wind---rain.md").exists()
    assert (tmp_path / "r" / "tables" / "results-sac.md").exists()


def test_tables_of_words(own_report):
    with (own_report / "tables" / "methods.csv").open() as file:
        rows = {row["method"]: row["what it is"] for row in csv.DictReader(file)}
    assert list(rows) == ["Vanilla", "Dom. Rand. (fixed radius)", "Self-Paced", "my policy"]
    assert rows["my policy"] == "trained elsewhere: tank_pid:act (a Python function)"
    with (own_report / "tables" / "stress.csv").open() as file:
        runs = [row["run"] for row in csv.DictReader(file)]
    assert runs == ["Tank-v0, SAC, Vanilla, seed 0", "Tank-v0, SAC, Self-Paced, seed 1"]
    text = (own_report / "tables" / "methods.md").read_text()
    assert "| Method | What it is |\n|---|---|\n| Vanilla |" in text
    assert r"\begin{tabular}{ll}" in (own_report / "tables" / "methods.tex").read_text()


def test_nothing_is_left_behind_when_it_fails(small_runs, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("broken pencil")

    monkeypatch.setattr("drspcrl.report.write.render_page", fail)
    with pytest.raises(RuntimeError, match="broken pencil"):
        write_report(small_runs / "Hopper-sac-vanilla-s0", tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_refusals(small_runs, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="no report and is not empty"):
        write_report(small_runs, mine)
    assert (mine / "thesis.tex").read_text() == "precious"
    with pytest.raises(InputError, match="is a file or a link"):
        write_report(small_runs, mine / "thesis.tex")
    with pytest.raises(InputError, match="no report and is not empty"):
        write_report(small_runs, small_runs)
    with pytest.raises(InputError, match="cannot compare with 'x'"):
        write_report(small_runs, tmp_path / "r", compare="x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no readable run folder"):
        write_report(tmp_path / "empty", tmp_path / "r")
    with pytest.raises(InputError, match="not a folder"):
        write_report(tmp_path / "nowhere", tmp_path / "r")


def test_no_jax(small_runs, tmp_path):
    run, out = str(small_runs / "Hopper-sac-vanilla-s0"), str(tmp_path / "r")
    code = (
        "import sys; from drspcrl.cli.report import Report; from pathlib import Path; "
        f"Report(Path({run!r}), Path({out!r})).run(); sys.exit('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"wrote" in done.stdout


# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def oklab(colour: str, deficiency) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(deficiency) @ linear, 0, 1)
    lms = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                    [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005]]) @ seen  # fmt: skip
    return np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                     [1.9779984951, -2.4285922050, 0.4505937099],
                     [0.0259040371, 0.7827717662, -0.8086757660]]) @ np.cbrt(lms)  # fmt: skip


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_papers_methods_can_be_told_apart(ground, deficiency):
    methods = ["vanilla", "fixed", "linear", "domain_randomization", "accel", "space", "self_paced"]
    seen = [
        oklab(getattr(look, ground), DEFICIENCIES[deficiency]) for look in looks(methods).values()
    ]
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    # 0.02 is about one just noticeable difference in Oklab
    assert min(gaps) > 0.06


def test_every_known_method_has_a_marker_of_its_own():
    markers = [look.marker for look in looks(METHOD_LABELS).values()]
    assert len(set(markers)) == len(markers)


@pytest.mark.slow
def test_the_whole_grid(synthetic, tmp_path):
    synthetic.write_runs(tmp_path / "runs")
    assert write_report(tmp_path / "runs", tmp_path / "r", compare="paper") == ()
    assert json.loads((tmp_path / "r" / "report.json").read_text())["runs"] == 420
    assert (tmp_path / "r" / "index.html").stat().st_size < 10e6
