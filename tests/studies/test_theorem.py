"""The checkable parts of Theorem 1, for every divergence."""

import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import garnet
from theory import Bound, check_theorem

GARNET = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2).to_dense()
DIVERGENCES = {
    "kl": KL(),
    "chi2": ChiSquared(),
    "tv": TotalVariation(),
    "cvar": CVaR(),
    "cressie_read": CressieRead(0.5),
    "w1": Wasserstein.between(np.arange(5.0)),
    "w2": Wasserstein.between(np.arange(5.0), order=2.0),
}
SETTING = {"budget": 0.5, "least_radius": 0.02, "pacing": 10.0}


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
def test_both_sides(divergence):
    check = check_theorem(GARNET, divergence, **SETTING, start_radius=0.25, iterations=400)
    for bound in (check.stationarity, check.policy_at_budget, check.value_gap):
        assert bound.holds
        assert bound.left > 1e-3  # not vacuous
    # The gain in F is not far above what the gradient mapping explains: (i) is tight to a factor.
    assert check.stationarity.right < 2.5 * check.stationarity.left
    assert 0.25 < check.final_radius < 0.5


def test_too_few_iterations_for_the_smoothness_break_the_first_bound():
    """(i) needs T ≥ L², and L grows with the inverse square of the distances of a W2 ball."""
    near = Wasserstein.between(np.arange(5.0) / 5, order=2.0)
    check = check_theorem(
        GARNET,
        near,
        budget=0.5,
        least_radius=0.02,
        start_radius=0.02,
        pacing=5.0,
        iterations=400,
    )
    assert not check.stationarity.holds


def test_a_bound_holds_up_to_rounding():
    assert Bound(1.0, 1.0).holds
    assert not Bound(1.001, 1.0).holds


def test_wrong_radii_are_named():
    with pytest.raises(InputError, match=r"least_radius=0\.0"):
        check_theorem(
            GARNET, KL(), budget=1.0, least_radius=0.0, start_radius=0.5, pacing=1.0, iterations=99
        )
