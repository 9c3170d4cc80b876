"""Straight lines in ε and in ρ."""

import numpy as np
import pytest

from drspcrl.curricula import Linear


def radii(line: Linear, iterations: int) -> np.ndarray:
    state, found = line.init(0), []
    for _ in range(iterations + 1):
        found.append(line.epsilon(state))
        state = line.update(state, None)  # type: ignore[arg-type]  # no signal is needed
    return np.array(found)


def test_a_line_in_epsilon():
    np.testing.assert_allclose(radii(Linear(1.0, 4, start=0.2), 6), [0.2, 0.4, 0.6, 0.8, 1, 1, 1])


def test_a_line_in_the_root_has_half_the_pessimism_at_half_time():
    found = radii(Linear(0.49, 4, scale="sqrt"), 4)
    np.testing.assert_allclose(np.sqrt(found), 0.7 * np.array([0, 0.25, 0.5, 0.75, 1]))
    assert found[-1] == 0.49
    # while the line in ε has half of it after a quarter of the run
    assert np.sqrt(radii(Linear(0.49, 4), 4)[1]) == pytest.approx(0.35)
