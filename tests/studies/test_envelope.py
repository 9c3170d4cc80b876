"""The envelope theorem, for every divergence, away from kinks and at them."""

import jax
import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.tabular import (
    MDP,
    Solution,
    garnet,
    robust_policy_evaluation,
    robust_value_iteration,
)
from theory import check_envelope, return_derivative, return_slope

GARNET = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2).to_dense()
POLICY = np.random.default_rng(0).dirichlet(np.ones(2), size=5)
PLACES = np.arange(5.0)
DIVERGENCES = {
    "kl": KL(),
    "chi2": ChiSquared(),
    "tv": TotalVariation(),
    "cvar": CVaR(),
    "cressie_read": CressieRead(0.5),
    "w1": Wasserstein.between(PLACES),
    "w2": Wasserstein.between(PLACES, order=2.0),
}
RADII = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.8)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
def test_the_return_falls_as_the_multipliers_say(divergence):
    checks = [check_envelope(GARNET, POLICY, divergence, radius) for radius in RADII]
    comparable = [check for check in checks if check.comparable]
    assert len(comparable) >= 5  # kinks are rare
    for check in comparable:
        assert check.relative_error < 1e-5
    # Somewhere the cost is real (a W2 ball's vanishes with ε, so not at the first radius).
    assert min(check.analytic for check in comparable) < -0.1


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
def test_the_optimal_return_falls_likewise(divergence):
    """The best policy changes with ε only to second order: the envelope again."""
    radius, h = 0.2, 2e-6
    here = robust_value_iteration(GARNET, divergence, radius)
    low, high = (
        robust_value_iteration(GARNET, divergence, radius + step).expected_return
        for step in (-h, h)
    )
    assert return_derivative(here, 0.9) == pytest.approx((high - low) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("name", ["kl", "chi2", "cressie_read"])
def test_the_slope_in_the_root_is_finite_from_zero_on(name):
    divergence = DIVERGENCES[name]

    def at(ρ: float) -> Solution:
        return robust_policy_evaluation(GARNET, POLICY, divergence, ρ**2)

    h = 2e-4
    zero, one, two = (at(k * h).expected_return for k in range(3))
    assert return_slope(at(0.0), 0.9) == pytest.approx(
        (4 * one - 3 * zero - two) / (2 * h), rel=1e-5
    )
    low, high = (at(0.3 + step).expected_return for step in (-1e-5, 1e-5))
    assert return_slope(at(0.3), 0.9) == pytest.approx((high - low) / 2e-5, rel=1e-5)


def one_backup_slopes(divergence, values, probabilities, radius, h=1e-7):
    """(right slope, multiplier, left slope) of one backup, as positive costs."""
    with jax.enable_x64(True):
        left, here, right = (
            divergence.worst_case(values, probabilities, radius + step) for step in (-h, 0.0, h)
        )
        return (
            float(here.value - right.value) / h,
            float(here.multiplier),
            float(left.value - here.value) / h,
        )


VALUES, NOMINAL = np.array([0.0, 1.0, 3.0]), np.array([0.2, 0.5, 0.3])


@pytest.mark.parametrize(
    ("divergence", "radius", "kink"),
    [
        # TV takes mass from the value 3 first; at ε = .3 that atom is empty: slope 3, then 1.
        (TotalVariation(), 0.3, (1.0, 3.0)),
        # All mass sits at the minimum from ε = .8 on.
        (TotalVariation(), 0.8, (0.0, 1.0)),
        # On the line of the values, moving mass gains 1 per distance, until all is moved: 1.4.
        (Wasserstein.between(VALUES), 1.4, (0.0, 1.0)),
        # Density ratio e^ε = 5: all mass at the minimum. Before, dU/dε = −Σ p e^ε (v_q − v) = −1.
        (CVaR(), np.log(5.0), (0.0, 1.0)),
    ],
)
def test_at_a_kink_the_multiplier_lies_between_the_slopes(divergence, radius, kink):
    right, multiplier, left = one_backup_slopes(divergence, VALUES, NOMINAL, radius)
    np.testing.assert_allclose((right, left), kink, atol=1e-5)
    assert right - 1e-6 <= multiplier <= left + 1e-6


def test_a_kink_of_the_return_is_not_compared():
    """Two states of which one is left: TV's ball is used up at ε = 0.9."""
    mdp = MDP(
        np.array([[[0.9, 0.1]], [[0.0, 1.0]]]), np.array([[1.0], [0.0]]), 0.9, np.array([1.0, 0.0])
    )
    assert not check_envelope(mdp, [0, 0], TotalVariation(), 0.9).comparable
    assert check_envelope(mdp, [0, 0], TotalVariation(), 0.5).comparable
    flat = check_envelope(mdp, [0, 0], TotalVariation(), 0.95)
    assert (flat.analytic, flat.numeric, flat.relative_error) == (0.0, 0.0, 0.0)
