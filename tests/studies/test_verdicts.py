"""Verdicts by their printed rules, and the sums behind them worked by hand."""

from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from drspcrl.data import paper_results
from drspcrl.report.results import NOMINAL, Group, Results
from drspcrl.runfolder.runs import read_run
from drspcrl.statistics import Estimate, count_wins, headline_gain, mean_interval
from protocol_pages import verdicts
from protocol_pages.evidence import SEVEN, Evidence, read_evidence
from protocol_pages.readme_table import readme_table
from protocol_pages.robustness_claims import (
    find_cells,
    find_gain,
    find_growth,
    find_narrowing,
    find_stable,
    find_tradeoff,
    find_wr2l,
)
from protocol_pages.sums import (
    bootstrap,
    by_chance,
    gain,
    growth,
    growth_per_decade,
    mean_gain,
    means_of,
    narrowing,
    part,
    share_in_top,
)
from protocol_pages.training_claims import find_smooth
from synthetic_runs import write_run

HOPPER: Group = ("ppo", "Hopper")
SETTINGS = tuple(
    (kind, level)
    for kind in ("action", "observation", "environment")
    for level in (0.1, 0.2, 0.3, 0.4, 0.5)
)


def made(value, low, high):
    return Estimate(value, low, high, 10, "")


@pytest.mark.parametrize(
    ("estimate", "paper", "verdict"),
    [
        (made(0.3, 0.1, 0.5), 0.241, "holds"),
        (made(0.2, 0.1, 0.5), 0.241, "holds in direction, not in size"),
        (made(0.2, 0.1, 0.5), None, "holds"),
        (made(0.2, -0.1, 0.5), None, "undecided"),
        (made(0.2, nan, nan), None, "undecided"),
        (made(-0.2, -0.3, -0.1), None, "does not hold"),
        (made(nan, nan, nan), None, "undecided"),
        (Estimate(nan, nan, nan, 0, ""), 0.241, "not yet measured"),
    ],
)
def test_above(estimate, paper, verdict):
    assert verdicts.above(estimate, paper) == verdict
    assert verdict in verdicts.RULES


@pytest.mark.parametrize(
    ("value", "paper", "verdict"),
    [
        (0.2, None, "holds"),
        (0.3, 0.241, "holds"),
        (0.2, 0.241, "holds in direction, not in size"),
        (0.08, None, "undecided"),  # above the range, but its interval begins below 0
        (-0.1, None, "undecided"),
        (-0.1, 0.241, "does not hold"),  # its interval ends at 0.1, below the paper's number
        (-0.1, 0.05, "undecided"),
        (-0.3, None, "does not hold"),
    ],
)
def test_no_effect_may_be_a_range(value, paper, verdict):
    chance = made(-0.1, -0.2, 0.05)
    assert verdicts.beyond(made(value, value - 0.1, value + 0.2), chance, paper) == verdict


def test_better_than_chance_is_not_better_than_the_best():
    # Chance lies wholly below 0; a tie with the best rival is above it, and does not hold.
    chance = made(-0.1, -0.19, -0.01)
    assert verdicts.beyond(made(-0.005, -0.06, 0.05), chance) == "undecided"
    assert verdicts.beyond(made(0.1, 0.05, 0.15), chance) == "holds"


def test_chance_deals_whole_runs_among_methods_that_are_not_known_to_differ():
    returns = {"self_paced": 1.0, "fixed": 3.0, "vanilla": 9.0}
    scores = {HOPPER: {m: np.full((2, 3), value) for m, value in returns.items()}}

    def of(method):
        return by_chance(scores, lambda means: means[HOPPER][method].mean(axis=1))

    # Two runs of 1 and two of 3: the mean of two of them is 1, 2 or 3.
    assert (of("self_paced").low, of("self_paced").high) == (1, 3)
    assert of("self_paced").value == pytest.approx(2, abs=0.03)
    assert (of("vanilla").low, of("vanilla").high) == (9, 9)
    assert by_chance({}, lambda means: np.ones(1)).n == 0


