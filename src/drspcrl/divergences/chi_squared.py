"""The χ² ball."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from drspcrl.divergences.base import Divergence, Solution, concentrated, least_mass


@dataclass(frozen=True)
class ChiSquared(Divergence):
    """χ²(q ‖ p) = Σ p (q/p − 1)² ≤ ε, through its dual.

        value = sup_η η − √(1 + ε) · ‖(η − V)₊‖₂, the norm taken under p.

    The worst case is q ∝ p (η* − V)₊. As long as no weight reaches 0 the value is
    mean − √ε·sd. Limits: the mean at ε = 0, where the multiplier is +inf and the slope in √ε is
    sd(V); the minimum from ε = 1/p(minimum) − 1 on, where the multiplier is 0.
    """

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Find which atoms keep weight; given them, the value is closed form."""
        d, p, ε = distances, probabilities, radius
        one, zero = jnp.ones_like(ε), jnp.zeros_like(ε)
        saturated = least_mass(d, p) * (1 + ε) >= 1
        active = _active_atoms(d, p, ε)
        mass, mean, deviation = _moments(d, jnp.where(active, p, jnp.zeros_like(p)))
        # On the active atoms, value = mean − deviation·√(mass(1 + ε) − 1).
        reach = jnp.sqrt(jnp.maximum(mass * (1 + ε) - 1, 0))
        lever = jnp.where(reach > 0, reach, one)
        # η* lies at or below the first atom without weight; where values nearly tie and the mass
        # below is 1/(1 + ε), 0/0 says nothing, and that atom is the answer.
        ceiling = jnp.min(jnp.where(active, jnp.inf, d))
        lost = (reach <= 0) & jnp.isfinite(ceiling)
        η = jnp.where(lost, ceiling, jnp.minimum(mean + deviation / lever, ceiling))
        excess = jnp.maximum(η - d, 0)
        norm = jnp.sqrt((1 + ε) * jnp.sum(p * jnp.square(excess)))
        weights = p * excess / jnp.maximum(jnp.sum(p * excess), jnp.finfo(d.dtype).tiny)

        multiplier = jnp.where(ε > 0, norm / (2 * (1 + ε)), jnp.inf)
        slope = jnp.where(ε > 0, 2 * jnp.sqrt(ε) * multiplier, _moments(d, p)[2])
        weights = jnp.where(saturated, concentrated(d, p), weights)
        potential = -(1 + ε) * jnp.square(excess) / (2 * jnp.where(norm > 0, norm, one))
        return Solution(
            weights=weights,
            multiplier=jnp.where(saturated, zero, multiplier),
            slope=jnp.where(saturated, zero, slope),
            potential=jnp.where(saturated, zero, potential),
            gap=jnp.sum(weights * d) - jnp.where(saturated, zero, η - norm),
        )


def _active_atoms(d: Array, p: Array, ε: Array) -> Array:
    """The atoms below η*: those at which E(x − V)₊² / (E(x − V)₊)² still exceeds 1 + ε.

    That ratio falls as x grows, from 1/p(minimum) towards 1, and equals 1 + ε at η*.
    """
    order = jnp.argsort(d)
    x, mass = d[order], p[order]
    first = x * jnp.cumsum(mass) - jnp.cumsum(mass * x)
    second = jnp.square(x) * jnp.cumsum(mass) - 2 * x * jnp.cumsum(mass * x)
    second += jnp.cumsum(mass * jnp.square(x))
    below = (second > (1 + ε) * jnp.square(first)) | (first <= 0)
    return jnp.zeros_like(below).at[order].set(below)


def _moments(d: Array, p: Array) -> tuple[Array, Array, Array]:
    """Mass, mean and standard deviation under an unnormalised distribution."""
    mass = jnp.sum(p)
    mean = jnp.sum(p * d) / mass
    return mass, mean, jnp.sqrt(jnp.sum(p * jnp.square(d - mean)) / mass)
