"""One root of an increasing function, by Newton steps that a bracket keeps honest."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

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
