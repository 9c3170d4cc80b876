"""Step, projection and estimators against what is known about them."""

import numpy as np
import pytest

from drspcrl.baselines.wr2l import (
    antithetic,
    gradient,
    positive_definite,
    sensitivity_hessian,
    shortened,
    worst_step,
    zeroth_order_hessian,
)


def random_problem(size: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    root = generator.standard_normal((size, size))
    return generator.standard_normal(size), root @ root.T + 0.1 * np.eye(size)


def test_step_by_hand():
    # g = (3, 4), H = diag(1, 4): H⁻¹g = (3, 1), gᵀH⁻¹g = 13, ε = 6.5 → √(13/13) = 1.
    step = worst_step(np.array([3.0, 4.0]), np.diag([1.0, 4.0]), 6.5)
    np.testing.assert_allclose(step, [-3.0, -1.0], rtol=1e-12)


def test_step_lies_on_the_boundary_and_nothing_in_the_ball_is_worse():
    g, H = random_problem()
    step = worst_step(g, H, 0.3)
    assert 0.5 * step @ H @ step == pytest.approx(0.3, rel=1e-12)
    others = np.random.default_rng(2).standard_normal((2000, 5))
    lengths = np.sqrt(np.einsum("ni,ij,nj->n", others, H, others) / (2 * 0.3))
    assert (others / lengths[:, None] @ g).min() >= g @ step


def test_step_does_not_depend_on_the_scale_of_returns():
    g, H = random_problem()
    np.testing.assert_allclose(worst_step(1e6 * g, H, 0.3), worst_step(g, H, 0.3), rtol=1e-9)


def test_no_gradient_and_no_ball_mean_no_step():
    g, H = random_problem()
    assert not worst_step(np.zeros(5), H, 0.3).any()
    assert not worst_step(g, H, 0.0).any()


def test_a_long_step_is_shortened_along_itself():
    np.testing.assert_allclose(shortened(np.array([0.2, -1.4]), 0.7), [0.1, -0.7])
    np.testing.assert_array_equal(shortened(np.array([0.2, -0.4]), 0.7), [0.2, -0.4])


def test_projection_keeps_what_is_positive_and_adds_the_ridge():
    # Eigenvalues 3 and −1: the projection has 3 and 0, mean 1.5, ridge 0.1 → 3.15 and 0.15.
    vectors = np.linalg.qr(np.random.default_rng(3).standard_normal((2, 2)))[0]
    given = (vectors * [3.0, -1.0]) @ vectors.T
    expected = (vectors * [3.15, 0.15]) @ vectors.T
    np.testing.assert_allclose(positive_definite(given, 0.1), expected, atol=1e-12)
    assert np.linalg.eigvalsh(positive_definite(np.zeros((3, 3)), 0.1)).min() > 0


def test_directions_come_with_their_opposites():
    xi = antithetic(np.random.default_rng(0), 4000, 3, 0.2)
    np.testing.assert_array_equal(xi[:4000], -xi[4000:])
    np.testing.assert_allclose(np.cov(xi[:4000].T), 0.04 * np.eye(3), atol=0.004)


def test_gradient_of_a_linear_return_needs_as_many_pairs_as_parameters():
    # With ξ a scaled orthogonal basis the estimate is exact, whatever constant J has.
    basis = 0.1 * np.sqrt(3) * np.eye(3)
    xi, slope = np.concatenate([basis, -basis]), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(gradient(xi, 1e3 + xi @ slope, 0.1), slope, rtol=1e-9)


def test_zeroth_order_hessian_of_a_quadratic_within_sampling_error():
    _, H = random_problem(4)
    estimates = []
    for seed in range(50):
        xi = antithetic(np.random.default_rng(seed), 500, 4, 0.1)
        costs = 7.0 + 0.5 * np.einsum("ni,ij,nj->n", xi, H, xi)
        estimates.append(zeroth_order_hessian(xi, costs, 0.1))
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    assert np.all(np.abs(np.mean(estimates, axis=0) - H) < 4 * error)
    assert error.max() < 0.05 * np.abs(H).max()


def test_sensitivity_hessian_by_hand():
    # Two pairs (s, a), A = (1 2; 0 0) and (0 0; 3 0): 2·mean AᵀA = (1+9, 2; 2, 4).
    jacobians = np.array([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]])
    np.testing.assert_allclose(sensitivity_hessian(jacobians), [[10.0, 2.0], [2.0, 4.0]])


def test_what_is_not_finite_is_left_out():
    xi = antithetic(np.random.default_rng(0), 8, 2, 0.1)
    returns = xi @ np.array([1.0, 2.0])
    returns[3] = np.nan
    kept = np.delete(np.arange(16), [3, 11])
    np.testing.assert_allclose(gradient(xi, returns, 0.1), gradient(xi[kept], returns[kept], 0.1))
    costs = np.where(np.isnan(returns), np.nan, np.square(xi).sum(axis=1))
    expected = zeroth_order_hessian(xi[kept], costs[kept], 0.1)
    np.testing.assert_allclose(zeroth_order_hessian(xi, costs, 0.1), expected)
    jacobians = np.ones((2, 3, 2))
    jacobians[0, 1] = np.nan
    np.testing.assert_allclose(sensitivity_hessian(jacobians), np.full((2, 2), 6.0))


def test_nothing_finite_at_all_moves_nothing():
    xi, lost = antithetic(np.random.default_rng(0), 2, 3, 0.1), np.full(4, np.nan)
    assert not gradient(xi, lost, 0.1).any()
    assert not zeroth_order_hessian(xi, lost, 0.1).any()
    assert not sensitivity_hessian(np.full((2, 4, 3), np.nan)).any()
