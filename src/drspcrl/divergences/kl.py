"""The Kullback-Leibler ball, the paper's choice."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from drspcrl.divergences.base import Divergence, Solution, concentrated, least_mass
from drspcrl.divergences.f_divergence import increasing_root, root_in_steps

LARGEST_LOG_TILT = (
    44.0  # past it, no two values in [0, 1] differ enough in floating point to matter
)
# Newton steps that are enough for the value to float32's rounding error.
LEARNERS_STEPS = 10


@dataclass(frozen=True)
class KL(Divergence):
    """KL(q ‖ p) = Σ q log(q/p) ≤ ε, through its dual (`eq:robust_q_dual`).

        value = sup_{β > 0} −β log Σ p exp(−V/β) − βε.

    The worst case tilts p by exp(−V/β*); β* is the multiplier. Limits: the mean at ε = 0, where
    β* = +inf and the slope in √ε is √2·sd(V); the minimum from ε = −log p(minimum) on, where
    β* = 0.

    Attributes:
        steps: None to solve to rounding error, as everything exact does. A number for that many
            Newton steps: without a loop that waits for the hardest of a batch, for learners, whose
            values are float32 and noisy. 8 give the value to 1e-4 of the spread of the values.
    """

    steps: int | None = None

    @classmethod
    def for_learners(cls) -> "KL":
        """See `Divergence`."""
        return cls(steps=LEARNERS_STEPS)

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Find the tilt t = 1/β whose distribution lies at distance ε."""
        d, p, ε = distances, probabilities, radius
        p_least = least_mass(d, p)
        saturated = ε >= -jnp.log(p_least)
        mean = jnp.sum(p * d)
        variance = jnp.sum(p * jnp.square(d - mean))
        one, zero = jnp.ones_like(ε), jnp.zeros_like(ε)
        solvable = ~saturated & (ε > 0) & (variance > 0)
        target = jnp.where(solvable, ε, one)
        tilt = jnp.where(solvable, _tilt_at(d, p, target, variance, self.steps), one)

        log_z, tilted, kl = _tilted(d, p, tilt)
        # KL is convex in q: mixing in p takes the last rounding error back into the ball.
        keep = jnp.minimum(one, ε / jnp.maximum(kl, jnp.finfo(d.dtype).tiny))
        weights = jnp.where(saturated, concentrated(d, p), keep * tilted + (1 - keep) * p)
        β = jnp.where(saturated, zero, jnp.where(ε > 0, 1 / tilt, jnp.inf))
        dual = jnp.where(saturated, zero, -(log_z + ε) / tilt)
        slope = jnp.where(ε > 0, 2 * jnp.sqrt(ε) * β, jnp.sqrt(2 * variance))
        return Solution(
            weights=weights,
            multiplier=β,
            slope=jnp.where(saturated, zero, slope),
            potential=jnp.where(saturated, zero, -jnp.exp(-tilt * d - log_z) / tilt),
            gap=jnp.sum(weights * d) - dual,
        )


def _tilted(d: Array, p: Array, tilt: Array) -> tuple[Array, Array, Array]:
    """The tilt's log Z = log Σ p exp(−t d), the tilted distribution, and its KL from p."""
    z_less_one = jnp.sum(p * jnp.expm1(-tilt * d))
    z = jnp.sum(p * jnp.exp(-tilt * d))
    # Each form keeps its digits where the other loses them.
    log_z = jnp.where(z < 0.5, jnp.log(z), jnp.log1p(jnp.maximum(z_less_one, -0.5)))
    tilted = p * jnp.exp(-tilt * d) / z
    return log_z, tilted, -tilt * jnp.sum(tilted * d) - log_z


def _tilt_at(d: Array, p: Array, ε: Array, variance: Array, steps: int | None) -> Array:
    """Solve log KL(t) = log ε in log t, where KL ≈ t²·variance/2 makes the first steps exact."""
    tiny = jnp.finfo(d.dtype).tiny

    def excess(log_tilt: Array) -> tuple[Array, Array]:
        tilt = jnp.exp(log_tilt)
        _, tilted, kl = _tilted(d, p, tilt)
        kl = jnp.maximum(kl, tiny)
        spread = jnp.sum(tilted * jnp.square(d - jnp.sum(tilted * d)))  # dKL/dt = t·spread
        return jnp.log(kl) - jnp.log(ε), jnp.square(tilt) * spread / kl

    # Values in [0, 1] have variance ≤ 1/4 under any tilt, so KL(t) ≤ t²/8.
    low = jnp.log(8 * ε) / 2
    high = jnp.full_like(ε, LARGEST_LOG_TILT)
    start = jnp.clip(jnp.log(2 * ε / variance) / 2, low, high)
    if steps is None:
        return jnp.exp(increasing_root(excess, start, low, high))

    def roughly(log_tilt: Array) -> tuple[Array, Array]:
        # The same with one exponential per atom; it loses the last digits of a tiny KL.
        tilt = jnp.exp(log_tilt)
        mass = p * jnp.exp(-tilt * d)
        z = jnp.sum(mass)
        mean = jnp.sum(mass * d) / z
        spread = jnp.sum(mass * jnp.square(d)) / z - jnp.square(mean)
        kl = jnp.maximum(-tilt * mean - jnp.log(z), tiny)
        return jnp.log(kl) - jnp.log(ε), jnp.square(tilt) * jnp.maximum(spread, tiny) / kl

    return jnp.exp(root_in_steps(roughly, start, low, high, steps))
