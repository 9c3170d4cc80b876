"""Any f-divergence ball, from the generator and its convex conjugate.

Its dual has one root of an increasing function, found by Newton steps within a bracket.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.divergences.base import Divergence, Solution, concentrated, least_mass
from drspcrl.errors import InputError

MAX_STEPS = 128


def increasing_root(
    function: Callable[[Array], tuple[Array, Array]], start: Array, low: Array, high: Array
) -> Array:
    """The point in [low, high] where an increasing function crosses 0.

    A Newton step that leaves the bracket, or is not finite, becomes a bisection; so does every
    step that follows one which failed to halve the residual. A function value that is not finite
    counts as positive: the point was too far to the right.

    Args:
        function: x ↦ (f(x), f′(x)), scalars.
        start: The first point.
        low: A point with f ≤ 0.
        high: A point with f ≥ 0.
    """
    tight = 4 * jnp.finfo(start.dtype).eps

    def unfinished(state):
        step, _, low, high, residual = state
        wide = high - low > tight * jnp.maximum(jnp.abs(low), jnp.abs(high))
        return (step < MAX_STEPS) & wide & (residual > tight)

    def improve(state):
        step, x, low, high, before = state
        f, slope = function(x)
        f = jnp.where(jnp.isnan(f), jnp.inf, f)
        low, high = jnp.where(f <= 0, x, low), jnp.where(f > 0, x, high)
        newton = x - f / slope
        residual = jnp.abs(f)
        trusted = (newton > low) & (newton < high) & (residual <= before / 2)
        following = jnp.where(trusted, newton, (low + high) / 2)
        solved = residual <= tight
        return step + 1, jnp.where(solved, x, following), low, high, residual

    state = (jnp.zeros((), jnp.int32), start, low, high, jnp.full_like(start, jnp.inf))
    _, x, low, _, residual = lax.while_loop(unfinished, improve, state)
    # Where the function jumps, or is infinite on one side, the left end of the bracket is inside.
    return jnp.where(residual <= tight, x, low)


def root_in_steps(
    function: Callable[[Array], tuple[Array, Array]],
    start: Array,
    low: Array,
    high: Array,
    steps: int,
) -> Array:
    """Like `increasing_root` with a fixed number of steps, written out one after another.

    Nothing here depends on data, so that a batch does not wait for its hardest problem and a GPU
    not for its host. In float32 a residual cannot be asked to reach rounding error: the point with
    the least one that was seen is the answer.
    """
    x, best, least = start, start, jnp.full_like(start, jnp.inf)
    for _ in range(steps):
        f, slope = function(x)
        f = jnp.where(jnp.isnan(f), jnp.inf, f)
        best = jnp.where(jnp.abs(f) < least, x, best)
        least = jnp.minimum(least, jnp.abs(f))
        low, high = jnp.where(f <= 0, x, low), jnp.where(f > 0, x, high)
        newton = x - f / slope
        x = jnp.where((newton > low) & (newton < high), newton, (low + high) / 2)
    return best


LOG_TILT_RANGE = (-40.0, 44.0)


class FDivergence(Divergence):
    """D(q ‖ p) = Σ p f(q/p) ≤ ε for a convex generator f with f(1) = 0, f′(1) = 0, f″(1) > 0.

        value = sup_{λ > 0, η} η − λε − λ Σ p f*((η − V)/λ),   q* = p · f*′((η* − V)/λ*)

    λ* is the multiplier. A new divergence is a subclass with two elementwise functions. Limits: the
    mean at ε = 0, where the multiplier is +inf and the slope in √ε is √(2/f″(1))·sd(V); the
    minimum past saturation, where D is finite there.
    """

    @abstractmethod
    def generator(self, ratio: Array) -> Array:
        """The generator f at a density ratio ≥ 0; +inf where it is infinite."""

    @abstractmethod
    def conjugate(self, dual: Array) -> Array:
        """f*(s) = sup_{r ≥ 0} rs − f(r); +inf outside its domain."""

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Find the tilt t = 1/λ at distance ε; for each t, the level x = η/λ of total mass 1."""
        d, p, ε = distances, probabilities, radius
        one, zero = jnp.ones_like(ε), jnp.zeros_like(ε)
        p_least = least_mass(d, p)
        at_least, elsewhere = self.generator(1 / p_least), self.generator(jnp.zeros_like(p_least))
        farthest = p_least * at_least + jnp.where(p_least < 1, (1 - p_least) * elsewhere, zero)
        saturated = ε >= farthest
        solvable = ~saturated & (ε > 0) & (p_least < 1)
        tilt = jnp.where(solvable, self._tilt_at(d, p, jnp.where(solvable, ε, one)), one)
        level = self._level(d, p, tilt)

        ratio = self._ratio(level - tilt * d)
        ratio = ratio / jnp.sum(p * ratio)
        # D is convex in q: mixing in p takes the last rounding error back into the ball.
        distance = jnp.sum(p * self.generator(ratio))
        keep = jnp.minimum(one, ε / jnp.maximum(distance, jnp.finfo(d.dtype).tiny))
        weights = jnp.where(saturated, concentrated(d, p), p * (keep * ratio + (1 - keep)))
        dual_terms = self.conjugate(level - tilt * d)
        dual = jnp.where(saturated, zero, (level - ε - jnp.sum(p * dual_terms)) / tilt)
        λ = jnp.where(saturated, zero, jnp.where(ε > 0, 1 / tilt, jnp.inf))
        slope = jnp.where(ε > 0, 2 * jnp.sqrt(ε) * λ, self._slope_at_zero(d, p))
        return Solution(
            weights=weights,
            multiplier=λ,
            slope=jnp.where(saturated, zero, slope),
            potential=jnp.where(saturated, zero, -dual_terms / tilt),
            gap=jnp.sum(weights * d) - dual,
        )

    def _ratio(self, dual: Array) -> Array:
        """f*′: the density ratio that a dual value asks for; +inf outside the domain of f*."""
        ratio = jax.vmap(jax.grad(self.conjugate))(dual)
        return jnp.where(jnp.isfinite(self.conjugate(dual)), ratio, jnp.inf)

    def _curvature(self, dual: Array) -> Array:
        """f*″."""
        return jax.vmap(jax.grad(jax.grad(self.conjugate)))(dual)

    def _slope_at_zero(self, d: Array, p: Array) -> Array:
        variance = jnp.sum(p * jnp.square(d - jnp.sum(p * d)))
        return jnp.sqrt(
            2 * self._curvature(jnp.zeros_like(d[:1]))[0] * variance
        )  # f*″(0) = 1/f″(1)

    def _level(self, d: Array, p: Array, tilt: Array) -> Array:
        """The x with Σ p f*′(x − t d) = 1; it lies in [0, t] because f*′(0) = 1."""

        def excess(level: Array) -> tuple[Array, Array]:
            dual = level - tilt * d
            mass = jnp.sum(jnp.where(p > 0, p * self._ratio(dual), jnp.zeros_like(p)))
            return mass - 1, jnp.sum(jnp.where(p > 0, p * self._curvature(dual), jnp.zeros_like(p)))

        return increasing_root(excess, tilt * jnp.sum(p * d), jnp.zeros_like(tilt), tilt)

    def _tilt_at(self, d: Array, p: Array, ε: Array) -> Array:
        """Solve log D(t) = log ε in log t; dD/dt = t·Σ p f*″·(variance of d under p f*″)."""
        tiny = jnp.finfo(d.dtype).tiny

        def excess(log_tilt: Array) -> tuple[Array, Array]:
            tilt = jnp.exp(log_tilt)
            dual = self._level(d, p, tilt) - tilt * d
            distance = jnp.maximum(jnp.sum(p * self.generator(self._ratio(dual))), tiny)
            mass = p * self._curvature(dual)
            total = jnp.maximum(jnp.sum(mass), tiny)
            spread = jnp.sum(mass * jnp.square(d - jnp.sum(mass * d) / total))
            return jnp.log(distance) - jnp.log(ε), jnp.square(tilt) * spread / distance

        low, high = (jnp.full_like(ε, bound) for bound in LOG_TILT_RANGE)
        start = jnp.clip(jnp.log(jnp.sqrt(4 * ε) / self._slope_at_zero(d, p)), low, high)
        return jnp.exp(increasing_root(excess, start, low, high))


