"""ACCEL's buffer, trap by trap."""

from itertools import pairwise

import numpy as np
import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import Accel
from drspcrl.curricula.accel import Buffer, mean_multiplier
from drspcrl.divergences import KL, TotalVariation, Wasserstein


def buffer(radii, scores, staleness=None, capacity=None) -> Buffer:
    size = len(radii)
    room = (capacity or size) - size
    stale = staleness or [0.0] * size
    arrays = (np.array([*a, *[0.0] * room], float) for a in (radii, scores, stale))
    return Buffer(*arrays, size=size)


def small(**changes) -> Accel:
    return Accel(KL(), 1.0, **{"capacity": 4, **changes})


def run(rule: Accel, updates: int, seed: int = 0, signal=QUIET) -> list[dict]:
    states = [rule.init(seed)]
    for _ in range(updates):
        states.append(rule.update(states[-1], signal))
    return states


def test_weights_are_of_ranks_not_of_sort_order():
    # Scores 5, 1, 3 have ranks 1, 3, 2; argsort alone would say 1, 2, 0 of something else.
    # T = .5: rank^(−2) = 1, 1/9, 1/4, sum 49/36.
    weights = small(temperature=0.5).weights(buffer([0.1, 0.2, 0.3], [5, 1, 3]))
    np.testing.assert_allclose(weights, np.array([36, 4, 9]) / 49)


def test_staleness_has_its_share():
    rule = small(temperature=0.5, stale=0.3)
    weights = rule.weights(buffer([0.1, 0.2, 0.3], [5, 1, 3], [0, 3, 1]))
    expected = 0.7 * np.array([36, 4, 9]) / 49 + 0.3 * np.array([0, 3, 1]) / 4
    np.testing.assert_allclose(weights, expected)


def test_empty_slots_have_no_weight():
    partly = buffer([0.1, 0.2], [-1.0, -2.0], capacity=4)  # zeros would outrank these
    assert small().weights(partly).shape == (2,)
    states = run(small(capacity=64), 50)
    for state in states[1:]:
        assert state["slot"] < state["size"]


def test_an_infinite_score_ranks_first():
    # β* = ∞ at ε = 0
    weights = small(temperature=0.5).weights(buffer([0.0, 0.2], [np.inf, 3.0]))
    np.testing.assert_allclose(weights, [0.8, 0.2])


def test_a_free_slot_takes_any_score():
    after = small().insert(buffer([0.1, 0.2], [5, 4], [2, 3], capacity=4), 0.3, -9.0)
    assert after.size == 3
    np.testing.assert_array_equal(after.radii, [0.1, 0.2, 0.3, 0.0])
    np.testing.assert_array_equal(after.staleness, [2, 3, 0, 0])


def test_a_full_buffer_evicts_the_least_weight_and_only_for_a_better_score():
    full = buffer([0.1, 0.2, 0.3, 0.4], [5, 1, 3, 2])
    better = small().insert(full, 0.9, 1.5)
    np.testing.assert_array_equal(better.radii, [0.1, 0.9, 0.3, 0.4])
    worse = small().insert(full, 0.9, 0.5)
    np.testing.assert_array_equal(worse.radii, full.radii)
    # The least weight is not the least score where staleness speaks for the latter.
    stale = buffer([0.1, 0.2, 0.3, 0.4], [5, 1, 3, 2], [1, 9, 1, 0])
    after = small(stale=0.9).insert(stale, 0.9, 4.0)
    np.testing.assert_array_equal(after.radii, [0.1, 0.2, 0.3, 0.9])


def test_near_equal_radii_are_one_entry_with_the_newest_score():
    before = buffer([0.1, 0.2], [5, 4], [2, 3], capacity=4)
    after = small(duplicate=0.01).insert(before, 0.2009, 7.0)
    assert after.size == 2
    np.testing.assert_array_equal(after.radii, before.radii)
    np.testing.assert_array_equal(after.scores[:2], [5, 7])
    np.testing.assert_array_equal(after.staleness[:2], [2, 3])


def test_it_starts_easy_and_fills_before_it_replays():
    for seed in range(20):
        first, second = run(small(capacity=32), 1, seed)
        assert (first["size"], first["slot"]) == (0, -1)
        assert first["epsilon"] <= 0.1
        assert second["size"] >= 16
        assert second["radii"][: second["size"]].max() <= 0.1


