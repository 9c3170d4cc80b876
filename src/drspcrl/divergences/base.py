"""What every divergence ball offers: the worst-case expectation, who causes it, what it costs.

For values V, nominal probabilities p and a radius ε, each divergence D solves

    value(ε) = min { E_q[V] : D(q ‖ p) ≤ ε }

for one problem; `jax.vmap` makes batches of it. Wrong input is an error outside jit, a flag inside.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from numpy.typing import ArrayLike

from drspcrl.errors import InputError


def sum_tolerance(dtype: jnp.dtype) -> float:
    """How far from 1 the probabilities may sum, from rounding."""
    return 1e-8 if dtype == jnp.float64 else 1e-4


def inputs_are_valid(values: Array, probabilities: Array, radius: Array) -> Array:
    """One flag for everything that can be wrong with the numbers of a problem."""
    total = jnp.abs(jnp.sum(probabilities) - 1) <= sum_tolerance(values.dtype)
    return jnp.all(jnp.isfinite(values)) & jnp.all(probabilities >= 0) & total & (radius >= 0)


def check_inputs(name: str, values: Array, probabilities: Array, radius: Array) -> None:
    """Raise `InputError` for wrong shapes always, for wrong numbers where they are known."""
    if values.ndim != 1 or values.shape != probabilities.shape or values.shape[0] == 0:
        raise InputError(
            f"{name}: values and probabilities must be vectors of one length n ≥ 1, but have "
            f"shapes {values.shape} and {probabilities.shape}; use jax.vmap for a batch."
        )
    if radius.ndim != 0:
        raise InputError(
            f"{name}: radius must be a scalar, but has shape {radius.shape}; use jax.vmap over it."
        )
    if not any(isinstance(x, Tracer) for x in (values, probabilities, radius)):
        _check_numbers(name, np.asarray(values), np.asarray(probabilities), float(radius))


def _check_numbers(name: str, v: np.ndarray, p: np.ndarray, ε: float) -> None:
    if not ε >= 0:
        raise InputError(
            f"{name}: radius is {ε}, but must be ≥ 0 (0 is the plain mean, inf the minimum)."
        )
    if not np.all(np.isfinite(v)):
        raise InputError(
            f"{name}: value {v[~np.isfinite(v)][0]} at index {np.flatnonzero(~np.isfinite(v))[0]}; "
            "all values must be finite."
        )
    if not np.all(p >= 0):
        raise InputError(
            f"{name}: probability {p[~(p >= 0)][0]} at index {np.flatnonzero(~(p >= 0))[0]}; "
            "probabilities must be ≥ 0."
        )
    if not abs(p.sum() - 1) <= sum_tolerance(v.dtype):
        raise InputError(
            f"{name}: probabilities sum to {p.sum():.9g}, but must sum to 1; "
            "divide them by their sum."
        )


Coordinate = Literal["sqrt", "linear"]


class WorstCase(NamedTuple):
    """The solution of one worst-case problem over n atoms.

    Attributes:
        value: The worst-case expectation, a scalar. It is differentiable by the envelope theorem:
            d value/d values = weights, d value/d radius = −multiplier. All other fields are
            constants to autodiff.
        weights: The worst-case distribution, [n]; it lies in the ball and sums to 1.
        multiplier: β = −d value/d radius ≥ 0, the marginal cost of robustness; at a kink, a number
            between the one-sided slopes; +inf at radius 0 where the value falls like √radius.
        converged: Whether the primal-dual gap certifies the value and all inputs were valid.
        slope: −d value/d coordinate, where the coordinate is √radius or the radius itself (see
            `Divergence.coordinate`); finite at radius 0.
    """

    value: Array
    weights: Array
    multiplier: Array
    converged: Array
    slope: Array


class Solution(NamedTuple):
    """What a divergence's solver returns for values scaled to [0, 1], the least of them 0.

    `potential` is d value/d probabilities up to an additive constant; `gap` is the primal value of
    `weights` less the dual value of the multiplier, an upper bound on the error.
    """

    weights: Array
    multiplier: Array
    slope: Array
    potential: Array
    gap: Array


class Divergence(ABC):
    """A ball of distributions around a nominal one; subclasses say how its worst case is found."""

    # √radius is the natural coordinate where the value falls like √radius near 0.
    scale: ClassVar[Coordinate] = "sqrt"
    # Whether the ball stays on the support of the nominal distribution.
    on_support: ClassVar[bool] = True

    @classmethod
    def for_learners(cls) -> "Divergence":
        """The ball as learners use it: quick in large batches of noisy float32 values."""
        return cls()

    @classmethod
    def between_states(cls, distances: Callable[[], ArrayLike]) -> "Divergence":
        """The ball around the rows of a finite MDP.

        Args:
            distances: gives the distances between its states, [S, S], for balls that need them.
        """
        del distances
        return cls()

    @abstractmethod
    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Solve for `distances` in [0, 1] with least value 0, and a radius ≥ 0."""

    def coordinate(self, radius: ArrayLike) -> Array:
        """The coordinate in which the value falls at a finite rate from radius 0."""
        radius = jnp.asarray(radius)
        return jnp.sqrt(radius) if self.scale == "sqrt" else radius

    def radius_at(self, coordinate: ArrayLike) -> Array:
        """The inverse of `coordinate`."""
        coordinate = jnp.asarray(coordinate)
        return jnp.square(coordinate) if self.scale == "sqrt" else coordinate

    def worst_case(
        self, values: ArrayLike, probabilities: ArrayLike, radius: ArrayLike
    ) -> WorstCase:
        """The least expectation of `values` over the ball of `radius` around `probabilities`.

        Args:
            values: V, [n], finite.
            probabilities: p, [n], non-negative, summing to 1; zeros are allowed.
            radius: ε ≥ 0, a scalar; infinity is allowed. At 0 the value is exactly Σ pV; past
                saturation it is the least value and the multiplier is 0.

        Returns:
            A `WorstCase`. Outside `jit` and `vmap` wrong inputs raise `InputError`; inside, they
            give `converged=False`.
        """
        v, p, ε = as_problem(values, probabilities, radius)
        check_inputs(type(self).__name__, v, p, ε)
        constant = lax.stop_gradient((v, p, ε))
        solution, potential = self._worst_case(*constant)
        # Outside the solver's program it is the very expression of a plain mean, to the last bit.
        value = jnp.where(constant[2] == 0, jnp.sum(constant[1] * constant[0]), solution.value)
        # The envelope theorem: terms that are 0, with the derivatives of the value.
        zeros = jnp.sum(solution.weights * _change(v)) + jnp.sum(potential * _change(p))
        falling = jnp.where((solution.slope > 0) & (ε >= 0), ε, jnp.ones_like(ε))
        zeros -= solution.slope * _change(self.coordinate(falling))
        return solution._replace(value=value + zeros)

    # Compiled once per divergence and size, so that calls outside jit are quick too.
    @partial(jax.jit, static_argnums=0)
    def _worst_case(self, v: Array, p: Array, ε: Array) -> tuple[WorstCase, Array]:
        valid = inputs_are_valid(v, p, ε)
        ε = jnp.where(ε >= 0, ε, jnp.zeros_like(ε))  # also where it is NaN
        reachable = (p > 0) | (not self.on_support)
        least = jnp.min(jnp.where(reachable, v, jnp.inf))
        spread = jnp.max(jnp.where(reachable, v, -jnp.inf)) - least
        # Equivariance: solve on [0, 1], so that tolerances are relative to the spread.
        unit = jnp.where(spread > 0, spread, jnp.ones_like(spread))
        distances = jnp.where(reachable, (v - least) / unit, jnp.ones_like(v))
        found = self.solve(distances, p, ε)

        no_ball, flat = ε == 0, spread <= 0
        weights = jnp.where(no_ball | flat, p, found.weights)
        value = least + spread * jnp.sum(weights * distances)
        potential = jnp.where(no_ball, v, spread * found.potential)
        zero = jnp.zeros_like(value)
        solution = WorstCase(
            value=value,
            weights=weights,
            multiplier=jnp.where(flat, zero, unit * found.multiplier),
            converged=valid & (no_ball | flat | (found.gap <= gap_tolerance(v.dtype))),
            slope=jnp.where(flat, zero, unit * found.slope),
        )
        return solution, potential


