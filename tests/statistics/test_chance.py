"""What G is by chance: worked by hand, and whether the range means what it says."""

import numpy as np
import pytest

from drspcrl.curricula.registry import BASELINES
from drspcrl.errors import InputError
from drspcrl.statistics import gain_by_chance, headline_gain
from drspcrl.statistics.chance import OUTSIDE, exchanged


def test_two_runs_by_hand():
    # One run of 2 and one of 1, dealt to two methods: 2/1 − 1 = 1 or 1/2 − 1 = −1/2, as often.
    found = gain_by_chance({"g": {"self_paced": [2.0], "a": [1.0]}}, confidence=0.9)
    assert (found.low, found.high) == (-0.5, 1.0)
    assert found.value == pytest.approx(0.25, abs=0.03)  # 10,000 replicates: deviation .0075
    assert found.n == 2


def test_the_best_of_three_is_ahead_of_an_equal_one():
    # Runs 1, 2, 3: the method has one of them, its best rival the best of the other two:
    # 1/3 − 1, 2/3 − 1 or 3/2 − 1, mean −1/6.
    found = gain_by_chance({"g": {"self_paced": [3.0], "a": [1.0], "b": [2.0]}})
    assert found.value == pytest.approx(-1 / 6, abs=0.02)
    assert (found.low, found.high) == pytest.approx((-2 / 3, 0.5))


def test_the_names_do_not_matter_but_for_those_kept():
    runs = {"self_paced": [5.0, 6.0], "a": [1.0, 2.0], "b": [3.0, 4.0], "vanilla": [9.0, 9.0]}
    turned = {"self_paced": [1.0, 2.0], "a": [3.0, 4.0], "b": [5.0, 6.0], "vanilla": [9.0, 9.0]}
    one, other = (gain_by_chance({"g": scores}) for scores in (runs, turned))
    assert one.value == pytest.approx(other.value, abs=0.01)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    # vanilla stays the best rival at 9, so nobody is ahead of it; exchanged it would be beaten.
    assert one.high == pytest.approx(5.5 / 9 - 1)
    assert gain_by_chance({"g": runs}, keep=()).high > 0


def test_exchanging_deals_every_run_once_and_runs_stay_whole():
    scores = {"a": np.array([[1.0, 10], [2, 20]]), "b": np.array([[3.0, 30]]), "c": np.ones((2, 2))}
    dealt = exchanged(scores, 50, np.random.default_rng(0), keep=("c",))
    assert {m: x.shape for m, x in dealt.items()} == {
        "a": (50, 2, 2), "b": (50, 1, 2), "c": (50, 2, 2),
    }  # fmt: skip
    together = np.sort(np.concatenate([dealt["a"], dealt["b"]], axis=1)[..., 0], axis=1)
    np.testing.assert_array_equal(together, np.broadcast_to([1.0, 2, 3], (50, 3)))
    np.testing.assert_array_equal(10 * dealt["a"][..., 0], dealt["a"][..., 1])
    assert len(np.unique(dealt["b"][..., 0])) == 3
    assert (dealt["c"] == 1).all()


def test_equal_methods_are_inside_and_a_better_one_is_above():
    random = np.random.default_rng(0)
    inside, above, below_zero = 0, 0, 0
    for trial in range(200):
        groups = {
            group: {m: random.normal(100, 10, 5) for m in ("self_paced", *"abcdef")}
            for group in range(3)
        }
        chance = gain_by_chance(groups, replicates=500, seed=trial)
        gain = headline_gain(groups, replicates=2).estimate.value
        inside += chance.low <= gain <= chance.high
        below_zero += gain < 0
        better = {g: {**x, "self_paced": x["self_paced"] + 25} for g, x in groups.items()}
        chance = gain_by_chance(better, replicates=500, seed=trial)
        above += headline_gain(better, replicates=2).estimate.value > chance.high
    assert 0.91 <= inside / 200 <= 0.99  # 95%, standard error 1.5%
    assert below_zero > 180  # which is why 0 is not the level of no effect
    assert above == 200


def test_nobody_to_exchange_with_is_missing():
    for method, rival in (("self_paced", "vanilla"), ("vanilla", "a"), ("a", "self_paced:rate=3")):
        found = gain_by_chance({"g": {method: [1.0, 2.0], rival: [1.0, 1.0]}}, method)
        assert found.n == 0
        assert np.isnan(found.value)


def test_variants_and_methods_outside_keep_their_runs():
    scores = {"self_paced": [1.0, 1.0], "a": [1.0, 1.0]}
    for label in ("wr2l:wr2l_epsilon=0.2", "self_paced:sensor=0", "vanilla", "noise_training"):
        found = gain_by_chance({"g": {**scores, label: [9.0, 9.0]}})
        assert (found.low, found.high) == pytest.approx((1 / 9 - 1, 1 / 9 - 1))
    assert OUTSIDE[0] == "vanilla"
    assert set(OUTSIDE[1:]) == set(BASELINES)


def test_a_group_with_nobody_to_exchange_with_counts_as_it_is():
    alone = {"self_paced": [3.0], "vanilla": [2.0]}  # +1/2, whatever is dealt
    both = gain_by_chance({"g": {"self_paced": [2.0], "a": [1.0]}, "h": alone}, confidence=0.9)
    assert (both.low, both.high) == ((-0.5 + 0.5) / 2, (1 + 0.5) / 2)


def test_rivals_that_are_never_positive_are_missing():
    assert gain_by_chance({"g": {"self_paced": [-1.0], "a": [-2.0]}}).n == 0


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="no group has the method 'none'"):
        gain_by_chance({"g": {"self_paced": [1.0], "a": [1.0]}}, "none")
