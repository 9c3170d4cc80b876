"""The ball of bounded density ratios, whose worst case is the conditional value at risk."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from drspcrl.divergences.base import Coordinate, Divergence, Solution, concentrated, least_mass


@dataclass(frozen=True)
class CVaR(Divergence):
    """q/p ≤ e^ε: the mean of the lowest e^−ε share of the values.

        value = max_c c − e^ε Σ p (c − V)₊

    Limits: the mean at ε = 0, with slope max V − mean; the minimum from ε = −log p(minimum) on,
    with slope 0. Where the share ends between two atoms, the multiplier is the slope to the right.
    """

    scale: ClassVar[Coordinate] = "linear"

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Fill the distribution from the bottom, each atom up to e^ε times its probability."""
        d, p = distances, probabilities
        saturated = radius >= -jnp.log(least_mass(d, p))
        ratio = jnp.exp(jnp.minimum(radius, -jnp.log(least_mass(d, p))))
        order = jnp.argsort(d)
        mass = ratio * p[order]
        below = jnp.cumsum(mass) - mass
        filled = jnp.clip(1 - below, 0, mass)
        weights = jnp.zeros_like(p).at[order].set(filled)
        weights = jnp.where(saturated, concentrated(d, p), weights / jnp.sum(weights))
        quantile = jnp.max(jnp.where(filled > 0, d[order], jnp.zeros_like(d)))
        quantile = jnp.where(saturated, jnp.zeros_like(quantile), quantile)
        shortfall = ratio * jnp.maximum(quantile - d, 0)
        multiplier = jnp.sum(p * shortfall)
        return Solution(
            weights=weights,
            multiplier=multiplier,
            slope=multiplier,
            potential=-shortfall,
            gap=jnp.sum(weights * d) - (quantile - multiplier),
        )