def test_without_intervals_nothing_is_decided_against_chance():
    assert verdicts.beyond(made(0.5, nan, nan), made(0, -0.1, 0.1)) == "undecided"
    assert verdicts.beyond(made(0.5, 0.4, 0.6), made(nan, nan, nan)) == "undecided"
    assert verdicts.beyond(Estimate(nan, nan, nan, 0, ""), made(0, -1, 1)) == "not yet measured"


def test_an_interval_that_holds_nothing_and_excludes_the_papers_number_fails():
    assert verdicts.above(made(0.2, 0.1, 0.5), 0.9, nothing=2 / 7) == "does not hold"
    assert verdicts.above(made(0.2, 0.1, 0.95), 0.9, nothing=2 / 7) == "undecided"


def test_the_level_of_no_effect_moves_the_verdict():
    assert verdicts.above(made(0.5, 0.3, 0.7), None, nothing=2 / 7) == "holds"
    assert verdicts.above(made(0.2, 0.1, 0.25), None, nothing=2 / 7) == "does not hold"


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (made(0.1, 0.05, 0.2), "holds"),
        (made(0.1, 0.05, 0.3), "undecided"),
        (made(0.5, 0.3, 0.6), "does not hold"),
        (made(0.1, nan, nan), "undecided"),
    ],
)
def test_below(estimate, verdict):
    assert verdicts.below(estimate, 0.25) == verdict


def test_a_claim_of_several_parts_needs_them_all():
    assert verdicts.together(["holds", "holds"]) == "holds"
    assert verdicts.together(["holds", "undecided", "does not hold"]) == "does not hold"
    assert verdicts.together(["holds", "undecided"]) == "undecided"


@pytest.mark.parametrize(
    ("meeting", "verdict"),
    [(20, "holds"), (19, "holds"), (18, "undecided"), (10, "undecided"), (9, "does not hold")],
)
def test_claims_about_every_run(meeting, verdict):
    assert verdicts.share_of_runs(meeting, 20) == verdict
    assert verdicts.share_of_runs(0, 0) == "not yet measured"


def test_cells_are_counted_as_the_library_counts_them():
    evidence = read_evidence_of_nothing()
    cells = {}
    for c in paper_results():
        key = c.algorithm, c.environment, c.perturbation, c.level
        cells.setdefault(key, {})[c.method] = c.mean
    wins, scores = count_wins(cells.values()), part(evidence.paper, SEVEN)
    for places, won in ((1, wins.best), (2, wins.top_two)):
        share = share_in_top(means_of(scores), "self_paced", places)
        np.testing.assert_allclose(share, [won / wins.n])


def test_the_gain_without_an_interval_is_the_librarys():
    scores = part(read_evidence_of_nothing().paper, SEVEN)
    found = mean_gain(means_of(scores), "self_paced")
    np.testing.assert_allclose(found, [headline_gain(scores).estimate.value])


def test_growth_by_hand():
    # Low level: 12 against 10, +20%; high level: 6 against 4, +50%.
    scores = {HOPPER: {"self_paced": np.array([[12.0, 6]]), "fixed": np.array([[10.0, 4]])}}
    np.testing.assert_allclose(growth(scores, "self_paced", [0], [1]), [0.3])


def test_growth_with_the_radius_by_hand():
    # ε = 0.1 and 10, two decades: 120 to 80 is −20 a decade, of a mean of 100.
    found = growth_per_decade([np.array([120.0]), np.array([80.0])], [0.1, 10])
    np.testing.assert_allclose(found, [-0.2])


def test_the_tradeoff_needs_three_radii_and_leaves_other_variants_out(tmp_path):
    labels = ["fixed", "fixed:epsilon_budget=0.1", "fixed:epsilon_budget=0.1,sensor=0"]
    for method in labels:
        for seed in (0, 1):
            write_run(tmp_path, "Hopper", "ppo", method, seed, episodes=2)
    assert find_tradeoff(read_evidence(tmp_path)).verdict == "not yet measured"
    for seed in (0, 1):
        write_run(tmp_path, "Hopper", "ppo", "fixed:epsilon_budget=0.01", seed, episodes=2)
    found = find_tradeoff(read_evidence(tmp_path))
    assert found.ours.endswith("6 runs")
    assert "(1 of 1 groups)" in found.verdict


