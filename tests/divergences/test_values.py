"""Worst-case values against hand-worked numbers, independent solvers and invariants."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from divergence_cases import CASES, DISTANCES, Case, random_problems

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein

pytestmark = pytest.mark.usefixtures("float64")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

COUNT = 240  # one batch size throughout, so that each divergence compiles once
COIN = np.array([0.0, 1.0]), np.array([0.5, 0.5])


def solve_many(divergence, values, probabilities, radii):
    solution = jax.vmap(divergence.worst_case)(values, probabilities, radii)
    return jax.tree.map(np.asarray, solution)


def test_fair_coin_worked_by_hand():
    # A coin with values 0 and 1 that shows 0 with probability q: the value is 1 − q.
    # χ²: (2q − 1)² = 0.36 at q = 0.8.  TV: q = 0.5 + 0.3.  CVaR: 0.5·1.6 of the mass is at 0.
    assert ChiSquared().worst_case(*COIN, 0.36).value == pytest.approx(0.2, abs=1e-15)
    assert TotalVariation().worst_case(*COIN, 0.3).value == pytest.approx(0.2, abs=1e-15)
    assert CVaR().worst_case(*COIN, np.log(1.6)).value == pytest.approx(0.2, abs=1e-15)
    # KL at q = 0.8: 0.8 log 1.6 + 0.2 log 0.4 = 0.192745; tilt e^t = q/(1 − q) = 4, β = 1/log 4.
    radius = 0.8 * np.log(1.6) + 0.2 * np.log(0.4)
    kl = KL().worst_case(*COIN, radius)
    assert kl.value == pytest.approx(0.2, abs=1e-14)
    assert kl.multiplier == pytest.approx(1 / np.log(4), abs=1e-12)
    # Cressie-Read of power 2 is half of χ².
    assert CressieRead(2.0).worst_case(*COIN, 0.18).value == pytest.approx(0.2, abs=1e-12)
    # Wasserstein, points 3 apart: ε = 0.9 moves mass 0.9/3 (order 1) or 0.81/9 (order 2).
    assert Wasserstein.between([0.0, 3.0]).worst_case(*COIN, 0.9).value == pytest.approx(0.2)
    assert Wasserstein.between([0.0, 3.0], 2.0).worst_case(*COIN, 0.9).value == pytest.approx(0.41)


def test_a_ball_around_a_point_mass_is_empty_except_for_wasserstein():
    values, point = np.array([5.0, 1.0]), np.array([1.0, 0.0])
    for divergence in (KL(), ChiSquared(), TotalVariation(), CVaR(), CressieRead(0.5)):
        solution = divergence.worst_case(values, point, 0.7)
        assert (solution.value, solution.multiplier) == (5.0, 0.0)
    assert Wasserstein.between([0.0, 1.0]).worst_case(values, point, 0.25).value == 4.0


@every_case
def test_agrees_with_an_independent_solver(case: Case):
    values, probabilities, radii = random_problems(COUNT, case.atoms, 1, case.largest_radius)
    solution = solve_many(case.divergence, values, probabilities, radii)
    expected = [case.value(*problem) for problem in zip(values, probabilities, radii, strict=True)]
    assert solution.converged.all()
    error = np.abs(solution.value - expected) / np.ptp(values, axis=1)
    assert error.max() <= 1e-8


@every_case
def test_scale_and_offset_pass_through(case: Case):
    values, probabilities, radii = random_problems(COUNT, case.atoms, 2, case.largest_radius)
    values = values / np.ptp(values, axis=1, keepdims=True)
    plain = solve_many(case.divergence, values, probabilities, radii)
    for scale, offset in [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e6), (1e6, -1e6), (1e-6, 1e-6)]:
        moved = solve_many(case.divergence, scale * values + offset, probabilities, radii)
        assert moved.converged.all()
        # What rounding of the offset values themselves already costs is beyond any solver.
        lost = 4 * np.finfo(float).eps * abs(offset) / scale
        assert np.max(np.abs((moved.value - offset) / scale - plain.value)) <= 1e-8 + lost


@every_case
def test_weights_lie_in_the_ball_and_attain_the_value(case: Case):
    values, probabilities, radii = random_problems(COUNT, case.atoms, 3, case.largest_radius)
    solution = solve_many(case.divergence, values, probabilities, radii)
    assert np.all(solution.weights >= 0)
    assert np.allclose(solution.weights.sum(axis=1), 1, atol=1e-12)
    attained = np.sum(solution.weights * values, axis=1)
    assert np.max(np.abs(attained - solution.value) / np.ptp(values, axis=1)) <= 1e-12
    slack = 1e-6 if isinstance(case.divergence, Wasserstein) else 1e-12  # HiGHS' own tolerance
    for weights, p, radius in list(zip(solution.weights, probabilities, radii, strict=True))[:40]:
        assert case.distance(weights, p) <= radius * (1 + 1e-9) + slack


@every_case
def test_value_falls_with_the_radius_and_stays_above_the_minimum(case: Case):
    values, probabilities, _ = random_problems(20, case.atoms, 4)
    radii = np.concatenate([[0.0], np.geomspace(1e-9, 10, 120)])
    grid = jax.vmap(
        lambda v, p: jax.vmap(lambda r: case.divergence.worst_case(v, p, r).value)(radii)
    )
    curves = np.asarray(jax.jit(grid)(values, probabilities)) / np.ptp(values, axis=1)[:, None]
    assert np.all(np.diff(curves, axis=1) <= 1e-12)
    reachable = (probabilities > 0) | isinstance(case.divergence, Wasserstein)
    minimum = np.where(reachable, values, np.inf).min(axis=1) / np.ptp(values, axis=1)
    assert np.all(curves >= minimum[:, None] - 1e-15)


@every_case
def test_past_saturation_only_the_minimum_is_left(case: Case):
    values, probabilities, _ = random_problems(COUNT, case.atoms, 5)
    for radius in (1e6, np.inf):
        solution = solve_many(case.divergence, values, probabilities, np.full(COUNT, radius))
        reachable = (probabilities > 0) | isinstance(case.divergence, Wasserstein)
        assert np.array_equal(solution.value, np.where(reachable, values, np.inf).min(axis=1))
        assert np.all(solution.multiplier == 0)
        assert np.all(solution.slope == 0)
        assert solution.converged.all()


@every_case
def test_values_without_spread(case: Case):
    p = np.full(case.atoms, 1 / case.atoms)
    for radius in (0.0, 0.1, 5.0):
        solution = case.divergence.worst_case(np.full(case.atoms, 3.25), p, radius)
        assert solution.value == pytest.approx(3.25, rel=1e-15)
        assert (solution.multiplier, solution.slope) == (0, 0)
        assert solution.converged


def test_one_atom():
    for divergence in (KL(), ChiSquared(), TotalVariation(), CVaR(), CressieRead(1.5)):
        solution = divergence.worst_case([2.5], [1.0], 0.4)
        assert (solution.value, solution.weights[0], solution.multiplier) == (2.5, 1.0, 0.0)


def test_near_ties_at_the_minimum():
    # Two lowest values 1e-9 apart: the KL distance has a plateau that defeats Newton's method.
    values, p = np.array([0.0, 1e-9, 1.0]), np.array([0.1, 0.4, 0.5])
    radius = 1.5  # between −log 0.5 (both lowest) and −log 0.1 (the lowest alone)
    for divergence in (KL(), ChiSquared(), CressieRead(1.5), CressieRead(0.5)):
        solution = divergence.worst_case(values, p, radius)
        assert solution.converged
        assert 0 <= solution.value <= 1e-8


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.divergence.on_support], ids=lambda case: case.name
)
def test_zero_probability_atoms_change_nothing_on_the_support(case: Case):
    values, probabilities, radii = random_problems(COUNT, 4, 6, case.largest_radius)
    padded_values = np.concatenate([values, np.full((COUNT, 2), -1e9)], axis=1)
    padded = np.concatenate([probabilities, np.zeros((COUNT, 2))], axis=1)
    plain = solve_many(case.divergence, values, probabilities, radii)
    more = solve_many(case.divergence, padded_values, padded, radii)
    assert np.allclose(more.value, plain.value, rtol=0, atol=1e-9 * np.ptp(values))
    assert np.all(more.weights[:, 4:] == 0)


@every_case
def test_float32_agrees_with_float64(case: Case):
    values, probabilities, radii = random_problems(COUNT, case.atoms, 8, case.largest_radius)
    radii = np.maximum(radii, 1e-4)
    double = solve_many(case.divergence, values, probabilities, radii)
    single = solve_many(
        case.divergence, *(jnp.asarray(x, jnp.float32) for x in (values, probabilities, radii))
    )
    assert single.value.dtype == np.float32
    assert single.converged.all()
    error = np.abs(single.value - double.value) / np.ptp(values, axis=1)
    assert error.max() <= 3e-5


def test_a_million_problems_in_one_batch():
    values = jax.random.normal(jax.random.key(0), (1_000_000, 16), jnp.float32)
    uniform = jnp.full(16, 1 / 16, jnp.float32)
    solve = jax.jit(jax.vmap(lambda v: KL().worst_case(v, uniform, jnp.float32(0.5))))
    solution = solve(values)
    assert bool(jnp.all(solution.converged))
    # For Gaussian values the exact dual of 16 draws recovers about 0.9 of √(2ε) = 1 at ε = 0.5.
    assert float(jnp.mean(solution.value)) == pytest.approx(-0.93, abs=0.03)


def test_distances_of_the_cases_are_a_metric():
    assert np.all(DISTANCES[:, :, None] + DISTANCES[None] >= DISTANCES[:, None] - 1e-12)


def test_chi_squared_with_near_ties_at_the_edge_of_its_active_set():
    # Half of the mass nearly ties at the minimum and ε = 1: 1/(1 + ε) of the mass is exactly there,
    # so the value is the minimum, up to the ties' own spread, and nothing is infinite.
    values = jnp.array([0.0, 1e-7, 2e-7, 1e-7, 1.0, 1.0, 1.0 + 1e-6, 1.0], jnp.float32)
    found = ChiSquared().worst_case(values, jnp.full(8, 1 / 8, jnp.float32), jnp.float32(1.0))
    assert np.abs(found.value) < 1e-3
    np.testing.assert_allclose(found.weights.sum(), 1.0, rtol=1e-5)
    # The slopes on both sides of the kink: 0 to the right, 1/4 to the left.
    assert 0.0 <= found.multiplier <= 0.26
    assert np.isfinite(found.slope)