def test_a_range_too_narrow_to_fill_the_buffer_still_replays():
    state = run(small(capacity=64, easy=1e-3, duplicate=1e-3), 3)[-1]
    assert 0 < state["size"] < 32
    assert state["slot"] >= 0


def test_staleness_counts_replay_draws_and_restarts_for_the_drawn():
    states = run(small(capacity=16), 30)
    for before, after in pairwise(states[1:]):
        assert after["staleness"][after["slot"]] == 0
        old = [i for i in range(before["size"]) if before["radii"][i] == after["radii"][i]]
        others = [i for i in old if i != after["slot"]]
        np.testing.assert_array_equal(after["staleness"][others], before["staleness"][others] + 1)


def test_a_replayed_entry_is_rescored_and_edited():
    rule = small(capacity=32)
    states = run(rule, 2)
    before = states[-1]
    louder = QUIET._replace(draws=3 * QUIET.draws)
    after = rule.update(before, louder)
    slot, ε = before["slot"], before["epsilon"]
    assert after["scores"][slot] == pytest.approx(3 * before["scores"][slot])
    edits = [ε - 0.05, ε + 0.05] if ε >= 0.05 else [0.0, ε + 0.05]
    found = after["radii"][: after["size"]]
    assert any(np.isclose(found, edit, atol=1e-12).any() for edit in edits)


def test_edits_stay_in_the_budget_and_reach_beyond_the_easy_range():
    rule = small(capacity=32, edit=0.3, by_epsilon=True)
    states = run(rule, 60)
    assert max(state["epsilon"] for state in states) > 0.3
    for state in states:
        assert state["radii"].min() >= 0
        assert state["radii"].max() <= 1.0


def test_scores_are_exact_multipliers_in_units_of_reward():
    # Two equally likely values ±1 under total variation: value = −2ε below ε = .5, so β* = 2.
    draws = np.array([[1.0, -1.0], [1.0, -1.0]])
    rule = Accel(TotalVariation(), 1.0)
    for scale in (1.0, 100.0):  # a learner whose values have grown scores the same
        signal = QUIET._replace(draws=scale * draws, reward_scale=0.5 * scale)
        assert rule._scorer(signal)(0.2) == pytest.approx(4.0)
        weighed = Accel(TotalVariation(), 1.0, by_epsilon=True)._scorer(signal)
        assert weighed(0.2) == pytest.approx(0.8)
        assert weighed(0.0) == 0.0
    # β* = ∞ at ε = 0 under KL, but ε·β* vanishes there
    assert Accel(KL(), 1.0, by_epsilon=True)._scorer(QUIET)(0.0) == 0.0


def test_the_papers_score_favours_the_smallest_radius_and_the_other_the_largest():
    draws = QUIET.draws
    betas = [mean_multiplier(KL(), draws, ε) for ε in (0.01, 0.1, 0.4)]
    assert betas[0] > betas[1] > betas[2] > 0
    assert 0.01 * betas[0] < 0.1 * betas[1] < 0.4 * betas[2]
    assert mean_multiplier(KL(), draws, 0.0) == np.inf
    assert mean_multiplier(KL(), draws, 3.0) == 0.0  # past log 8 all draws saturate
    # KL near 0: β* ≈ sd/√(2ε)
    spread = draws.std(axis=1).mean()
    assert mean_multiplier(KL(), draws, 1e-8) == pytest.approx(spread / np.sqrt(2e-8), rel=1e-3)


def test_without_draws_of_its_own_support_the_signals_multiplier_serves():
    ball = Wasserstein.between(np.arange(5.0))
    assert Accel(ball, 1.0)._scorer(QUIET)(0.3) == pytest.approx(0.1)
    none = QUIET._replace(draws=np.zeros((0, 0)))
    assert Accel(KL(), 1.0)._scorer(none)(0.3) == pytest.approx(0.1)


def test_an_unknown_score_changes_nothing_but_the_count():
    rule = small()
    state = run(rule, 3)[-1]
    after = rule.update(state, QUIET._replace(draws=np.full((2, 4), np.nan)))
    assert after["epsilon"] == state["epsilon"]
    np.testing.assert_array_equal(after["scores"], state["scores"])