def test_narrowing_by_hand():
    # Half as wide in one group and twice as wide in the other: nothing in the geometric mean.
    wide, narrow = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    half = {HOPPER: {"self_paced": narrow, "fixed": wide}}
    assert narrowing(half, "self_paced", "fixed").value == pytest.approx(0.5)
    both = {**half, ("sac", "Hopper"): {"self_paced": wide, "fixed": narrow}}
    assert narrowing(both, "self_paced", "fixed").value == pytest.approx(0)


def test_the_interval_of_a_narrowing_covers():
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        pair = {m: random.normal(size=(5, 1)) * s for m, s in (("self_paced", 1), ("fixed", 2))}
        found = narrowing({HOPPER: pair}, "self_paced", "fixed")
        covered += found.low < 0.5 < found.high
    assert 0.92 < covered / 400 < 0.98


def test_the_bootstrap_draws_seeds_and_needs_two():
    scores = {HOPPER: {"self_paced": np.array([[1.0], [3.0]])}}
    found = bootstrap(scores, lambda means: means[HOPPER]["self_paced"].mean(axis=1))
    assert (found.value, found.low, found.high, found.n) == (2, 1, 3, 2)
    one = bootstrap({HOPPER: {"self_paced": np.ones((1, 1))}}, lambda means: np.ones(1))
    assert (one.value, one.has_interval) == (1, False)
    assert bootstrap({}, lambda means: np.ones(1)).n == 0


def test_a_gain_that_is_not_defined_is_not_called_unmeasured():
    found = gain({HOPPER: {"self_paced": np.ones((2, 1)), "fixed": -np.ones((2, 1))}}, "self_paced")
    assert (np.isnan(found.value), found.n) == (True, 4)
    assert verdicts.above(found) == "undecided"


def read_evidence_of_nothing() -> Evidence:
    return read_evidence(Path("no such folder"))


def evidence_of(methods: dict[str, np.ndarray], group=HOPPER) -> Evidence:
    """Evidence of one group: method → [runs, 15]; unperturbed returns are 1,000."""
    cells = {
        (*group, m, s): mean_interval(x[:, i])
        for m, x in methods.items()
        for i, s in enumerate(SETTINGS)
    }
    nominal = {group: {m: np.full(len(x), 1000.0) for m, x in methods.items()}}
    cells |= {(*group, m, NOMINAL): mean_interval(x) for m, x in nominal[group].items()}
    nothing = read_evidence_of_nothing()
    results = Results(SETTINGS, cells, {group: methods}, nominal)
    return Evidence((), results, nothing.paper, nothing.plan, ())


def evidence_of_groups(methods: dict[str, np.ndarray], groups: list[Group]) -> Evidence:
    """The same runs in several groups."""
    parts = [evidence_of(methods, group) for group in groups]
    cells = {key: cell for part in parts for key, cell in part.results.cells.items()}
    runs = dict.fromkeys(groups, methods)
    nominal = {
        group: part.results.nominal[group] for group, part in zip(groups, parts, strict=True)
    }
    return replace(parts[0], results=Results(SETTINGS, cells, runs, nominal))


def returns(mean: float, spread: float = 1.0, slope: float = 0.0, seeds: int = 5) -> np.ndarray:
    levels = np.array([level for _, level in SETTINGS])
    seed = np.linspace(-1, 1, seeds)[:, None]
    return mean + spread * seed + slope * (levels - 0.3)


@pytest.fixture
def clear_win() -> Evidence:
    """self_paced at 150 against 100, with the advantage growing and a tenth of fixed's spread."""
    rivals = {m: returns(100, spread=10) for m in SEVEN if m != "self_paced"}
    return evidence_of({**rivals, "self_paced": returns(150, slope=50)})


