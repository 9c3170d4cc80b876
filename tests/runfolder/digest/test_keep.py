"""Digests say what the runs said, in a twentieth of the space."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from hanging import no_hang

from drspcrl.cli import main
from drspcrl.errors import InputError
from drspcrl.policy import Policy, save_policy
from drspcrl.report import write_report
from drspcrl.runfolder.digest import keep_runs
from drspcrl.runfolder.runs import read_run, read_runs
from drspcrl.runfolder.thinning import POINTS, thinned
from synthetic_runs import write_run, write_runs

METHODS = ["vanilla", "fixed", "self_paced"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("whole") / "runs"
    write_runs(
        root, tasks=["Hopper"], algorithms=["sac"], methods=METHODS, seeds=3, rows=200, episodes=20
    )
    return root


@pytest.fixture(scope="module")
def digest(runs, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("kept") / "digest"
    assert {one.status for one in keep_runs(runs, out)} == {"kept"}
    return out


@pytest.fixture
def run(tmp_path) -> Path:
    return write_run(tmp_path / "runs", "Hopper", "sac", "self_paced", 0, rows=70, episodes=2)


def numbers(table: Path) -> tuple[list[list[str]], np.ndarray]:
    """A table's words, and its numbers apart."""
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numeric = ("value", "low", "high", "mean", "ci95")
    words = [[v for k, v in row.items() if k not in numeric] for row in rows]
    return words, np.array([[float(row.get(k) or "nan") for k in numeric] for row in rows])


def test_a_report_of_the_digest_is_a_report_of_the_runs(runs, digest, tmp_path):
    reports = {name: tmp_path / name for name in ("runs", "digest")}
    for source, name in ((runs, "runs"), (digest, "digest")):
        assert write_report(source, reports[name], compare="paper") == ()
    tables = sorted(path.name for path in (reports["runs"] / "tables").iterdir())
    assert tables == sorted(path.name for path in (reports["digest"] / "tables").iterdir())
    for name in (name for name in tables if name.endswith(".csv")):
        whole, kept = (numbers(reports[side] / "tables" / name) for side in ("runs", "digest"))
        assert kept[0] == whole[0]  # ranks, n and all words
        # A return is rounded by 0.005 at most, hence a mean too, and its interval by little more.
        np.testing.assert_allclose(kept[1], whole[1], rtol=0, atol=0.02, err_msg=name)
    figures = [sorted(p.name for p in (r / "figures").iterdir()) for r in reports.values()]
    assert figures[0] == figures[1]


