"""Student's t interval: golden numbers worked by hand."""

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.statistics import mean_band, mean_interval


def test_five_seeds_by_hand():
    # x = 1..5: mean 3, s² = (4+1+0+1+4)/4 = 2.5, s = 1.5811; t_4(.975) = 2.7764;
    # half-width = 2.7764 · 1.5811 / √5 = 1.9632 (= 1.2416 s)
    estimate = mean_interval([1, 2, 3, 4, 5])
    assert estimate.value == 3
    assert estimate.n == 5
    assert estimate.half_width == pytest.approx(1.9632432, abs=1e-6)
    assert estimate.half_width / np.sqrt(2.5) == pytest.approx(1.2417, abs=1e-4)
    assert "Student t 95%" in estimate.method


def test_two_seeds_by_hand():
    # x = 10, 14: s = 2√2, t_1(.975) = 12.7062; half-width = 12.7062 · 2√2/√2 = 25.4124
    assert mean_interval([10.0, 14.0]).half_width == pytest.approx(25.4124, abs=1e-3)


def test_other_confidence_by_hand():
    # t_4(.95) = 2.1318; half-width = 2.1318 · 1.5811 / √5 = 1.5074
    assert mean_interval([1, 2, 3, 4, 5], confidence=0.9).half_width == pytest.approx(
        1.5074, abs=1e-4
    )


def test_one_seed_has_no_interval():
    estimate = mean_interval([7.0])
    assert (estimate.value, estimate.n, estimate.has_interval) == (7.0, 1, False)


def test_no_seed_is_missing():
    estimate = mean_interval([])
    assert np.isnan(estimate.value)
    assert estimate.n == 0


def test_band_counts_the_seeds_of_each_point():
    nan = float("nan")
    mean, half, n = mean_band([[1, 5, nan, nan], [3, nan, nan, 2], [5, 7, nan, nan]])
    np.testing.assert_array_equal(n, [3, 2, 0, 1])
    np.testing.assert_array_equal(mean, [3, 6, nan, 2])
    # x = 1, 3, 5: s = 2, t_2(.975) = 4.3027, half-width = 4.3027 · 2/√3
    np.testing.assert_allclose(half[0], 4.302653 * 2 / np.sqrt(3), rtol=1e-6)
    assert np.isnan(half[2:]).all()


def test_the_band_is_the_interval_at_each_point():
    curves = np.random.default_rng(0).normal(size=(4, 6))
    mean, half, _ = mean_band(curves)
    for point in range(6):
        one = mean_interval(curves[:, point])
        assert one.value == mean[point]
        assert one.high - one.value == pytest.approx(half[point], rel=1e-12)


def test_intervals_cover_as_often_as_they_say():
    samples = np.random.default_rng(1).normal(3.0, 2.0, size=(5, 4000))
    mean, half, _ = mean_band(samples)
    # binomial standard error at 95% and 4,000 trials: 0.34%
    assert np.mean(np.abs(mean - 3.0) <= half) == pytest.approx(0.95, abs=0.0125)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_checked(confidence):
    with pytest.raises(InputError, match="not between 0 and 1"):
        mean_interval([1.0, 2.0], confidence=confidence)


def test_nan_and_shape_are_refused():
    with pytest.raises(InputError, match="not finite"):
        mean_interval([1.0, float("nan")])
    with pytest.raises(InputError, match="one score per seed"):
        mean_interval([[1.0, 2.0]])
