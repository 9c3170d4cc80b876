"""The style of figures: axes that fit the values, short labels, pictures that are not empty."""

import numpy as np
import pytest

from drspcrl.report.figures.style import Point, brief, fit, interval_words, short_number
from drspcrl.statistics import Estimate


def limits(values, ends):
    found = []
    fit(lambda low, high: found.append((low, high)), values, ends)
    return found[0]


def test_intervals_are_shown_whole():
    # from −2 to 12 it is 14, and the margin .06 of that
    assert limits([0, 10], [-2, 12]) == pytest.approx((-2.84, 12.84))
    assert limits([0, 10], [2, float("nan")]) == pytest.approx((-0.6, 10.6))


def test_few_seeds_are_drawn_in_place_of_their_interval():
    few = Point(Estimate(10.0, -500.0, 520.0, 3, "t"), (8.0, 10.0, 12.0))
    many = Point(Estimate(10.0, 4.0, 16.0, 5, "t"), (8.0, 9.0, 10.0, 11.0, 12.0))
    assert few.ends == (8.0, 10.0, 12.0)
    assert many.ends == (4.0, 16.0)
    assert interval_words([5, 5], "bars") == "bars"
    assert interval_words([3, 1, 0], "bars") == "every seed drawn (fewer than 5)"
    assert interval_words([5, 3], "bars") == "bars; every seed drawn where fewer than 5"


def test_one_value_and_no_interval():
    nan = float("nan")
    assert limits([5.0], [nan, nan]) == pytest.approx((4.7, 5.3))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-1500, "−1.5k"), (250_000, "250k"), (1e6, "1M"), (0.25, "0.25"), (999, "999")],
)
def test_short_numbers(value, text):
    assert short_number(value) == text


def test_long_names_are_cut():
    assert brief("a very long method name") == "a very long met…"


def test_pictures_are_drawn_in_the_colours_of_the_methods(small_report):
    from matplotlib.image import imread

    picture = imread(small_report / "figures" / "training-sac.png")[..., :3]
    for colour in ("#4d4d4d", "#0072b2", "#d55e00"):
        wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert (np.abs(picture - wanted).max(axis=-1) < 0.01).sum() > 500
