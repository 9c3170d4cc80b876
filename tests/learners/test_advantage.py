"""Generalised advantages against a loop and by hand."""

import jax.numpy as jnp
import numpy as np

from drspcrl.learners.surrogate import gae, standardise


def test_by_hand():
    # γλ = 0.5: A_2 = 4; A_1 = 2 (an episode ended there); A_0 = 1 + 0.5·2 = 2.
    residuals, ended = jnp.array([1.0, 2.0, 4.0]), jnp.array([False, True, False])
    np.testing.assert_allclose(gae(residuals, ended, 1.0, 0.5), [2.0, 2.0, 4.0])


def test_against_a_loop(float64):
    random = np.random.default_rng(0)
    residuals, ended = random.normal(size=(50, 3)), random.random((50, 3)) < 0.1
    expected, following = np.zeros_like(residuals), np.zeros(3)
    for t in reversed(range(50)):
        following = residuals[t] + 0.99 * 0.95 * np.where(ended[t], 0.0, following)
        expected[t] = following
    np.testing.assert_allclose(
        gae(jnp.asarray(residuals), jnp.asarray(ended), 0.99, 0.95), expected
    )


def test_trace_one_is_the_discounted_return_less_the_value(float64):
    random = np.random.default_rng(1)
    rewards, values = random.normal(size=20), random.normal(size=21)
    residuals = rewards + 0.9 * values[1:] - values[:-1]
    advantages = gae(jnp.asarray(residuals), jnp.zeros(20, bool), 0.9, 1.0)
    whole = sum(0.9**t * rewards[t] for t in range(20)) + 0.9**20 * values[20]
    np.testing.assert_allclose(advantages[0], whole - values[0])


def test_standardised_as_pytorch_does():
    # Mean 2; sample variance (1 + 0 + 1)/2 = 1.
    np.testing.assert_allclose(standardise(jnp.array([1.0, 2.0, 3.0])), [-1.0, 0.0, 1.0], atol=1e-6)
