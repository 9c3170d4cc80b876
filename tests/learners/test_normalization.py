"""Running moments equal those of everything at once."""

import jax.numpy as jnp
import numpy as np

from drspcrl.learners import normalization


def test_batches_add_up_to_the_whole(float64):
    samples = np.random.default_rng(0).normal(3.0, 2.0, (60, 4))
    moments = normalization.init((4,))
    for part in np.split(samples, 12):
        moments = normalization.include(moments, jnp.asarray(part))
    # The start is worth 1e-4 samples of mean 0 and variance 1, no more.
    np.testing.assert_allclose(moments.mean, samples.mean(0), rtol=1e-4)
    np.testing.assert_allclose(moments.variance, samples.var(0), rtol=1e-4)
    np.testing.assert_allclose(moments.weight, 60 + 1e-4)


def test_standardised_and_clipped(float64):
    moments = normalization.Moments(jnp.array([1.0]), jnp.array([4.0]), jnp.array(10.0))
    x = normalization.standardise(moments, jnp.array([[3.0], [1e9]]))
    np.testing.assert_allclose(x, [[1.0], [10.0]], rtol=1e-8)


def test_single_precision_keeps_a_small_variance_on_a_large_mean():
    random = np.random.default_rng(0)
    moments = normalization.init((1,))
    for _ in range(500):
        moments = normalization.include(moments, jnp.float32(random.normal(100.0, 0.1, (8, 1))))
    np.testing.assert_allclose(np.sqrt(moments.variance), 0.1, rtol=0.1)
