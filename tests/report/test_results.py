"""From episodes to cells: hand-worked means, missing settings, diverged episodes, curves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drspcrl.report.curves import bin_means, curves_of_runs
from drspcrl.report.results import (
    NOMINAL,
    restricted,
    results_of_paper,
    results_of_runs,
)
from drspcrl.report.summary import aggregates, group_means, headline
from drspcrl.runfolder.runs import Run
from drspcrl.runfolder.tables import Evaluation


def evaluation(scores: dict[tuple[str, float], list[float]]) -> Evaluation:
    rows = [(p, level, i, r) for (p, level), rs in scores.items() for i, r in enumerate(rs)]
    names, levels, episodes, returns = map(np.array, zip(*rows, strict=True))
    return Evaluation(names, levels, episodes, returns, np.full(len(rows), 1000.0))


def run(method: str, seed: int, scores=None, metrics=None, task="Hopper") -> Run:
    return Run(
        Path(f"{method}-{seed}"), task, "sac", method, seed, "finished", False, {}, {},
        metrics or {}, {"paper": evaluation(scores)} if scores else {},
    )  # fmt: skip


def three(nominal: float, a: float, b: float) -> dict[tuple[str, float], list[float]]:
    return {
        NOMINAL: [nominal],
        ("action", 0.1): [a - 1, a + 1],
        ("observation", 0.1): [b, b],
    }


RUNS = [
    run("vanilla", 0, three(100, 50, 10)),
    run("vanilla", 1, three(110, 60, 20)),
    run("self_paced", 0, three(90, 70, 50)),
    run("self_paced", 1, three(92, 80, 60)),
]


def test_a_cell_is_the_mean_over_seeds_of_each_runs_mean():
    results = results_of_runs(RUNS, "paper")
    cell = results.cell("sac", "Hopper", "vanilla", ("action", 0.1))
    # seeds 50 and 60: mean 55, s = 7.07, half-width 12.706 · 7.07 / √2 = 63.5
    assert (cell.value, cell.n) == (55, 2)
    assert cell.half_width == pytest.approx(12.7062 * 5, abs=1e-3)
    assert results.settings == (("action", 0.1), ("observation", 0.1))
    assert results.cell("sac", "Hopper", "fixed", NOMINAL).n == 0


def test_group_mean_by_hand():
    means = group_means(results_of_runs(RUNS, "paper"))
    # vanilla: runs (50+10)/2 = 30 and (60+20)/2 = 40
    assert means["sac", "Hopper", "vanilla"].value == 35
    assert means["sac", "Hopper", "self_paced"].value == 65


def test_headline_by_hand():
    made = headline(results_of_runs(RUNS, "paper"))
    assert made is not None
    assert made.gain.estimate.value == pytest.approx(65 / 35 - 1)
    # (65 − 35) / (105 − random Hopper 17.59)
    assert made.normalised.estimate.value == pytest.approx(30 / (105 - 17.59))
    assert (made.wins["sac"].best, made.wins["sac"].n) == (2, 2)


def test_no_headline_without_the_method_or_a_rival():
    assert headline(results_of_runs(RUNS[:2], "paper")) is None
    assert headline(results_of_runs(RUNS[2:], "paper")) is None


def test_a_run_without_every_setting_counts_in_its_cells_only():
    partial = {NOMINAL: [80.0], ("action", 0.1): [1.0]}
    results = results_of_runs([*RUNS, run("vanilla", 2, partial)], "paper")
    assert results.cell("sac", "Hopper", "vanilla", ("action", 0.1)).n == 3
    assert results.cell("sac", "Hopper", "vanilla", ("observation", 0.1)).n == 2
    assert len(results.runs["sac", "Hopper"]["vanilla"]) == 2
    assert "1 of 3 runs lack settings" in results.notes[0]


def test_diverged_episodes_are_left_out_and_counted():
    scores = three(100, 50, 10)
    scores["action", 0.1] = [float("nan"), 30.0]
    results = results_of_runs([run("vanilla", 0, scores)], "paper")
    assert results.cell("sac", "Hopper", "vanilla", ("action", 0.1)).value == 30
    assert results.notes == ("vanilla-0: 1 episodes diverged and are left out",)


def test_a_task_nobody_knows_still_gets_profile_and_improvement():
    odd = [replace(r, environment="MyRobot-v0") for r in RUNS]
    aggregate = aggregates(results_of_runs(odd, "paper"), "sac")
    assert aggregate.scale.startswith("return in MyRobot-v0, because ")
    assert aggregate.left_out == {}
    assert aggregate.improvement["self_paced", "vanilla"].value == 1
    assert aggregate.improvement["vanilla", "self_paced"].value == 0


def test_comparison_is_over_what_both_sides_have():
    ours, paper = results_of_runs(RUNS, "paper"), results_of_paper()
    here, there = restricted(ours, paper), restricted(paper, ours)
    assert set(here.runs) == set(there.runs) == {("sac", "Hopper")}
    assert there.settings == here.settings == (("action", 0.1), ("observation", 0.1))
    assert there.runs["sac", "Hopper"]["vanilla"].tolist() == [[1478.8, 811.9]]


def test_bins_by_hand():
    steps, values = np.array([1, 2, 3, 9.0]), np.array([1, 3, np.nan, 5.0])
    # edges 0 2 4 6 8 10 12: bin 1 holds 1 and 3, bin 5 holds 5; between them a straight line
    binned = bin_means(steps, values, np.arange(0, 13, 2.0))
    np.testing.assert_allclose(binned, [2, 2.75, 3.5, 4.25, 5, np.nan])


def test_curves_count_the_seeds_that_got_so_far():
    def metrics(last: int) -> dict[str, np.ndarray]:
        steps = np.arange(1, last + 1.0)
        return {"step": steps, "episode_return": 2 * steps, "epsilon": 0 * steps}

    runs = [run("vanilla", 0, metrics=metrics(10)), run("vanilla", 1, metrics=metrics(20))]
    curve = curves_of_runs(runs, points=10)["sac", "Hopper"]["vanilla"]["episode_return"]
    np.testing.assert_array_equal(curve.steps, np.arange(2, 21, 2))
    np.testing.assert_array_equal(curve.n, [2] * 5 + [1] * 5)
    # a bin holds steps (1, 2), (3, 4), ...: returns 2·1.5 = 3, 7, ...
    np.testing.assert_allclose(curve.mean, np.arange(3, 40, 4))
