"""Policies from elsewhere, few seeds and tasks that are not the paper's, in the report's sums."""

import json
from dataclasses import replace

import numpy as np
import pytest
from report_runs import below_zero, foreign_run

from drspcrl.curricula.registry import is_own_method
from drspcrl.report.collected import collect
from drspcrl.report.few import are_few
from drspcrl.report.names import looks, method_words
from drspcrl.report.results import results_of_runs
from drspcrl.report.summary import headline
from drspcrl.runfolder.runs import read_runs


@pytest.fixture(scope="module")
def mixed(synthetic, tmp_path_factory):
    """Runs of two learners on Hopper, of one on HalfCheetah, and policies from elsewhere."""
    root = tmp_path_factory.mktemp("mixed") / "runs"
    small = {"methods": ["vanilla", "self_paced"], "seeds": 2, "rows": 5, "episodes": 2}
    synthetic.write_runs(root, tasks=["Hopper"], algorithms=["sac", "ppo"], **small)
    synthetic.write_runs(root, tasks=["HalfCheetah"], algorithms=["sac"], **small)
    for seed in range(2):
        foreign_run(synthetic, root, "Hopper", "my policy", seed)
    foreign_run(synthetic, root, "Ant-v5", "my policy")
    return root


def test_a_policy_from_elsewhere_stands_beside_every_learner_of_its_task(mixed):
    made = collect(mixed, None, "")
    results = made.results["paper"]
    assert results.methods("sac", "Hopper") == ["vanilla", "self_paced", "my policy"]
    assert results.methods("ppo", "Hopper") == ["vanilla", "self_paced", "my policy"]
    assert results.methods("sac", "HalfCheetah") == ["vanilla", "self_paced"]
    cells = [results.cell(a, "Hopper", "my policy", ("action", 0.1)) for a in ("sac", "ppo")]
    assert cells[0] == cells[1]
    assert cells[0].n == 2
    # Where nothing was trained it has a group of its own.
    assert results.methods("foreign", "Ant-v5") == ["my policy"]
    assert made.algorithms == ["ppo", "sac", "foreign"]
    assert len(made.distinct) == 12 + 3
    assert len(made.found.runs) == 12 + 5


def test_it_belongs_to_neither_form_of_uncertainty(mixed):
    runs = read_runs(mixed).runs
    assert {run.uncertainty for run in runs if run.foreign} == {"none"}
    assert "sac" in collect(mixed, None, "").algorithms  # and not sac:transitions


def test_it_is_no_rival_unless_it_is_the_only_one(mixed):
    results = collect(mixed, None, "").results["paper"]
    made = headline(results)
    assert made is not None
    assert made.rivals == ("vanilla",)
    alone = [run for run in read_runs(mixed).runs if run.method != "vanilla"]
    alone = [replace(run, algorithm="sac") for run in alone if run.environment == "Hopper"]
    only = headline(results_of_runs(alone, "paper"))
    assert only is not None
    assert only.rivals == ("my policy",)


def test_a_name_with_the_version_is_the_papers_task(synthetic, tmp_path):
    synthetic.write_run(tmp_path, "Hopper-v5", "sac", "vanilla", 0, rows=5, episodes=2)
    synthetic.write_run(tmp_path, "Hopper", "sac", "self_paced", 0, rows=5, episodes=2)
    synthetic.write_run(tmp_path, "Ant-v5", "sac", "vanilla", 0, rows=5, episodes=2)
    assert collect(tmp_path, None, "").tasks == ["Hopper", "Ant-v5"]


def test_returns_below_zero_are_counted_from_random_actions(own_runs):
    results = collect(own_runs, None, "").results["paper"]
    made = headline(results)
    assert made is not None
    assert made.above_random
    runs = results.runs["sac", "Tank-v0"]
    ours = runs["self_paced"].mean() + 1890.0
    best = max(runs[m].mean() for m in ("vanilla", "fixed_radius")) + 1890.0
    assert made.gain.estimate.value == pytest.approx(ours / best - 1)
    assert made.pooled.estimate.value == pytest.approx(ours / best - 1)
    unit = results.nominal["sac", "Tank-v0"]["vanilla"].mean() + 1890.0
    assert made.normalised.estimate.value == pytest.approx((ours - best) / unit)


