"""Multipliers, weights and slopes are derivatives of the value."""

import jax
import numpy as np
import pytest
from divergence_cases import CASES, Case, random_problems

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein

pytestmark = pytest.mark.usefixtures("float64")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
smooth_case = pytest.mark.parametrize(
    "case", [case for case in CASES if case.smooth], ids=lambda case: case.name
)


def problems(case: Case, count: int = 40):
    """Problems with spread 1 and no ties, well inside the ball's range."""
    values, probabilities, _ = random_problems(count, case.atoms, 11)
    values[:, 1] += 0.1 * np.ptp(values, axis=1)
    values = values / np.ptp(values, axis=1, keepdims=True)
    probabilities = 0.5 * probabilities + 0.5 / case.atoms
    return values, probabilities, np.random.default_rng(12).uniform(0.02, 0.3, size=count)


def value_of(case: Case, values, probabilities, radii):
    return np.asarray(jax.vmap(case.divergence.worst_case)(values, probabilities, radii).value)


def one_sided_slopes(case: Case, values, probabilities, radii, h: float = 1e-6):
    here = value_of(case, values, probabilities, radii)
    right = (here - value_of(case, values, probabilities, radii + h)) / h
    left = (value_of(case, values, probabilities, radii - h) - here) / h
    return right, left


@every_case
def test_multiplier_lies_between_the_one_sided_slopes(case: Case):
    values, probabilities, radii = problems(case)
    multiplier = np.asarray(
        jax.vmap(case.divergence.worst_case)(values, probabilities, radii).multiplier
    )
    right, left = one_sided_slopes(case, values, probabilities, radii)
    assert np.all(multiplier >= right - 1e-5 * (1 + right))
    assert np.all(multiplier <= left + 1e-5 * (1 + left))


@smooth_case
def test_multiplier_by_central_differences(case: Case):
    values, probabilities, radii = problems(case)
    multiplier = jax.vmap(case.divergence.worst_case)(values, probabilities, radii).multiplier
    right, left = one_sided_slopes(case, values, probabilities, radii, h=1e-5)
    assert np.allclose(multiplier, (right + left) / 2, rtol=1e-5)


@every_case
def test_autodiff_in_the_radius_is_the_multiplier(case: Case):
    values, probabilities, radii = problems(case)
    gradient = jax.vmap(
        jax.grad(lambda v, p, r: case.divergence.worst_case(v, p, r).value, argnums=2)
    )(values, probabilities, radii)
    solution = jax.vmap(case.divergence.worst_case)(values, probabilities, radii)
    assert np.allclose(gradient, -np.asarray(solution.multiplier), rtol=1e-12)


@every_case
def test_autodiff_in_the_values_is_the_weights_and_agrees_with_differences(case: Case):
    values, probabilities, radii = problems(case)
    weights = np.asarray(
        jax.vmap(jax.grad(lambda v, p, r: case.divergence.worst_case(v, p, r).value))(
            values, probabilities, radii
        )
    )
    solution = jax.vmap(case.divergence.worst_case)(values, probabilities, radii)
    assert np.array_equal(weights, solution.weights)
    h = 1e-6
    for atom in range(case.atoms):
        step = h * np.eye(case.atoms)[atom]
        up = value_of(case, values + step, probabilities, radii)
        down = value_of(case, values - step, probabilities, radii)
        assert np.allclose((up - down) / (2 * h), weights[:, atom], atol=2e-5)


@every_case
def test_autodiff_in_the_probabilities_agrees_with_differences(case: Case):
    values, probabilities, radii = problems(case)
    gradient = jax.vmap(
        jax.grad(lambda v, p, r: case.divergence.worst_case(v, p, r).value, argnums=1)
    )(values, probabilities, radii)
    direction = np.random.default_rng(13).normal(size=values.shape)
    direction -= direction.mean(axis=1, keepdims=True)  # stays on the simplex
    h = 1e-6
    up = value_of(case, values, probabilities + h * direction, radii)
    down = value_of(case, values, probabilities - h * direction, radii)
    assert np.allclose((up - down) / (2 * h), np.sum(gradient * direction, axis=1), atol=5e-5)


