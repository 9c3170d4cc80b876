"""The tanh-Gaussian: its density integrates to one and survives large arguments."""

import jax
import jax.numpy as jnp
import numpy as np

from drspcrl.learners import gaussian


def test_density_of_the_squashed_action_integrates_to_one(float64):
    output = jnp.array([0.4, 0.8])  # mean, raw log std
    mean, log_std = gaussian.split(output)
    u = jnp.linspace(-12.0, 12.0, 200_001)
    z = (u - mean) / jnp.exp(log_std)
    actions, log_density = gaussian.tanh_sample(jnp.tile(output, (len(u), 1)), z[:, None])
    mass = np.trapezoid(np.exp(log_density), actions[:, 0])
    np.testing.assert_allclose(mass, 1.0, atol=1e-6)


def test_by_hand(float64):
    # Mean 0, raw 0: log std = −5 + 7/2 = −1.5. At z = 0: u = 0, a = 0, log π = 1.5 − ½ log 2π.
    action, log_density = gaussian.tanh_sample(jnp.zeros(2), jnp.zeros(1))
    np.testing.assert_allclose(action, [0.0])
    np.testing.assert_allclose(log_density, 1.5 - 0.5 * np.log(2 * np.pi))


def test_no_infinities_far_out():
    for mean in (-50.0, 50.0):
        value, grad = jax.value_and_grad(
            lambda m: gaussian.tanh_sample(jnp.stack([m, jnp.zeros(())]), jnp.ones(1))[1]
        )(jnp.float32(mean))
        assert np.isfinite(value)
        np.testing.assert_allclose(grad, 2.0 * np.sign(mean), rtol=1e-5)


def test_entropy_is_the_mean_negative_log_density(float64):
    log_std = jnp.array([0.3, -0.7])
    z = jax.random.normal(jax.random.key(0), (200_000, 2))
    many = jnp.broadcast_to(log_std, z.shape)
    sampled = -jnp.mean(gaussian.log_density(jnp.exp(many) * z, jnp.zeros_like(z), many))
    np.testing.assert_allclose(gaussian.entropy(log_std), sampled, atol=0.01)
