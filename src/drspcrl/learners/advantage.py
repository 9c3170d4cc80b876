"""Generalised advantage estimation, and the traces of a robust value."""

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


def worst_case_traces(
    residuals: Array,
    ended: Array,
    discount: Array | float,
    trace: Array | float,
    ratio: Array,
) -> Array:
    """What a robust value lacks, V + Â being its target: traces under the worst-case law.

        Â_t = δ_t + γλ·min(1, q_t/p_t)·Â_{t+1}, and Â_{t+1} = 0 where an episode ended with step t

    Residuals are robust, δ_t = r_t + γ(1 − terminated_t)·worst_case V(x') − V(x_t), but the rollout
    follows the nominal law. q_t/p_t says how much likelier the worst case makes the draw that came
    true; without it (`gae`) each sweep adds what nature would have avoided, and targets diverge.
    At q = p it is `gae`.

    Args:
        residuals: δ, [T, ...].
        ended: whether an episode ended with the step, for whatever reason, [T, ...].
        discount: γ.
        trace: λ.
        ratio: worst-case weight of the realised draw over its nominal one, [T, ...]; a functional
            that is no worst case of a ball may make it negative, which counts as 0.
    """
    kept = jnp.clip(ratio, 0.0, 1.0)

    def backwards(following: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        residual, end, share = now
        missing = residual + discount * trace * jnp.where(end, 0.0, share * following)
        return missing, missing

    start = jnp.zeros_like(residuals[0])
    return lax.scan(backwards, start, (residuals, ended, kept), reverse=True)[1]


def standardise(advantages: Array) -> Array:
    """Mean 0 and standard deviation 1 over the whole batch."""
    centred = advantages - jnp.mean(advantages)
    # With the sample's n − 1, as PyTorch's std.
    variance = jnp.sum(jnp.square(centred)) / (advantages.size - 1)
    return centred / (jnp.sqrt(variance) + 1e-8)
