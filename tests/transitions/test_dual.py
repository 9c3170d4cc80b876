"""The dual network beside the exact dual, the Gaussian form, and why one draw is empty."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.transitions.dual import Exact, Gaussian, NetworkDual
from drspcrl.transitions.nominal import Transition

B, N = 64, 8
UNIFORM = jnp.full((B, N), 1 / N)


def problem(scale: float = 1.0, draws: int = N) -> tuple[jax.Array, Transition]:
    """Values whose spread depends on what led to the state: four times as much for s > 0."""
    random = np.random.default_rng(0)
    s = random.uniform(-1, 1, (B, 1))
    values = 10.0 * s + np.where(s > 0, 2.0, 0.5) * random.normal(size=(B, draws))
    s = jnp.asarray(s, jnp.float32)
    return jnp.asarray(scale * values, jnp.float32), Transition(s, jnp.zeros((B, 1)), s)


def trained(dual: NetworkDual, values, origin, epsilon: float, updates: int):
    uniform = jnp.full(values.shape, 1 / values.shape[1])
    state = dual.init(jax.random.key(0), 1, 1)

    def step(state, _):
        return dual.update(state, values, uniform, jnp.float32(epsilon), origin), None

    return jax.jit(lambda state: jax.lax.scan(step, state, length=updates)[0])(state)


@pytest.fixture(scope="module")
def learned():
    """A network after 300 updates at ε = 0.4, three times as fast as the paper's."""
    dual = NetworkDual((32, 32), learning_rate=1.5e-3)
    return dual, trained(dual, *problem(), 0.4, 300)


def test_network_comes_near_the_exact_dual(learned):
    dual, state = learned
    values, origin = problem()
    ε = jnp.float32(0.4)
    exact = Exact().worst_cases((), values, UNIFORM, ε, origin)
    found = dual.worst_cases(state, values, UNIFORM, ε, origin)
    # A dual objective is a lower bound at any β, and flat near the best one.
    gap = np.asarray(exact.value - found.value)
    assert gap.min() > -1e-4
    assert gap.mean() < 0.05 * float(state.unit)
    apart = found.multiplier[origin.observation[:, 0] > 0.3].mean() / (
        found.multiplier[origin.observation[:, 0] < -0.3].mean()
    )
    assert 2.0 < apart < 8.0


def test_network_is_bounded_and_counts_in_units(learned):
    dual, state = learned
    values, origin = problem()
    β = np.asarray(dual.worst_cases(state, values, UNIFORM, jnp.float32(0.4), origin).multiplier)
    unit = float(state.unit)
    assert (β >= unit / dual.reach).all()
    assert (β <= unit * dual.reach).all()
    far = dual.multiplier(state.network, state.unit, origin._replace(action=1e6 * jnp.ones((B, 1))))
    assert (far <= unit * dual.reach * 1.001).all()
    assert (far >= unit / dual.reach * 0.999).all()
    # 1024 times the values, 1024 times β: the network has no scale to learn. A power of two rounds
    # nothing differently; with any other factor the two trainings would drift apart.
    large = trained(dual, *problem(1024.0), 0.4, 300)
    scaled = dual.multiplier(large.network, large.unit, origin)
    np.testing.assert_allclose(scaled, 1024.0 * β, rtol=1e-5)


def test_network_is_the_mean_at_radius_zero(learned):
    dual, state = learned
    values, origin = problem()
    found = dual.worst_cases(state, values, UNIFORM, jnp.float32(0.0), origin)
    np.testing.assert_allclose(found.value, values.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.weights, UNIFORM)
    sd = np.asarray(values).std(axis=1)
    np.testing.assert_allclose(found.slope, np.sqrt(2) * sd, rtol=1e-4)


def test_one_stored_next_state_is_empty():
    # The paper read literally: −β log exp(−V/β) − βε = V − βε, whose supremum is at β → 0. The
    # network goes there, and what is left is the plain value less a vanishing constant.
    dual = NetworkDual((16,), learning_rate=0.01)
    values, origin = problem(draws=1)
    one, ε = jnp.ones((B, 1)), jnp.float32(0.5)
    start = dual.init(jax.random.key(0), 1, 1)
    start = dual.update(start, values, one, ε, origin)
    state = trained(dual, values, origin, 0.5, 300)
    before = dual.worst_cases(start, values, one, ε, origin)
    after = dual.worst_cases(state, values, one, ε, origin)
    floor = float(state.unit) / dual.reach
    assert before.multiplier.min() > 100 * floor
    np.testing.assert_allclose(after.multiplier, floor, rtol=0.1)
    np.testing.assert_allclose(after.value, values[:, 0] - 0.5 * after.multiplier, rtol=1e-5)
    np.testing.assert_allclose(after.weights, 1.0)
    # The exact dual says so at once.
    exact = Exact().worst_cases((), values, one, ε, origin)
    np.testing.assert_array_equal(exact.value, values[:, 0])
    assert not exact.multiplier.any()


def test_gaussian_is_what_it_is_named_for():
    values, origin = problem()
    found = Gaussian().worst_cases((), values, UNIFORM, jnp.float32(0.5), origin)
    v = np.asarray(values)
    np.testing.assert_allclose(found.value, v.mean(axis=1) - v.std(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.multiplier, v.std(axis=1), rtol=1e-4)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose((found.weights * values).sum(axis=1), found.value, atol=1e-4)
    # At a large radius some weights are negative and the value is below every draw.
    large = Gaussian().worst_cases((), values, UNIFORM, jnp.float32(4.0), origin)
    assert large.weights.min() < 0
    assert (large.value < values.min(axis=1)).any()


@pytest.mark.parametrize("dual", [Gaussian(), NetworkDual((8,)), Exact()])
def test_gradients_are_the_weights(dual):
    values, origin = problem()
    state = dual.init(jax.random.key(0), 1, 1)
    state = dual.update(state, values, UNIFORM, jnp.float32(0.3), origin)
    worst = partial(dual.worst_cases, state)
    ε = jnp.float32(0.3)
    grads = jax.grad(lambda v: worst(v, UNIFORM, ε, origin).value.sum())(values)
    np.testing.assert_allclose(grads, worst(values, UNIFORM, ε, origin).weights, atol=1e-5)


@pytest.mark.parametrize("n", [2, 8, 64])
def test_fixed_newton_steps_agree_with_the_exact_solver(n):
    random = np.random.default_rng(n)
    normal = random.normal(size=(200, n))
    shapes = (normal, np.exp(1.5 * normal), -np.exp(1.5 * normal), (normal > 1.2) * 1.0)
    values = np.concatenate(shapes).astype(np.float32)
    uniform = jnp.full(n, 1 / n, jnp.float32)
    quick = jax.jit(jax.vmap(KL(10).worst_case, in_axes=(0, None, None)))
    slow = jax.jit(jax.vmap(KL().worst_case, in_axes=(0, None, None)))
    unit = np.maximum(np.ptp(values, axis=1), 1e-6) + np.abs(values).max(axis=1) * 1e-2
    for ε in (1e-3, 0.1, 0.5, 1.0, 2.0):
        found = quick(values, uniform, jnp.float32(ε))
        with jax.enable_x64(True):
            exact = slow(values.astype(np.float64), jnp.full(n, 1 / n), jnp.float64(ε))
        error = np.abs(np.asarray(found.value, np.float64) - np.asarray(exact.value)) / unit
        assert error.max() < 3e-5
        distance = np.abs(np.asarray(found.weights) - np.asarray(exact.weights)).sum(axis=1)
        assert distance.max() < 2e-3