def test_without_random_actions_the_gain_stays_undefined(synthetic, tmp_path):
    for method in ("vanilla", "self_paced"):
        run = synthetic.write_run(tmp_path, "Tank-v0", "sac", method, 0, rows=5, episodes=2)
        below_zero(run, None)
    made = headline(collect(tmp_path, None, "").results["paper"])
    assert made is not None
    assert not made.above_random
    assert np.isnan(made.gain.estimate.value)
    assert set(made.normalised.undefined.values()) == {"the return of random actions is not known"}


def test_the_random_return_that_was_played_most_is_taken(synthetic, tmp_path):
    for seed, (mean, episodes) in enumerate([(1.0, 20), (2.0, 100), (3.0, 50)]):
        run = synthetic.write_run(tmp_path, "Tank-v0", "sac", "vanilla", seed, rows=5, episodes=2)
        told = {"random_return": {"mean": mean, "episodes": episodes}}
        (run / "evaluation.json").write_text(json.dumps(told))
    last = tmp_path / "Tank-v0-sac-vanilla-s2"
    assert collect(tmp_path, None, "").results["paper"].floors == {"Tank-v0": 2.0}
    for damaged in ("[]", '{"random_return": 3}', '{"random_return": {"mean": "x"}}', "{"):
        (last / "evaluation.json").write_text(damaged)
    assert collect(tmp_path, None, "").results["paper"].floors == {"Tank-v0": 2.0}


@pytest.mark.parametrize(
    ("counts", "few"),
    [
        ([], True),
        ([4], True),
        ([5], False),
        ([5, 5, 5, 4], False),
        ([5, 4, 4], True),
        ([1, 5], True),
    ],
)
def test_few_is_fewer_than_five_of_most(counts, few):
    assert are_few(counts) == few


def test_a_bootstrap_of_few_seeds_is_not_given(own_runs, small_runs):
    few, whole = (collect(runs, None, "") for runs in (own_runs, small_runs))
    for made, wanted in ((few, False), (whole, True)):
        found = made.headlines["paper"]["ours"]
        assert found.few is not wanted
        gains = (found.gain, found.pooled, found.normalised)
        assert [gain.estimate.has_interval for gain in gains] == [wanted] * 3
        assert found.chance.has_interval == wanted
        pooled = made.aggregates["paper"]["sac"]
        assert {e.has_interval for e in pooled.interquartile.values()} == {wanted}
        assert {e.has_interval for e in pooled.improvement.values()} == {wanted}
        assert {bool(np.isfinite(p.low).all()) for p in pooled.profiles.values()} == {wanted}
    # The half-width of Student's t stays in the tables.
    assert few.results["paper"].cell("sac", "Tank-v0", "vanilla", ("action", 0.1)).has_interval


def test_words_for_both_forms_of_a_method(synthetic, tmp_path):
    for form in ("worlds", "transitions"):
        for method in ("vanilla", "self_paced", "fixed", "self_paced:pacing=3", "mine:Own"):
            path = synthetic.write_run(
                tmp_path, "Hopper", "sac", method, 0, rows=5, episodes=2,
                folder=f"{form}-{method.replace(':', '-')}",
            )  # fmt: skip
            identity = {"env": "Hopper", "algorithm": "sac", "method": method, "seed": 0}
            (path / "config.yaml").write_text(json.dumps({**identity, "uncertainty": form}))
    words = {one.method: one.words for one in method_words(collect(tmp_path, None, "").found.runs)}
    assert words["vanilla"] == "the plain learner, trained in the simulator as it is"
    assert words["self_paced"].count("ε grows at the agent's own pace") == 2
    assert "worlds: trained in worlds" in words["self_paced"]
    assert "transitions: trained against the worst case" in words["self_paced"]
    assert words["fixed"].startswith("trained against the worst case")
    assert words["fixed_radius"].startswith("domain randomisation: worlds")
    assert words["self_paced:pacing=3"].endswith("with α=3")
    assert words["mine:Own"] == "a curriculum that is not of this library"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *[(name, True) for name in ("vanilla", "Self-Paced", "dom. rand.", "fixed:rate=1")],
        *[(name, False) for name in ("my policy", "SB3 SAC", "a=b", "mine:rate=1")],
    ],
)
def test_names_that_are_taken(name, own):
    assert is_own_method(name) == own


def test_a_policy_from_elsewhere_looks_like_no_other():
    drawn = looks(["vanilla", "fixed_radius", "self_paced", "one", "two"])
    assert len({look.marker for look in drawn.values()}) == 5
    assert len({look.light for look in drawn.values()}) == 5