@every_case
def test_slope_is_the_derivative_in_the_coordinate(case: Case):
    values, probabilities, radii = problems(case)
    solution = jax.vmap(case.divergence.worst_case)(values, probabilities, radii)
    per_coordinate = 2 * np.sqrt(radii) if case.divergence.scale == "sqrt" else 1.0
    assert np.allclose(solution.slope, per_coordinate * np.asarray(solution.multiplier))
    assert np.allclose(case.divergence.radius_at(case.divergence.coordinate(radii)), radii)


@every_case
def test_radius_zero_is_the_plain_mean_exactly(case: Case):
    values, probabilities, _ = problems(case)
    solution = jax.vmap(case.divergence.worst_case, in_axes=(0, 0, None))(
        values, probabilities, 0.0
    )
    plain = jax.vmap(lambda v, p: (p * v).sum())(values, probabilities)
    assert np.array_equal(solution.value, plain)
    assert np.array_equal(solution.weights, probabilities)
    assert np.all(solution.converged)
    assert np.all(np.isfinite(solution.slope))


@pytest.mark.parametrize(
    ("divergence", "factor"),
    [(KL(), np.sqrt(2)), (ChiSquared(), 1.0), (CressieRead(1.5), np.sqrt(2))],
    ids=["kl", "chi2", "cressie-read"],
)
def test_at_radius_zero_the_multiplier_is_infinite_and_the_slope_is_not(divergence, factor):
    values, p = np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.5, 0.3])
    deviation = np.sqrt(p @ (values - p @ values) ** 2)
    at_zero = divergence.worst_case(values, p, 0.0)
    assert at_zero.multiplier == np.inf
    assert at_zero.converged
    assert at_zero.slope == pytest.approx(factor * deviation, rel=1e-12)
    nearby = divergence.worst_case(values, p, 1e-10)
    assert nearby.slope == pytest.approx(factor * deviation, rel=1e-4)
    gradient = jax.grad(lambda r: divergence.worst_case(values, p, r).value)(0.0)
    assert gradient == -np.inf
    # A radius that nobody differentiates must not turn the infinite multiplier into a NaN.
    assert np.array_equal(jax.grad(lambda v: divergence.worst_case(v, p, 0.0).value)(values), p)


def test_at_radius_zero_without_spread_all_derivatives_vanish():
    values, p = np.full(3, 2.0), np.full(3, 1 / 3)
    for divergence in (KL(), ChiSquared(), CressieRead(0.5)):
        assert divergence.worst_case(values, p, 0.0).multiplier == 0
        assert jax.grad(lambda r, d=divergence: d.worst_case(values, p, r).value)(0.0) == 0


def test_kinks_worked_by_hand():
    # Values 0, 1, 3 at 1/4, 1/4, 1/2. TV: the top atom is used up at ε = 1/2, where the slope
    # falls from 3 to 1. CVaR: ε = log(4/3) leaves exactly the top third of the mass out.
    values, p = np.array([0.0, 1.0, 3.0]), np.array([0.25, 0.25, 0.5])
    tv = TotalVariation()
    assert tv.worst_case(values, p, 0.25).multiplier == 3
    assert tv.worst_case(values, p, 0.5).multiplier == 1
    assert tv.worst_case(values, p, 0.5).value == pytest.approx(0.25)
    # CVaR at ratio 2: half of the mass on 0, half on 1; the right slope is 2·(1/4·1) = 1/2, the
    # left one 2·(1/4·3 + 1/4·2) = 5/2.
    cvar = CVaR().worst_case(values, p, np.log(2))
    assert cvar.value == pytest.approx(0.5)
    assert 0.5 - 1e-12 <= cvar.multiplier <= 2.5
    # Wasserstein on the line 0, 1, 3: order 1 costs 1 per unit of value everywhere.
    line = Wasserstein.between(values)
    assert line.worst_case(values, p, 0.4).multiplier == pytest.approx(1)