@dataclass(frozen=True)
class CressieRead(FDivergence):
    """f_k(r) = (r^k − kr + k − 1) / (k(k − 1)), the power divergences.

    k → 1 is KL, k = 2 half of χ², k → 0 the reverse KL; f″(1) = 1, so that the slope in √ε at
    ε = 0 is √2·sd(V) for every k; ½ is Hellinger's distance.
    """

    power: float = 0.5

    def __post_init__(self) -> None:
        """Refuse the powers at which the formula divides by 0."""
        if self.power in (0, 1) or not -100 <= self.power <= 100:
            raise InputError(
                f"CressieRead: power is {self.power}, but must be in [-100, 100] and not 0 or 1; "
                "use KL() for 1, and a power near 0 for the reverse KL."
            )

    def generator(self, ratio: Array) -> Array:
        """f_k."""
        k = self.power
        return (jnp.power(ratio, k) - k * ratio + (k - 1)) / (k * (k - 1))

    def conjugate(self, dual: Array) -> Array:
        """((1 + (k−1)s)₊^{k/(k−1)} − 1)/k; infinite for k < 1 where 1 + (k−1)s ≤ 0."""
        k = self.power
        base = (k - 1) * dual
        inside = base > -1
        power = jnp.expm1(k / (k - 1) * jnp.log1p(jnp.where(inside, base, jnp.zeros_like(base))))
        return jnp.where(inside, power / k, -1 / k if k > 1 else jnp.inf)
