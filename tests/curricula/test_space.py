"""SPACE: what triggers it, and what must not."""

import numpy as np
import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import Space


def radii(rule: Space, values: list[float]) -> list[float]:
    state, found = rule.init(0), []
    for value in values:
        state = rule.update(state, QUIET._replace(start_value=value))
        found.append(rule.epsilon(state))
    return found


def test_a_settled_value_adds_a_hundredth_of_the_budget():
    # 10 → 11: |1| ≤ .1·11 settles; 11 → 13 does not; 13 → 12: 1 ≤ 1.2 settles.
    assert radii(Space(2.0), [10, 11, 13, 12]) == pytest.approx([0.0, 0.02, 0.02, 0.04])


def test_the_first_iteration_cannot_trigger():
    assert radii(Space(1.0), [0.0]) == [0.0]
    assert radii(Space(1.0), [1e-9, 5.0]) == [0.0, 0.0]


def test_negative_values_settle_like_positive_ones():
    assert radii(Space(1.0), [-10, -11, -13, -12]) == radii(Space(1.0), [10, 11, 13, 12])


def test_around_zero_only_an_unchanged_value_settles():
    assert radii(Space(1.0), [1.0, 0.0, 1e-6, 0.0]) == [0.0] * 4
    assert radii(Space(1.0), [1.0, 0.0, 0.0]) == pytest.approx([0.0, 0.0, 0.01])


def test_it_never_falls_and_stops_at_the_budget():
    found = radii(Space(1.0, start=0.985), [5.0] * 4 + [50.0, 5.0])
    assert found == pytest.approx([0.985, 0.995, 1.0, 1.0, 1.0, 1.0])


def test_patience_asks_for_settled_iterations_in_a_row():
    # settled: -, yes, yes (fires), yes, no, yes, yes (fires)
    found = radii(Space(1.0, patience=2), [10, 10, 10, 10, 20, 20, 20])
    assert found == pytest.approx([0, 0, 0.01, 0.01, 0.01, 0.01, 0.02])


def test_smoothing_sees_through_noise():
    noisy = [10.0, 14.0, 10.0, 14.0, 10.0, 14.0, 10.0, 14.0]
    assert radii(Space(1.0), noisy)[-1] == 0.0
    assert radii(Space(1.0, smoothing=0.8), noisy)[-1] > 0.0


def test_an_unknown_value_is_waited_for():
    found = radii(Space(1.0), [np.nan, 10.0, np.nan, 10.0])
    assert found == pytest.approx([0.0, 0.0, 0.0, 0.01])
