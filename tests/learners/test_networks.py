"""Networks: what they compute, and how they begin."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners import networks
from drspcrl.learners.networks import Layer


def test_output_by_hand():
    # relu([1, 2]·[[1, −1], [1, −1]] + [0, 1]) = relu([3, −2]) = [3, 0]; 3·2 + 0·5 + 0.5 = 6.5.
    network = (
        Layer(jnp.array([[1.0, -1.0], [1.0, -1.0]]), jnp.array([0.0, 1.0])),
        Layer(jnp.array([[2.0], [5.0]]), jnp.array([0.5])),
    )
    np.testing.assert_allclose(networks.apply(network, jnp.array([[1.0, 2.0]])), [[6.5]])


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_inputs_in_parts_are_inputs_side_by_side(precision):
    network = networks.uniform(jax.random.key(0), (5, 16, 1))
    shared = jax.random.normal(jax.random.key(1), (4, 1, 3))
    own = jax.random.normal(jax.random.key(2), (4, 6, 2))
    whole = jnp.concatenate([jnp.broadcast_to(shared, (4, 6, 3)), own], axis=-1)
    found = networks.apply(networks.rounded(network, precision), shared, own)
    tolerance = {"float32": 1e-6, "float16": 3e-3}[precision]
    np.testing.assert_allclose(found, networks.apply(network, whole), atol=tolerance)


def test_uniform_layers_fill_their_bounds():
    network = networks.uniform(jax.random.key(0), (100, 50, 4))
    assert [layer.kernel.shape for layer in network] == [(100, 50), (50, 4)]
    assert [layer.bias.shape for layer in network] == [(50,), (4,)]
    for layer, bound in zip(network, (0.1, 50**-0.5), strict=True):
        everything = np.concatenate([np.ravel(layer.kernel), layer.bias])
        assert np.abs(everything).max() <= bound
        np.testing.assert_allclose(everything.std(), bound / np.sqrt(3), rtol=0.1)
        assert len(np.unique(everything)) > 0.99 * everything.size  # nothing is drawn twice


def test_orthogonal_layers(float64):
    wide, tall = networks.orthogonal(jax.random.key(0), (3, 8, 2), last_gain=0.01)
    np.testing.assert_allclose(wide.kernel @ wide.kernel.T, 2.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(tall.kernel.T @ tall.kernel, 1e-4 * np.eye(2), atol=1e-12)
    assert not wide.bias.any()


@pytest.mark.parametrize("shape", [(5, 8), (8, 8), (40, 8)])
def test_orthogonal_kernels_are_those_of_a_qr_decomposition(float64, shape):
    (layer,) = networks.orthogonal(jax.random.key(2), shape, last_gain=1.0)
    numbers = np.asarray(jax.random.normal(jax.random.key(2), (shape[0] * shape[1],)))
    q, r = np.linalg.qr(numbers.reshape(max(shape), min(shape)))
    q = q * np.sign(np.diagonal(r))
    np.testing.assert_allclose(layer.kernel, q if shape[0] >= shape[1] else q.T, atol=1e-12)


def test_a_population_with_orthogonal_kernels_begins():
    """With LAPACK's QR this hung for ten members on two cores, so another process tries it."""
    program = """
import jax
from drspcrl.learners.networks import orthogonal
two = lambda key: (orthogonal(key, (17, 256, 256, 6), 0.01), orthogonal(key, (40, 256, 256, 1), 1))
jax.block_until_ready(jax.jit(jax.vmap(two))(jax.random.split(jax.random.key(0), 12)))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_targets_move_by_their_share():
    (layer,) = networks.move_towards(
        (Layer(jnp.zeros((1, 1)), jnp.ones(1)),), (Layer(jnp.ones((1, 1)), jnp.ones(1)),), 0.25
    )
    assert (float(layer.kernel[0, 0]), float(layer.bias[0])) == (0.25, 1.0)


@pytest.mark.parametrize(("precision", "bits"), [("float16", 11), ("bfloat16", 8)])
def test_rounded_network_errs_by_its_rounding(precision, bits):
    network = networks.uniform(jax.random.key(0), (17, 64, 64, 1))
    x = jax.random.normal(jax.random.key(1), (512, 17))
    exact = networks.apply(network, x)
    found = networks.apply(networks.rounded(network, precision), x)
    assert found.dtype == exact.dtype
    # Errors of single products average out in the sums: what is left is a few roundings.
    error = float(jnp.sqrt(jnp.mean(jnp.square(found - exact))) / jnp.std(exact))
    assert 0 < error < 2.0**-bits * 4


def test_rounded_network_clips_what_its_format_cannot_hold():
    network = (
        Layer(jnp.array([[1000.0, -1000.0]]), jnp.zeros(2)),
        Layer(jnp.array([[1.0], [1.0]]), jnp.array([0.5])),
    )
    found = networks.apply(networks.rounded(network, "float16"), jnp.array([[1e6], [-1e6], [2.0]]))
    np.testing.assert_allclose(found[:, 0], [65504.5, 65504.5, 2000.5])


@pytest.mark.parametrize("members", [None, 3])
def test_gradients_are_those_of_plain_products(members):
    def plain(network, x):
        for layer in network[:-1]:
            x = jax.nn.relu(x @ layer.kernel + layer.bias[None])
        return x @ network[-1].kernel + network[-1].bias[None]

    def gradients(function):
        def loss(network, x):
            return jnp.sum(jnp.square(function(network, x)))

        found = jax.grad(loss, argnums=(0, 1))
        return jax.jit(found if members is None else jax.vmap(found))

    def drawn(key):
        return networks.uniform(key, (5, 16, 12, 3)), jax.random.normal(key, (7, 5))

    key = jax.random.key(0)
    network, x = drawn(key) if members is None else jax.vmap(drawn)(jax.random.split(key, members))
    found, expected = gradients(networks.apply)(network, x), gradients(plain)(network, x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
