"""The reader of run folders: whole ones are read, every kind of damage is named."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hanging import no_hang

from drspcrl.errors import InputError
from drspcrl.runfolder import tables
from drspcrl.runfolder.runs import FORMAT_VERSION, find_runs, read_run, read_runs
from drspcrl.runfolder.tables import check_value

INFO = {"format_version": 1, "status": "finished"}
CONFIG = "env: Hopper\nalgorithm: sac\nmethod: self_paced\nseed: 3\n"
METRICS = "step,episode_return,epsilon\n1000,10.5,0\n2000,,0.25\n"
EVALUATION = "perturbation,level,episode,return,length\nnone,0,0,100,1000\naction,0.1,0,50.5,700\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    run = tmp_path / "runs" / "Hopper-sac-self_paced-s3"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps(INFO))
    (run / "config.yaml").write_text(CONFIG)
    (run / "metrics.csv").write_text(METRICS)
    (run / "evaluation.csv").write_text(EVALUATION)
    return run


def test_a_whole_folder(folder):
    run = read_run(folder)
    assert run.identity == ("Hopper", "sac", "self_paced", 3)
    assert (run.status, run.synthetic) == ("finished", False)
    np.testing.assert_array_equal(run.metrics["step"], [1000, 2000])
    np.testing.assert_array_equal(run.metrics["episode_return"], [10.5, np.nan])
    evaluation = run.evaluations["paper"]
    assert list(evaluation.perturbation) == ["none", "action"]
    np.testing.assert_array_equal(evaluation.returns, [100, 50.5])


def test_only_the_wanted_columns_are_kept(folder):
    assert set(read_run(folder, metrics=("step", "epsilon", "beta")).metrics) == {"step", "epsilon"}


def test_the_name_of_the_folder_counts_for_nothing(folder):
    renamed = folder.rename(folder.with_name("Ant-ppo-vanilla-s9"))
    assert read_run(renamed).identity == ("Hopper", "sac", "self_paced", 3)


def test_run_json_goes_before_config_yaml(folder):
    (folder / "run.json").write_text(json.dumps({**INFO, "method": "fixed", "synthetic": True}))
    run = read_run(folder)
    assert run.method == "fixed"
    assert run.synthetic


def test_a_run_that_is_not_evaluated_yet(folder):
    (folder / "evaluation.csv").unlink()
    (folder / "metrics.csv").write_text("")
    run = read_run(folder)
    assert run.evaluations == {}
    assert run.metrics == {}


def test_other_suites_stand_beside(folder):
    (folder / "evaluation-mine.csv").write_text(EVALUATION)
    assert set(read_run(folder).evaluations) == {"paper", "mine"}


def test_packed_tables_are_read_and_plain_ones_go_first(folder):
    whole = read_run(folder)
    for name in ("metrics.csv", "evaluation.csv"):
        (folder / f"{name}.xz").write_bytes(tables.pack((folder / name).read_text()))
        (folder / name).unlink()
    run = read_run(folder)
    np.testing.assert_array_equal(run.metrics["episode_return"], whole.metrics["episode_return"])
    assert list(run.evaluations) == ["paper"]
    np.testing.assert_array_equal(run.evaluations["paper"].returns, [100, 50.5])
    (folder / "evaluation.csv").write_text(EVALUATION.replace("50.5", "60"))
    np.testing.assert_array_equal(read_run(folder).evaluations["paper"].returns, [100, 60])


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("run.json", None, "has no run.json"),
        ("run.json", '{"format_version": 1', "run.json cannot be read"),
        ("run.json", "[1]", "holds no mapping"),
        ("run.json", "[" * 100_000, "run.json cannot be read"),
        ("run.json", "{}", "format_version None"),
        ("run.json", '{"format_version": true}', "format_version True"),
        ("run.json", f'{{"format_version": {FORMAT_VERSION + 1}}}', "update drspcrl"),
        ("config.yaml", None, "has no config.yaml"),
        ("config.yaml", "env: [", "config.yaml cannot be read"),
        ("config.yaml", "!!python/object/apply:os.system ['true']", "cannot be read"),
        ("config.yaml", "env: Hopper\nalgorithm: sac\nseed: 1\n", "says its method"),
        ("config.yaml", CONFIG.replace("Hopper", "7"), "its env is 7"),
        ("config.yaml", CONFIG.replace("seed: 3", "seed: x"), "its seed is 'x'"),
        ("metrics.csv", METRICS[:-4], "half-written"),
        ("metrics.csv", METRICS + "3000,1\n", "line 4 has 2 fields, not 3"),
        ("metrics.csv", METRICS + "3000,1,x\n", "column epsilon"),
        ("metrics.csv", "return\n1\n", "no column step"),
        ("metrics.csv", b"step\n\xff\n", "metrics.csv cannot be read"),
        ("evaluation.csv", "perturbation,level\n", "no column episode, return, length"),
        ("evaluation.csv", EVALUATION[:-3], "half-written"),
        ("evaluation-b.csv.xz", b"this is no xz", "evaluation-b.csv.xz cannot be read"),
        ("evaluation-b.csv.xz", tables.pack(EVALUATION[:-3]), "half-written"),
    ],
)
def test_damage_is_named_and_skipped(folder, file, content, reason):
    if content is None:
        (folder / file).unlink()
    elif isinstance(content, bytes):
        (folder / file).write_bytes(content)
    else:
        (folder / file).write_text(content)
    with pytest.raises(InputError, match=reason) as caught:
        read_run(folder)
    assert "\n" not in str(caught.value)
    found = read_runs(folder.parent)
    assert found.runs == ()
    assert [skip.path for skip in found.skipped] == [folder]


def test_an_empty_folder_with_the_name_of_a_run_is_half_written(tmp_path):
    (tmp_path / "Hopper-ppo-vanilla-s0").mkdir()
    assert "half-written" in read_runs(tmp_path).skipped[0].reason


def test_runs_are_found_at_any_depth_but_not_in_reports_or_hidden_folders(folder):
    root = folder.parent
    for name in ("deep/er/run", ".aside/run", "report/run"):
        (root / name).mkdir(parents=True)
        (root / name / "run.json").write_text("{}")
    (root / "report" / "report.json").write_text("{}")
    assert list(find_runs(root)) == [folder, root / "deep" / "er" / "run"]
    assert list(find_runs(folder)) == [folder]


def test_the_same_run_twice_is_kept_once(folder):
    twin = folder.with_name("b")
    twin.mkdir()
    for file in folder.iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    found = read_runs(folder.parent)
    assert [run.path for run in found.runs] == [folder]
    assert "same run" in found.skipped[0].reason


def test_a_root_that_is_not_there():
    with pytest.raises(InputError, match="not a folder"):
        read_runs("no/such/place")


def test_reading_does_not_import_jax(folder):
    code = (
        "import sys; from drspcrl.runfolder.runs import read_runs; "
        "import drspcrl.statistics, drspcrl.data; "
        f"assert len(read_runs({str(folder)!r}).runs) == 1; sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


FILES = ["run.json", "config.yaml", "metrics.csv", "evaluation.csv", "evaluation-b.csv.xz"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", ["link", "fifo", "device"])
def test_what_is_no_file_is_named_and_skipped(folder, file, kind):
    place = folder / file
    target = folder.parent / "elsewhere"
    if place.exists():
        place.rename(target)
    if kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(target if kind == "link" else "/dev/zero")
    reason = "no regular file" if kind == "fifo" else "a symbolic link"
    with no_hang():
        found = read_runs(folder.parent)
    assert found.runs == ()
    (skip,) = found.skipped
    assert f"{place} is {reason}" in skip.reason
    assert "\n" not in skip.reason


def test_a_link_that_the_user_names_is_followed(folder, tmp_path):
    for name, target in (("a", folder.parent), ("b", folder)):
        (tmp_path / name).symlink_to(target)
        assert [run.path.resolve() for run in read_runs(tmp_path / name).runs] == [folder]


def test_a_link_in_place_of_a_run_is_named_and_skipped(folder, tmp_path):
    (tmp_path / "all").mkdir()
    link = tmp_path / "all" / "Hopper-sac-self_paced-s4"
    link.symlink_to(folder)
    found = read_runs(tmp_path / "all")
    assert found.runs == ()
    (skip,) = found.skipped
    assert skip.path == link
    assert f"{link} is a symbolic link" in skip.reason


def test_damaged_rows_are_seen_by_their_check_value(folder):
    def note(**check):
        (folder / "run.json").write_text(json.dumps(INFO | {"metrics": check}))

    note(**check_value(METRICS.encode()))
    assert len(read_run(folder).metrics["step"]) == 2
    (folder / "metrics.csv").write_text(METRICS + "3000,1,1\n")  # a training continues
    assert len(read_run(folder).metrics["step"]) == 3
    for damaged in (METRICS.replace("10.5", "90.5"), METRICS[:-11], ""):
        (folder / "metrics.csv").write_text(damaged)
        (skip,) = read_runs(folder.parent).skipped
        assert skip.reason.startswith("metrics.csv is damaged: it is not what the training wrote")
        assert "\n" not in skip.reason
        assert read_run(folder, metrics=()).metrics == {}  # an evaluation needs no rows
    (folder / "run.json").write_text(json.dumps(INFO))  # of an earlier version
    (folder / "metrics.csv").write_text(METRICS.replace("10.5", "90.5"))
    assert read_run(folder).metrics["episode_return"][0] == 90.5
    for forged in ([], {"bytes": "many"}, {"bytes": True}, {"bytes": -1}, {"bytes": 10**30}):
        (folder / "run.json").write_text(json.dumps(INFO | {"metrics": forged}))
        assert len(read_runs(folder.parent).runs + read_runs(folder.parent).skipped) == 1