def as_problem(
    values: ArrayLike, probabilities: ArrayLike, radius: ArrayLike
) -> tuple[Array, Array, Array]:
    """The three inputs as arrays of one floating type, that of the values."""
    v = jnp.asarray(values)
    dtype = v.dtype if jnp.issubdtype(v.dtype, jnp.floating) else jnp.zeros(()).dtype
    return v.astype(dtype), jnp.asarray(probabilities, dtype), jnp.asarray(radius, dtype)


def gap_tolerance(dtype: jnp.dtype) -> float:
    """The primal-dual gap, relative to the spread of the values, that counts as solved."""
    return 1e-9 if dtype == jnp.float64 else 2e-5


def least_mass(distances: Array, probabilities: Array) -> Array:
    """The nominal probability of the least value: where balls saturate."""
    return jnp.sum(jnp.where(distances == 0, probabilities, jnp.zeros_like(probabilities)))


def concentrated(distances: Array, probabilities: Array) -> Array:
    """The nominal distribution conditioned on the least value: the worst case past saturation."""
    at_least = jnp.where(distances == 0, probabilities, jnp.zeros_like(probabilities))
    return at_least / jnp.sum(at_least)


def _change(x: Array) -> Array:
    """Zero, with the derivative of x."""
    return x - lax.stop_gradient(x)
