"""A random radius per iteration."""

import numpy as np
from curriculum_signals import QUIET

from drspcrl.curricula import RandomRadius


def radii(seed: int, iterations: int) -> np.ndarray:
    rule = RandomRadius(0.5)
    state, found = rule.init(seed), []
    for _ in range(iterations):
        found.append(rule.epsilon(state))
        assert rule.epsilon(state) == found[-1]  # asking again draws nothing
        state = rule.update(state, QUIET)
    return np.array(found)


def test_it_is_uniform_and_new_in_every_iteration():
    found = radii(0, 4000)
    assert len(np.unique(found)) == 4000
    counts = np.histogram(found, bins=10, range=(0.0, 0.5))[0]
    assert abs(counts - 400).max() < 80  # four standard deviations
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.06


def test_seeds_differ_and_repeat():
    np.testing.assert_array_equal(radii(3, 20), radii(3, 20))
    assert not np.intersect1d(radii(3, 20), radii(4, 20)).size
