"""The total-variation ball."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from drspcrl.divergences.base import Coordinate, Divergence, Solution, concentrated, least_mass


@dataclass(frozen=True)
class TotalVariation(Divergence):
    """TV(q, p) = ½ Σ |q − p| ≤ ε, on the support of p.

        value = max_c Σ p min(V, c) − ε (c − min V)

    The worst case takes mass ε from the highest values and gives it to the lowest. Limits: the
    mean at ε = 0, with slope max V − min V; the minimum from ε = 1 − p(minimum) on, with slope 0.
    The value is piecewise linear in ε: at a kink the multiplier is the slope to the right.
    """

    scale: ClassVar[Coordinate] = "linear"

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Fill the removed mass from the top."""
        d, p = distances, probabilities
        saturated = radius >= 1 - least_mass(d, p)
        ε = jnp.minimum(radius, 1 - least_mass(d, p))
        order = jnp.argsort(-d)
        mass = p[order]
        above = jnp.cumsum(mass) - mass
        taken = jnp.zeros_like(p).at[order].set(jnp.clip(ε - above, 0, mass))
        ceiling = jnp.max(jnp.where(p > taken, d, jnp.zeros_like(d)))  # the next to be taken from
        ceiling = jnp.where(saturated, jnp.zeros_like(ceiling), ceiling)
        least = concentrated(d, p)
        weights = jnp.where(saturated, least, p - taken + jnp.sum(taken) * least)
        capped = jnp.minimum(d, ceiling)
        return Solution(
            weights=weights,
            multiplier=ceiling,
            slope=ceiling,
            potential=capped,
            gap=jnp.sum(weights * d) - (jnp.sum(p * capped) - ε * ceiling),
        )
