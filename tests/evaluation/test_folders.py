"""Run folders: what is evaluated, kept and skipped, and where results go."""

import numpy as np
import pytest
from hopper_runs import hopper_policy, make_run, statuses

from drspcrl.errors import InputError
from drspcrl.evaluation import EvaluationTable, Suite, evaluate, evaluate_runs
from drspcrl.perturbations import Perturbation
from drspcrl.policy import load_policy, save_policy
from drspcrl.runfolder.runs import read_runs

ONE = Suite("one", [None])


def test_every_run_gets_what_its_policy_gets_alone(tmp_path):
    folders = [make_run(tmp_path / "deep" / "er", seed) for seed in range(3)]
    results = list(evaluate_runs(tmp_path, load_policy, "quick", episodes=4, show=None))
    assert {result.status for result in results} == {"evaluated"}
    for folder in folders:
        table = EvaluationTable.from_csv(folder / "evaluation-quick.csv")
        alone = evaluate(load_policy(folder), "Hopper", "quick", episodes=4)
        np.testing.assert_array_equal(table.returns, alone.returns)
        assert table.info["policy_file"] == "policy.safetensors"
        assert len(table.info["policy_sha256"]) == 64
    runs = read_runs(tmp_path).runs
    assert [sorted(run.evaluations) for run in runs] == [["quick"]] * 3


def test_the_papers_suite_has_the_plain_name(tmp_path):
    folder = make_run(tmp_path, 0)
    list(evaluate_runs(folder, load_policy, episodes=1, show=None))
    assert len(EvaluationTable.from_csv(folder / "evaluation.csv")) == 16


def test_finished_runs_are_kept_unless_asked(tmp_path):
    folders = [make_run(tmp_path, seed) for seed in range(2)]
    list(evaluate_runs(folders[0], load_policy, ONE, episodes=2, show=None))
    path = folders[0] / "evaluation-one.csv"
    stamp = path.stat().st_mtime_ns
    results = list(evaluate_runs(tmp_path, load_policy, ONE, episodes=2, show=None))
    assert statuses(results) == {folders[0].name: "kept", folders[1].name: "evaluated"}
    assert results[0].reason == "evaluation-one.csv is there already"
    assert path.stat().st_mtime_ns == stamp
    results = list(evaluate_runs(tmp_path, load_policy, ONE, episodes=3, overwrite=True, show=None))
    assert set(statuses(results).values()) == {"evaluated"}
    assert len(EvaluationTable.from_csv(path)) == 3


def test_a_kept_result_of_another_question_says_so(tmp_path):
    folder = make_run(tmp_path, 0)
    list(evaluate_runs(folder, load_policy, ONE, episodes=2, show=None))
    save_policy(folder / "policy.safetensors", hopper_policy(9))  # the run went on
    (result,) = evaluate_runs(folder, load_policy, ONE, episodes=3, show=None)
    assert result.status == "kept"
    assert "made with other episodes, policy; --overwrite replaces it" in result.reason


def test_a_suite_of_tasks_gives_each_run_its_own_settings(tmp_path):
    make_run(tmp_path, 0)
    make_run(tmp_path, 1, env="Humanoid")
    half, whole = ([None, Perturbation("action", x)] for x in (0.5, 1.0))
    suite = Suite("own", [], tasks={"Hopper": half, "Walker2d": whole}, statistic="worst")
    for status, reason in (("evaluated", ""), ("kept", "evaluation-own.csv is there already")):
        results = list(evaluate_runs(tmp_path, load_policy, suite, episodes=2, show=None))
        found = {r.path.name: r for r in results}
        hopper, humanoid = (found[k] for k in sorted(found))
        assert (hopper.status, hopper.reason) == (status, reason)
        assert (humanoid.status, humanoid.reason[:30]) == (
            "skipped",
            "suite 'own' is of Hopper, Walk",
        )
        assert hopper.table is not None
        assert hopper.table.info["settings"] == ["none", "action=0.5"]
        assert hopper.table.statistic == "worst"


def test_bad_runs_are_named_and_the_others_continue(tmp_path):
    good = make_run(tmp_path, 0)
    (make_run(tmp_path, 1) / "policy.safetensors").unlink()
    (make_run(tmp_path, 2) / "policy.safetensors").write_bytes(b"nonsense")
    (make_run(tmp_path, 3) / "run.json").write_text("{")
    make_run(tmp_path, 4, env="NoSuchTask-v0")
    make_run(tmp_path, 5, env="Walker2d")  # its policy takes 11 numbers, the task gives 17
    results = {
        r.path.name: r for r in evaluate_runs(tmp_path, load_policy, ONE, episodes=1, show=None)
    }
    assert results.pop(good.name).status == "evaluated"
    assert {r.status for r in results.values()} == {"skipped"}
    reasons = {name: result.reason for name, result in results.items()}
    assert "nothing to evaluate yet" in reasons["Hopper-sac-vanilla-s1"]
    assert "safetensors" in reasons["Hopper-sac-vanilla-s2"]
    assert "run.json cannot be read" in reasons["Hopper-sac-vanilla-s3"]
    assert "'NoSuchTask-v0' is unknown" in reasons["NoSuchTask-v0-sac-vanilla-s4"]
    assert "this policy takes [..., 11] (setting none" in reasons["Walker2d-sac-vanilla-s5"]


def test_sampled_actions_of_a_run(tmp_path):
    folder = make_run(tmp_path, 0)
    (sampled,) = evaluate_runs(folder, load_policy, ONE, episodes=5, deterministic=False, show=None)
    mean = evaluate(load_policy(folder), "Hopper", ONE, episodes=5)
    again = evaluate(
        load_policy(folder), "Hopper", ONE, episodes=5, deterministic=False, simulations=2
    )
    assert sampled.table is not None
    np.testing.assert_array_equal(sampled.table.returns, again.returns)
    assert not np.any(sampled.table.returns == mean.returns)


def test_what_holds_no_runs_is_refused_with_what_is_there(tmp_path):
    with pytest.raises(InputError, match=r"holds nothing; a run folder has run\.json"):
        list(evaluate_runs(tmp_path, load_policy))
    (tmp_path / "model.zip").write_text("")
    (tmp_path / "logs").mkdir()
    with pytest.raises(InputError, match=r"which holds logs/, model\.zip; a run folder"):
        list(evaluate_runs(tmp_path, load_policy))
    with pytest.raises(InputError, match=r"model\.zip is a file; .*given as --policy"):
        list(evaluate_runs(tmp_path / "model.zip", load_policy))
    with pytest.raises(InputError, match="does not exist"):
        list(evaluate_runs(tmp_path / "nowhere", load_policy))
    make_run(tmp_path, 0)
    with pytest.raises(InputError, match="episodes is 0"):
        list(evaluate_runs(tmp_path, load_policy, episodes=0))
