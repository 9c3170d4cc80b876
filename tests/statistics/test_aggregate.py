"""Interquartile mean, performance profile, probability of improvement and ranks, by hand."""

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.statistics import (
    count_wins,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    ranks,
)


def test_interquartile_mean_by_hand():
    # 8 scores, 2 cut at either end: mean(3, 4, 5, 6) = 4.5; the outlier does not matter
    estimate = interquartile_mean([[1, 3, 5, 1000], [2, 4, 6, 7]])
    assert estimate.value == 4.5
    assert estimate.n == 8
    assert estimate.low <= 4.5 <= estimate.high


def test_bootstrap_stays_within_its_stratum():
    # each task is constant, so every replicate is the data itself
    estimate = interquartile_mean([[1, 1, 1, 1], [2, 2, 2, 2]])
    assert (estimate.low, estimate.value, estimate.high) == (1.5, 1.5, 1.5)


def test_bootstrap_interval_by_enumeration():
    # One task, runs {0, 4}: the four equally likely draws have means 0, 2, 2, 4, so the 95%
    # percentile interval is [0, 4] and the 40% one [2, 2]. (n = 2 cuts nothing.)
    wide = interquartile_mean([[0.0, 4.0]])
    narrow = interquartile_mean([[0.0, 4.0]], confidence=0.4)
    assert (wide.low, wide.high) == (0, 4)
    assert (narrow.low, narrow.high) == (2, 2)


def test_settings_of_a_run_are_drawn_together():
    # Two runs whose two settings cancel: drawn together every replicate has mean 0; were the
    # settings drawn apart, means of ±1 would appear.
    scores = np.array([[1.0, -1.0], [-1.0, 1.0]])
    together = interquartile_mean([scores])
    apart = interquartile_mean([scores[:, 0], scores[:, 1]])
    assert (together.low, together.high) == (0, 0)
    assert (apart.low, apart.high) == (-1, 1)


def test_one_run_in_a_task_gives_no_interval():
    assert not interquartile_mean([[1.0], [2.0, 3.0]]).has_interval


def test_same_seed_same_interval():
    scores = [np.random.default_rng(i).normal(size=5) for i in range(3)]
    assert interquartile_mean(scores, seed=4) == interquartile_mean(scores, seed=4)
    assert interquartile_mean(scores, seed=4) != interquartile_mean(scores, seed=5)


def test_profile_by_hand():
    profile = performance_profile([[0.1, 0.5], [0.5, 0.9]], [0.0, 0.5, 0.8, 1.0])
    # strictly above: 4/4, 1/4, 1/4, 0/4
    np.testing.assert_array_equal(profile.share, [1, 0.25, 0.25, 0])
    assert profile.n == 4
    assert (profile.low <= profile.share).all()
    assert (profile.share <= profile.high).all()


def test_improvement_by_hand():
    # task 1: pairs (1,0) (1,1) (2,0) (2,1) → 1 + ½ + 1 + 1 = 3.5 of 4; task 2: 0 of 4
    estimate = probability_of_improvement([[1, 2], [0, 0]], [[0, 1], [5, 6]])
    assert estimate.value == pytest.approx((3.5 / 4 + 0) / 2)
    assert estimate.n == 8


def test_improvement_of_a_method_over_itself_is_a_half():
    scores = [np.arange(5.0), np.arange(3.0)]
    assert probability_of_improvement(scores, scores).value == 0.5


def test_improvement_and_its_reverse_sum_to_one():
    random = np.random.default_rng(3)
    a = [random.normal(size=(5, 4)) for _ in range(3)]
    b = [random.normal(0.3, 1, size=(6, 4)) for _ in range(3)]
    total = probability_of_improvement(a, b).value + probability_of_improvement(b, a).value
    assert total == pytest.approx(1, abs=1e-12)


def test_each_setting_is_a_task():
    a, b = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    joint = probability_of_improvement([a], [b])
    apart = probability_of_improvement([a[:, 0], a[:, 1]], [b[:, 0], b[:, 1]])
    assert joint.value == apart.value == 0.5


def test_ranks_share_ties_and_skip_the_missing():
    assert ranks({"a": 1.0, "b": 3.0, "c": 3.0, "d": float("nan")}) == {"a": 3, "b": 1, "c": 1}


def test_wins_by_hand():
    cells = [
        {"x": 3.0, "y": 2.0, "z": 1.0},  # x best
        {"x": 2.0, "y": 3.0, "z": 1.0},  # x second
        {"x": 1.0, "y": 3.0, "z": 2.0},  # x third
        {"x": 5.0},  # nobody to compare with
        {"x": float("nan"), "y": 1.0, "z": 2.0},  # x missing
    ]
    wins = count_wins(cells, "x")
    assert (wins.best, wins.top_two, wins.n) == (1, 2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interquartile_mean([]), "task without runs"),
        (lambda: interquartile_mean([[1.0, 2.0]], replicates=0), "replicates is 0"),
        (lambda: performance_profile([[1.0]], [1.0, 0.0]), "increasing"),
        (lambda: probability_of_improvement([[1.0]], [[1.0], [2.0]]), "different tasks"),
        (lambda: count_wins([{"a": 1.0}], "b"), "no cell has the method 'b'"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
