"""Wrong inputs: a clear error outside jit, a flag inside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.errors import InputError

ALL = [KL(), ChiSquared(), TotalVariation(), CVaR(), CressieRead(1.5), Wasserstein.between([0, 1])]
V, P = np.array([0.0, 1.0]), np.array([0.5, 0.5])

every_divergence = pytest.mark.parametrize("divergence", ALL, ids=lambda d: type(d).__name__)


@every_divergence
@pytest.mark.parametrize(
    ("values", "probabilities", "radius", "message"),
    [
        (V, P, -0.1, r"radius is -0\.1\d*, but must be ≥ 0"),
        (V, P, np.nan, "radius is nan"),
        (V, [0.5, 0.6], 0.1, r"probabilities sum to 1\.1.*divide them by their sum"),
        (V, [1.5, -0.5], 0.1, r"probability -0\.5 at index 1"),
        (V, [np.nan, 0.5], 0.1, "probability nan at index 0"),
        ([0.0, np.inf], P, 0.1, "value inf at index 1"),
        (V, [0.2, 0.3, 0.5], 0.1, r"shapes \(2,\) and \(3,\)"),
        (np.zeros((2, 2)), np.full((2, 2), 0.5), 0.1, "use jax.vmap for a batch"),
        (V, P, [0.1, 0.2], "radius must be a scalar"),
        ([], [], 0.1, "n ≥ 1"),
    ],
)
def test_a_clear_error(divergence, values, probabilities, radius, message):
    with pytest.raises(InputError, match=message):
        divergence.worst_case(values, probabilities, radius)


@every_divergence
@pytest.mark.parametrize(
    ("values", "probabilities", "radius"),
    [(V, P, -0.1), (V, P, np.nan), (V, [0.5, 0.6], 0.1), (V, [1.5, -0.5], 0.1)],
)
def test_inside_jit_the_flag_falls_and_the_value_stays_finite(
    divergence, values, probabilities, radius
):
    arguments = [jnp.asarray(x, jnp.float32) for x in (values, probabilities, radius)]
    solution = jax.jit(divergence.worst_case)(*arguments)
    assert not solution.converged
    assert np.isfinite(solution.value)


@every_divergence
def test_inside_jit_a_nan_value_is_flagged(divergence):
    solution = jax.jit(divergence.worst_case)(jnp.asarray([0.0, jnp.nan]), jnp.asarray(P), 0.1)
    assert not solution.converged


def test_integers_and_lists_are_welcome():
    assert KL().worst_case([1, 3], [0.5, 0.5], 0).value == 2


@pytest.mark.parametrize(
    ("cost", "order", "message"),
    [
        (np.zeros((2, 3)), 1.0, "must be square"),
        (np.ones((2, 2)), 1.0, "0 on the diagonal"),
        (np.zeros((2, 2)), 1.0, "merge points that coincide"),
        (1 - np.eye(2), 0.5, "order is 0.5"),
        (np.where(np.eye(2), 0, np.inf), 1.0, "not finite"),
    ],
)
def test_costs_that_are_no_distance(cost, order, message):
    with pytest.raises(InputError, match=message):
        Wasserstein(cost, order)


def test_a_cost_of_another_size():
    with pytest.raises(InputError, match="2 values, but a cost for 3 points"):
        Wasserstein.between([0.0, 1.0, 2.0]).worst_case(V, P, 0.1)


@pytest.mark.parametrize("power", [0.0, 1.0, np.nan, 1e9])
def test_powers_that_are_no_divergence(power):
    with pytest.raises(InputError, match="power is"):
        CressieRead(power)


def test_divergences_are_values():
    assert KL() == KL()
    assert CressieRead(2.0) == CressieRead(2.0) != CressieRead(3.0)
    assert Wasserstein.between([0, 1]) == Wasserstein.between([0, 1])
    assert hash(Wasserstein.between([0, 1])) != hash(Wasserstein.between([0, 2]))