def test_every_episode_is_there(runs, digest):
    whole, kept = ({r.identity: r for r in read_runs(root).runs} for root in (runs, digest))
    assert whole.keys() == kept.keys()
    for identity, run in whole.items():
        before, after = run.evaluations["paper"], kept[identity].evaluations["paper"]
        np.testing.assert_array_equal(after.perturbation, before.perturbation)
        for name in ("level", "episode", "length"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
        np.testing.assert_allclose(after.returns, before.returns, rtol=0, atol=0.0051)
        assert (kept[identity].info, kept[identity].config) == (run.info, run.config)


def test_a_digest_does_not_say_where_its_run_was(run, tmp_path):
    config = run / "config.yaml"
    given = config.read_text(encoding="utf-8")
    config.write_text(given + "out: /home/someone/private/Hopper-sac\n", encoding="utf-8")
    keep_runs(run, tmp_path / "digest")
    (kept,) = read_runs(tmp_path / "digest").runs
    assert kept.config == {**read_run(run).config, "out": "Hopper-sac"}
    assert "private" not in (kept.path / "config.yaml").read_text(encoding="utf-8")


def test_a_digest_says_what_worlds_its_run_was_trained_in(run, tmp_path):
    worlds = {"law": "ball", "sensor": 0.1, "parameters": [{"name": "leak", "nominal": 0.0}]}
    file = {"path": "/home/someone/private/tank.yaml", "sha256": "0" * 64}
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    config |= {"uncertainty": "worlds", "worlds": worlds, "worlds_file": file, "out": "/x/runs"}
    (run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    keep_runs(run, tmp_path / "digest")
    (kept,) = read_runs(tmp_path / "digest").runs
    assert kept.uncertainty == "worlds"
    assert kept.config["worlds"] == worlds
    assert kept.config["worlds_file"] == file | {"path": "tank.yaml"}
    assert "private" not in (kept.path / "config.yaml").read_text(encoding="utf-8")


def test_a_digest_of_the_papers_size_is_small(tmp_path):
    run = write_run(tmp_path / "runs", "HalfCheetah", "sac", "self_paced", 0, episodes=100)
    (kept,) = keep_runs(run, tmp_path / "out")
    size = sum(file.stat().st_size for file in kept.path.iterdir())
    whole = sum(file.stat().st_size for file in run.iterdir())
    assert size < 9_000  # config.yaml and run.json of a real run have 2.4 kB more
    assert whole > 15 * size


def test_thinned_metrics_are_means_over_equal_stretches():
    step = np.arange(1000, 601_000, 1000)
    epsilon = np.linspace(0, 1, 600)
    episode_return = np.where(np.arange(600) % 2, np.nan, 7.0)
    thin = thinned(
        {"step": step, "epsilon": epsilon, "episode_return": episode_return, "loss": epsilon}
    )
    assert set(thin) == {"step", "epsilon", "episode_return"}
    np.testing.assert_array_equal(thin["step"], 10_000 * np.arange(1, POINTS + 1))
    np.testing.assert_allclose(thin["epsilon"], epsilon.reshape(60, 10).mean(axis=1))
    np.testing.assert_array_equal(thin["episode_return"], 7.0)


def test_what_is_known_of_worlds_is_kept():
    step, unknown = np.arange(1.0, 4.0), np.full(3, np.nan)
    price = np.array([np.nan, 0.1, 0.2])
    thin = thinned({"step": step, "price": price, "premium": unknown, "probe_share": price})
    assert set(thin) == {"step", "price"}
    np.testing.assert_array_equal(thin["price"], price)


def test_populations_that_settings_tell_apart_have_folders_of_their_own(tmp_path):
    """A grid's `fixed` and its `fixed:critic_sees_world=false` are runs of one name."""
    groups = ("Hopper-sac", "Hopper-sac-critic_sees_world_False")
    for group in groups:
        write_run(tmp_path / "runs" / group, "Hopper", "sac", "fixed", 0, rows=9, episodes=1)
    kept = keep_runs(tmp_path / "runs", tmp_path / "kept")
    name = "Hopper-sac-fixed-s0"
    assert [one.path for one in kept] == [tmp_path / "kept" / group / name for group in groups]


def test_few_rows_stay_as_they_are():
    metrics = {"step": np.array([10.0, 20]), "epsilon": np.array([0.0, np.nan])}
    assert all(thinned(metrics)[name] is metrics[name] for name in metrics)


def test_keeping_again_changes_nothing(runs, digest):
    before = {file: file.stat().st_mtime_ns for file in digest.rglob("*")}
    assert {one.status for one in keep_runs(runs, digest)} == {"unchanged"}
    assert before == {file: file.stat().st_mtime_ns for file in digest.rglob("*")}


def test_a_run_that_changed_is_replaced_whole(run, tmp_path):
    out = tmp_path / "out"
    keep_runs(run, out)
    write_run(tmp_path / "runs", "Hopper", "sac", "self_paced", 0, rows=80, episodes=3)
    (kept,) = keep_runs(run, out)
    assert kept.status == "kept"
    assert len(read_run(kept.path).evaluations["paper"].returns) == 16 * 3
    assert [path.name for path in kept.path.parent.iterdir()] == [run.name]


def test_a_digest_of_a_digest_is_the_same(digest, tmp_path):
    keep_runs(digest, tmp_path / "again")
    again = tmp_path / "again"
    files = sorted(file.relative_to(digest) for file in digest.rglob("*") if file.is_file())
    assert files == sorted(f.relative_to(again) for f in again.rglob("*") if f.is_file())
    assert all((again / file).read_bytes() == (digest / file).read_bytes() for file in files)


def policy_of_ones() -> Policy:
    one = np.ones(1, np.float32)
    return Policy("gaussian", "relu", ((one[:, None], one),), -one, one, one, one, np.inf, one)


def test_policies_are_kept_where_asked_for_and_stay(run, tmp_path):
    other = write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=5, episodes=1)
    for folder in (run, other):
        save_policy(folder / "policy.safetensors", policy_of_ones())
    weights = (run / "policy.safetensors").read_bytes()
    out, root = tmp_path / "out", tmp_path / "runs"
    keep_runs(root, out, policies=["self_paced:0"])
    policy = out / "Hopper-sac" / run.name / "policy.safetensors"
    assert [file.read_bytes() for file in out.rglob("*.safetensors")] == [weights]
    keep_runs(root, out)
    assert policy.exists()
    # Another run of that name: its results must not stand beside an old policy.
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "started": "later"}))
    with pytest.raises(InputError, match=r"another training \(begun None\).*\(begun later\)"):
        keep_runs(root, out)
    keep_runs(root, out, overwrite=True)
    assert not policy.exists()


