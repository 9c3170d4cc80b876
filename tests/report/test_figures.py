"""The style of figures: axes that fit the values, short labels, pictures that are not empty."""

import numpy as np
import pytest

from drspcrl.report.figures.style import brief, fit, short_number


def limits(values, ends):
    found = []
    fit(lambda low, high: found.append((low, high)), values, ends)
    return found[0]


def test_short_intervals_are_shown_whole():
    # values 0..10: spread 10, margin .6; the interval's ends −2 and 12 lie within 60%
    assert limits([0, 10], [-2, 12]) == pytest.approx((-2.6, 12.6))


def test_long_intervals_do_not_press_the_lines_flat():
    assert limits([0, 10], [-500, 900]) == pytest.approx((-6.6, 16.6))


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
