"""The three gains, by hand and on cases where the answer is known."""

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.statistics import (
    NOT_POSITIVE,
    headline_gain,
    normalised_difference,
    pooled_ratio,
)

# group 1: self_paced 12, best rival b with 10 → +20%; group 2: 90 against a with 100 → −10%
GROUPS = {
    ("sac", "one"): {"self_paced": [[11, 13], [11, 13]], "a": [[8, 8]] * 2, "b": [[9, 11]] * 2},
    ("sac", "two"): {"self_paced": [[90, 90]] * 2, "a": [[100, 100]] * 2, "b": [[50, 50]] * 2},
}


def test_headline_by_hand():
    gain = headline_gain(GROUPS)
    assert gain.estimate.value == pytest.approx(0.05)
    assert gain.groups["sac", "one"].rival == "b"
    assert gain.groups["sac", "two"].rival == "a"
    assert gain.groups["sac", "two"].gain == pytest.approx(-0.1)
    assert gain.estimate.n == 12
    # runs of a method are all equal here, so the bootstrap has nothing to vary
    assert gain.estimate.low == pytest.approx(0.05)
    assert gain.estimate.high == pytest.approx(0.05)


def test_pooled_by_hand():
    # means over groups: self_paced 51, a 54, b 30 → 51/54 − 1
    gain = pooled_ratio(GROUPS)
    assert gain.rival == "a"
    assert gain.estimate.value == pytest.approx(51 / 54 - 1)


def test_normalised_by_hand():
    # (12 − 10)/(25 − 5) = .1 and (90 − 100)/(55 − 5) = −.2 → −.05
    nominal = {("sac", "one"): [24, 26], ("sac", "two"): [55, 55]}
    floor = dict.fromkeys(GROUPS, 5.0)
    assert normalised_difference(GROUPS, nominal, floor).estimate.value == pytest.approx(-0.05)


def test_rivals_can_be_named():
    gain = headline_gain(GROUPS, rivals=["b"])
    # 12/10 − 1 = .2 and 90/50 − 1 = .8
    assert gain.estimate.value == pytest.approx(0.5)


def test_a_rival_at_or_below_zero_is_undefined():
    groups = {**GROUPS, "three": {"self_paced": [5.0, 5.0], "a": [-1.0, 0.0]}}
    gain = headline_gain(groups)
    assert gain.estimate.value == pytest.approx(0.05)
    assert gain.undefined == {"three": "the unit of the gain is not positive"}


def test_groups_without_method_or_rival_are_named():
    groups = {**GROUPS, "x": {"a": [1.0]}, "y": {"self_paced": [1.0]}}
    assert headline_gain(groups).undefined == {"x": "no run of self_paced", "y": "no rival"}


def test_the_best_rival_is_chosen_anew_in_each_replicate():
    # Rivals a ∈ {1, 3} and b ∈ {1, 3}, each with mean 2. In a replicate (four equally likely draws
    # of two runs: means 1, 2, 2, 3) the best of the two has a distribution with P(3) = 7/16,
    # P(2) = 8/16, P(1) = 1/16. With the rival fixed at a, P(1) were 4/16.
    groups = {"g": {"self_paced": [6.0, 6.0], "a": [1.0, 3.0], "b": [1.0, 3.0]}}
    gain = headline_gain(groups, confidence=0.8)
    # gains are 6/best − 1: 1 (best 3), 2 (best 2), 5 (best 1). The 90% quantile is 2 when the
    # best is chosen again (P(5) = 1/16 < .1); with the rival fixed it would be 5 (P = 1/4 > .1).
    assert gain.estimate.low == pytest.approx(1)
    assert gain.estimate.high == pytest.approx(2)


def test_vanilla_and_its_nominal_return_are_drawn_together():
    # M_vanilla = nominal in each run, self_paced = 0 always, random 0: the difference is
    # −1 in every replicate only if both come from the same draw.
    groups = {"g": {"self_paced": [0.0, 0.0], "vanilla": [1.0, 3.0]}}
    gain = normalised_difference(groups, {"g": [1.0, 3.0]}, {"g": 0.0})
    assert (gain.estimate.low, gain.estimate.high) == (-1, -1)


def test_one_seed_gives_no_interval():
    estimate = headline_gain({"g": {"self_paced": [2.0], "a": [1.0, 1.0]}}).estimate
    assert estimate.value == 1
    assert not estimate.has_interval


def test_nothing_is_a_share_of_a_rival_below_zero():
    # The best rival's mean is −2, and negative in every replicate.
    groups = {"g": {"self_paced": [-1.0, -2.0, -3.0], "a": [-1.5, -2.5, -2.0]}}
    for gain in (headline_gain(groups), pooled_ratio(groups)):
        assert np.isnan(gain.estimate.value)
        assert not gain.estimate.has_interval
        assert not gain.groups
        assert set(gain.undefined.values()) == {NOT_POSITIVE}


def test_unknown_unit_is_named():
    gain = normalised_difference(GROUPS, {("sac", "one"): [1, 1]}, {})
    assert np.isnan(gain.estimate.value)
    assert gain.undefined == {
        ("sac", "one"): "the return of random actions is not known",
        ("sac", "two"): "no nominal return of vanilla",
    }


def test_interval_covers_the_truth():
    # self_paced ~ N(120, 10), one rival ~ N(100, 10), 20 seeds: true gain .2
    random = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        groups = {"g": {"self_paced": random.normal(120, 10, 20), "a": random.normal(100, 10, 20)}}
        estimate = headline_gain(groups, replicates=500, seed=trial).estimate
        covered += estimate.low <= 0.2 <= estimate.high
    # the percentile interval is a little short at n = 20: about 93%; standard error 1.8%
    assert 0.87 <= covered / 200 <= 0.99


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="no group has the method 'none'"):
        headline_gain(GROUPS, "none")
    with pytest.raises(InputError, match="has no runs"):
        headline_gain({"g": {"self_paced": [], "a": [1.0]}})
    with pytest.raises(InputError, match="give one for each run"):
        normalised_difference(
            {"g": {"self_paced": [1.0], "vanilla": [1.0]}}, {"g": [1.0, 2.0]}, {"g": 0.0}
        )