def test_what_an_evaluation_was_made_with_is_kept(run, tmp_path):
    made_with = {"suite": "paper", "episodes": 2, "physics": {"mass": 1.5}}
    (run / "evaluation.json").write_text(json.dumps(made_with, indent=2))
    (kept,) = keep_runs(run, tmp_path / "out")
    assert json.loads((kept.path / "evaluation.json").read_text()) == made_with


def unfinished(run):
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "status": "interrupted"}))


def not_evaluated(run):
    (run / "evaluation.csv").unlink()


def damaged(run):
    (run / "metrics.csv").write_text("step\n1")


def elsewhere_too(run):
    shutil.copytree(run, run.parent / "deeper" / run.name)


@pytest.mark.parametrize(
    ("spoil", "options", "reason"),
    [
        (unfinished, {}, "is not done: its status is 'interrupted'.*resume.*--skip-unfinished"),
        (not_evaluated, {}, "is not done: it has no evaluation.*drspcrl evaluate"),
        (damaged, {}, "cannot be kept: metrics.csv is half-written"),
        (damaged, {"skip_unfinished": True}, "cannot be kept: metrics.csv is half-written"),
        (elsewhere_too, {}, "would both go to"),
        (None, {"policies": ["self_paced"]}, "'self_paced'; give method:seed"),
        (None, {"policies": ["fixed:0"]}, "the runs are self_paced:0, vanilla:0"),
        (None, {"policies": ["self_paced:0"]}, "has no policy.safetensors"),
    ],
)
def test_nothing_is_written_before_all_is_well(run, tmp_path, spoil, options, reason):
    write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=5, episodes=1)
    if spoil is not None:
        spoil(run)
    with pytest.raises(InputError, match=reason):
        keep_runs(tmp_path / "runs", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_wrong_folders(run, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for root, out, reason in (
        ("nowhere", "out", "nowhere is not a folder"),
        ("empty", "out", "no run at or below"),
        ("runs", "file", "is a file"),
    ):
        with pytest.raises(InputError, match=reason):
            keep_runs(tmp_path / root, tmp_path / out)
    (kept,) = keep_runs(run, tmp_path / "out")
    with pytest.raises(InputError, match="is in --out itself"):
        keep_runs(kept.path, tmp_path / "out")


def test_a_run_that_diverged_is_kept_as_it_is(run, tmp_path):
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "status": "diverged"}))
    (run / "evaluation.csv").unlink()
    (kept,) = keep_runs(run, tmp_path / "out")
    assert read_run(kept.path).status == "diverged"


