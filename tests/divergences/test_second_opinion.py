"""The primal problems as someone else's convex solver sees them."""

import cvxpy as cp
import numpy as np
import pytest
from divergence_cases import CASES, DISTANCES, Case, random_problems

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein

pytestmark = pytest.mark.usefixtures("float64")


def in_the_ball(divergence, q, p, radius):
    """The constraint D(q ‖ p) ≤ radius, in cvxpy's words."""
    if isinstance(divergence, KL):
        return [cp.sum(cp.rel_entr(q, p)) <= radius]
    if isinstance(divergence, ChiSquared):
        return [cp.sum_squares(cp.multiply(q / p - 1, np.sqrt(p))) <= radius]
    if isinstance(divergence, TotalVariation):
        return [cp.norm1(q - p) / 2 <= radius]
    if isinstance(divergence, CVaR):
        return [q <= np.exp(radius) * p]
    if isinstance(divergence, CressieRead):
        k = divergence.power
        powers = cp.sum(cp.multiply(p, cp.power(q / p, k))) - 1  # Σ p (r^k − kr + k − 1), Σ pr = 1
        return [powers / (k * (k - 1)) <= radius]
    assert isinstance(divergence, Wasserstein)
    plan = cp.Variable(DISTANCES.shape, nonneg=True)
    price = DISTANCES**divergence.order
    spent = cp.sum(cp.multiply(plan, price)) <= radius**divergence.order
    return [cp.sum(plan, axis=1) == p, cp.sum(plan, axis=0) == q, spent]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees_with_cvxpy(case: Case):
    values, probabilities, _ = random_problems(8, case.atoms, 21)
    values = values / np.ptp(values, axis=1, keepdims=True)
    probabilities = 0.8 * probabilities + 0.2 / case.atoms
    for v, p, radius in zip(values, probabilities, np.geomspace(0.01, 1.0, 8), strict=True):
        q = cp.Variable(case.atoms, nonneg=True)
        constraints = [cp.sum(q) == 1, *in_the_ball(case.divergence, q, p, radius)]
        problem = cp.Problem(cp.Minimize(v @ q), constraints)
        problem.solve(solver=cp.CLARABEL)
        assert problem.status == cp.OPTIMAL
        assert float(case.divergence.worst_case(v, p, radius).value) == pytest.approx(
            problem.value, abs=1e-6
        )
