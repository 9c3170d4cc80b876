"""Generalised advantage estimation."""

import jax.numpy as jnp
from jax import Array, lax


def gae(residuals: Array, ended: Array, discount: Array | float, trace: Array | float) -> Array:
    """Advantages from temporal-difference residuals (Schulman et al. 2016).

        A_t = δ_t + γλ·A_{t+1}, and A_{t+1} = 0 where an episode ended with step t

    Residuals carry their own bootstrap: δ_t = r_t + γ(1 − terminated_t)·V(s_{t+1}) − V(s_t), where
    s_{t+1} is the true successor even where a time limit cut the episode.

    Args:
        residuals: δ, [T, ...].
        ended: whether an episode ended with the step, for whatever reason, [T, ...].
        discount: γ.
        trace: λ.
    """

    def backwards(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        residual, end = now
        advantage = residual + discount * trace * jnp.where(end, 0.0, following)
        return advantage, advantage

    return lax.scan(backwards, jnp.zeros_like(residuals[0]), (residuals, ended), reverse=True)[1]


def standardise(advantages: Array) -> Array:
    """Mean 0 and standard deviation 1 over the whole batch."""
    centred = advantages - jnp.mean(advantages)
    # With the sample's n − 1, as PyTorch's std.
    variance = jnp.sum(jnp.square(centred)) / (advantages.size - 1)
    return centred / (jnp.sqrt(variance) + 1e-8)