def test_the_command(run, tmp_path, capsys):
    out = tmp_path / "out"
    write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=5, episodes=1)
    unfinished(tmp_path / "runs" / "Hopper-sac-vanilla-s0")
    assert main(["keep", str(tmp_path / "runs"), "--out", str(out)]) == 2
    assert "--skip-unfinished" in capsys.readouterr().err
    assert main(["keep", str(tmp_path / "runs"), "--out", str(out), "--skip-unfinished"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("left out")
    assert told[1].startswith("kept")
    assert f"1 run in {out}" in told[-1]


@pytest.mark.parametrize("kind", ["link", "fifo", "no policy", "a policy elsewhere"])
def test_only_a_policy_is_kept_as_one(run, tmp_path, kind):
    policy, secret = run / "policy.safetensors", tmp_path / "id_ed25519"
    secret.write_text("PRIVATE KEY")
    if kind == "fifo":
        os.mkfifo(policy)
    elif kind == "no policy":
        policy.write_text("PRIVATE KEY")
    else:
        if kind == "a policy elsewhere":
            save_policy(secret, policy_of_ones())
        policy.symlink_to(secret)
    expected = "cannot be read as safetensors" if kind == "no policy" else "is a symbolic|is no reg"
    with no_hang(), pytest.raises(InputError, match=rf"policy\.safetensors ({expected})"):
        keep_runs(run, tmp_path / "out", policies=["self_paced:0"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", ["run.json", "config.yaml", "metrics.csv", "evaluation.csv", "evaluation.json"]
)
def test_no_link_of_a_run_is_kept(run, tmp_path, name):
    place = run / name
    if place.exists():
        place.rename(tmp_path / name)
    else:
        (tmp_path / name).write_text('{"secret": "PRIVATE KEY"}')
    place.symlink_to(tmp_path / name)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        keep_runs(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["group", "digest", "file", ".lock"])
def test_a_digest_is_put_through_no_link(run, tmp_path, place):
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    (kept,) = keep_runs(run, out)
    changed = run / "config.yaml"
    changed.write_text(changed.read_text() + "tau: 0.1\n")
    target = {
        "group": kept.path.parent,
        "digest": kept.path,
        "file": kept.path / "run.json",
        ".lock": kept.path.parent / ".lock",
    }[place]
    if place == ".lock":
        elsewhere.write_text("mine")
    else:
        target.rename(elsewhere)
    target.symlink_to(elsewhere)
    before = contents(elsewhere)
    with pytest.raises(InputError, match=f"{target.name} is a symbolic link"):
        keep_runs(run, out)
    assert contents(elsewhere) == before
    assert contents(out) == contents(out.resolve())


def contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}


def test_out_may_be_a_link_that_the_user_names(run, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    (kept,) = keep_runs(run, tmp_path / "out")
    assert (tmp_path / "disk" / "Hopper-sac" / kept.path.name / "run.json").is_file()


def test_what_is_no_part_of_a_digest_is_not_lost(run, tmp_path):
    (kept,) = keep_runs(run, tmp_path / "out")
    (kept.path / ".DS_Store").write_text("mine")
    assert keep_runs(run, tmp_path / "out")[0].status == "unchanged"
    changed = run / "config.yaml"
    changed.write_text(changed.read_text() + "tau: 0.1\n")
    assert keep_runs(run, tmp_path / "out")[0].status == "kept"
    assert (kept.path / ".DS_Store").read_text() == "mine"
    (kept.path / "notes.txt").write_text("mine")
    changed.write_text(changed.read_text() + "batch_size: 3\n")
    with pytest.raises(InputError, match=r"holds notes\.txt, which is no part of a digest"):
        keep_runs(run, tmp_path / "out")
    assert (kept.path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("call", ["write_and_sync", "replace"])
def test_what_a_kill_leaves_goes_with_the_next_digest(run, tmp_path, monkeypatch, call):
    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("drspcrl.runfolder.digest._remove", lambda _: None)
        owner = (
            "drspcrl.runfolder.digest.write_and_sync" if call == "write_and_sync" else "os.replace"
        )
        patch.setattr(owner, killed)
        with pytest.raises(Killed):
            keep_runs(run, tmp_path / "out")
    group = tmp_path / "out" / "Hopper-sac"
    assert [name.startswith(".drspcrl-aside-") for name in os.listdir(group)] == [True]
    (kept,) = keep_runs(run, tmp_path / "out")
    assert os.listdir(group) == [kept.path.name]