def test_a_clear_win_holds(clear_win):
    found = find_gain(clear_win)
    assert found.ours.startswith("+50.0% [")
    assert found.verdict == "holds (1 of 12 groups)"
    cells = find_cells(("ppo",), 2, 55 / 60)(clear_win)
    assert cells.ours.startswith("15/15: 100% [100%, 100%]; by chance ")
    # All cells of one group go together, and two of seven methods have them all by chance.
    assert cells.verdict == "undecided (1 of 4 groups)"
    # (150 + 7.5 − 100) / 100 at levels 0.4 and 0.5, (150 − 7.5 − 100) / 100 at 0.1 and 0.2
    assert find_growth(clear_win).ours.startswith("+15.0 points")
    assert find_growth(clear_win).verdict == "holds (1 of 12 groups)"
    assert find_narrowing(None, None, None)(clear_win).ours.startswith("narrower by +90.0%")


def test_cells_won_in_every_group_hold(clear_win):
    methods = dict(clear_win.results.runs[HOPPER])
    tasks = ("Hopper", "HalfCheetah", "Walker2d", "Humanoid")
    everywhere = evidence_of_groups(methods, [("ppo", task) for task in tasks])
    cells = find_cells(("ppo",), 2, 55 / 60)(everywhere)
    assert cells.ours.startswith("60/60: 100% [100%, 100%]; by chance ")
    assert cells.verdict == "holds (4 of 4 groups)"


def test_the_readmes_table_says_where_no_rival_is_positive():
    rivals = {m: returns(-100) for m in SEVEN if m != "self_paced"}
    row = readme_table(evidence_of({**rivals, "self_paced": returns(5)})).splitlines()[2]
    assert row.split(" | ")[4] == "–"


def test_a_clear_loss_does_not_hold():
    rivals = {m: returns(100) for m in SEVEN if m != "self_paced"}
    evidence = evidence_of({**rivals, "self_paced": returns(80)})
    assert find_gain(evidence).verdict == "does not hold (1 of 12 groups)"
    assert find_cells(("ppo",), 2, 55 / 60)(evidence).verdict == "does not hold (1 of 4 groups)"


def test_fewer_seeds_are_said():
    rivals = {m: returns(100) for m in SEVEN if m != "self_paced"}
    evidence = evidence_of({**rivals, "self_paced": returns(150, seeds=3)})
    assert find_gain(evidence).verdict == "so far holds (1 of 12 groups)"


def test_a_setting_that_changes_little_is_stable():
    steady = {f"self_paced:pacing={a}": returns(100 + a) for a in (1, 10)}
    assert find_stable("pacing")(evidence_of(steady)).verdict == "holds (1 of 3 groups)"
    assert find_stable("rate")(evidence_of(steady)).verdict == "not yet measured"
    shaky = {f"self_paced:pacing={a}": returns(10 * a) for a in (1, 10)}
    assert find_stable("pacing")(evidence_of(shaky)).verdict == "does not hold (1 of 3 groups)"


def test_wr2l_near_zero_is_near_random_actions():
    # Random actions on HalfCheetah return −278, vanilla 1,000 here: −250 is 2% of the way.
    group, methods = ("ppo", "HalfCheetah"), {"vanilla": returns(500)}
    low = evidence_of({**methods, "wr2l": returns(-250)}, group)
    assert find_wr2l(low).verdict == "holds (1 of 2 groups)"
    assert find_wr2l(low).ours.startswith("+2.2%")
    high = evidence_of({**methods, "wr2l": returns(400)}, group)
    assert find_wr2l(high).verdict == "does not hold (1 of 2 groups)"


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [
        ("0.1,0.5,0.9", "holds"),
        ("0.1,0.9,0.86", "holds"),
        ("0.1,0.9,0.8", "does not hold"),
        ("0.1,0.2,0.4", "does not hold"),
        (",,", "not yet measured"),
    ],
)
def test_smooth_growth(tmp_path, epsilon, verdict):
    folder = write_run(tmp_path, "Hopper", "ppo", "self_paced", 0, rows=1, episodes=1)
    rows = "".join(f"{i},{value}\n" for i, value in enumerate(epsilon.split(","), start=1))
    (folder / "metrics.csv").write_text(f"step,epsilon\n{rows}")
    nothing = read_evidence_of_nothing()
    evidence = Evidence((read_run(folder),), nothing.results, nothing.paper, nothing.plan, ())
    assert find_smooth(evidence).verdict.removeprefix("so far ").startswith(verdict)
