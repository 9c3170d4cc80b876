"""What curricula and the log hear of learning in worlds: price, values of starts, tilt.

The price of a larger radius is max(0, −d/dρ E V(s, ρ·u)) / E|V|. Its slope is that of a parabola,
by least squares, through E V at a few radii around ρ. At ρ = 0 all worlds are one point, where a
network of relus has the slope of whichever piece it lies on; over a share of the budget the data
decide it. A parabola is what E V(s, ρu) is for small ρ: linear in what is one-sided, quadratic in
what is not.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.uncertainty import Numbers, SignalOutput, Value
from drspcrl.worlds.tilt import (
    CANDIDATES,
    STARTS,
    SolvedTilt,
    Tilt,
    at_starts,
    no_tilt,
    solve_tilt,
)

if TYPE_CHECKING:
    from drspcrl.worlds.learning import Worlds

RADII = 11
"""Radii from 0 to ε_budget at which a signal says what the critic expects."""
WINDOW = 0.5
"""Share of ε_budget over which the slope of E V in ρ is taken."""
NEAR = 6
"""Radii within that share at which E V is asked for."""
_LOGGED = ("price", "value_scale", "start_value", "value_spread")


class WorldStrength(NamedTuple):
    """How strong the uncertainty is for a member.

    Attributes:
        epsilon: ρ, the radius of the coming episodes.
        budget: ε_budget; 0 for a member that is trained without worlds.
        tilt: τ, the radius of the ball around the law of worlds.
    """

    epsilon: Any = 0.0
    budget: Any = 0.0
    tilt: Any = 0.0


class WorldsState(NamedTuple):
    """What is known of a member's worlds.

    Attributes:
        low: least reward seen.
        high: greatest reward seen.
        tilt: the newest worst case over worlds.
    """

    low: Array
    high: Array
    tilt: Tilt


ValueInWorlds = Callable[[Array, Array, Array], Array]
"""From states [..., O], worlds [..., W] and a key to V(s, f), [...]."""


class WorldValues(NamedTuple):
    """The values that a signal is made of.

    Attributes:
        priced: by the mean of the critics, without entropy.
        tilting: as a tilt compares worlds, by what the actor ascends.
    """

    priced: ValueInWorlds
    tilting: ValueInWorlds


def signal_at(
    form: "Worlds",
    known: WorldsState,
    values: WorldValues,
    states: Array,
    worlds: Array,
    signal_inputs: SignalInputs,
    strength: WorldStrength,
    key: Array,
) -> SignalOutput:
    """Price, start values, tilt and their log, from visited states [B, O] in worlds [B, W]."""
    units_key, value_key, pool_key, start_key = jax.random.split(key, 4)
    at = repeated(signal_inputs.starts, len(states)) if form.at_starts else states
    units = form.units(units_key, len(at))
    signal = priced(lambda radius: values.priced(at, radius * units, value_key), strength)
    pool = form.units(pool_key, CANDIDATES)
    starting, solved = valued_starts(form, values, pool, signal_inputs, strength, start_key)
    signal |= starting
    mean_square = max(form.model.mean_square, 1e-12)
    log = {name: signal[name] for name in _LOGGED} | {
        "beta": solved.multiplier,
        "learned_radius": jnp.sqrt(jnp.mean(jnp.sum(worlds**2, axis=-1)) / mean_square),
        "reward_low": known.low,
        "reward_high": known.high,
    }
    # A member that is trained without worlds has none of these.
    log = {name: jnp.where(strength.budget > 0, x, jnp.nan) for name, x in log.items()}
    return SignalOutput(signal, log, known._replace(tilt=solved.tilt))


def priced(values_at: Value, strength: WorldStrength) -> Numbers:
    """The price at ρ, and E V along the radius; `values_at` gives V in worlds of a radius."""

    def mean_at(radius: Array) -> tuple[Array, Array]:
        values = values_at(radius)
        return jnp.mean(values), jnp.mean(jnp.abs(values))

    ρ = jnp.asarray(strength.epsilon)
    radii = jnp.linspace(0.0, 1.0, RADII) * strength.budget
    near, offset = near_radii(ρ, strength.budget)
    means, sizes = lax.map(mean_at, jnp.concatenate([ρ[None], near, radii]))
    slope = fitted_slope(means[1 : 1 + NEAR], offset, strength.budget)
    return {
        "price": jnp.maximum(0.0, -slope) / jnp.maximum(sizes[0], 1e-8),
        "slope": -slope,
        "value": means[0],
        "value_scale": sizes[0],
        "radius_values": means[1 + NEAR :],
    }


def valued_starts(
    form: "Worlds",
    values: WorldValues,
    pool: Array,
    signal_inputs: SignalInputs,
    strength: WorldStrength,
    key: Array,
) -> tuple[Numbers, SolvedTilt]:
    """Values where episodes start, in worlds of ρ and in probes; the tilt that they give."""
    worlds = jnp.asarray(strength.epsilon) * pool
    across = values.priced(repeated(signal_inputs.starts, CANDIDATES), worlds, key)
    first = repeated(signal_inputs.starts, STARTS)
    solved = no_tilt(first)
    if form.tilted:
        in_each = jnp.mean(values.tilting(*at_starts(first, worlds), key), axis=0)
        solved = solve_tilt(form.divergence, in_each, first, strength.tilt)
    signal = {
        "start_value": jnp.mean(across),
        "value_spread": jnp.std(across),
        "multiplier": solved.multiplier,
        "probe_values": jnp.zeros(0),
    }
    if signal_inputs.probes is not None:
        signal["probe_values"] = values.priced(*signal_inputs.probes, key)
    if form.tilted and not form.weighted:
        signal |= {"pool": pool, "pool_weights": solved.weights}
    return signal, solved


def near_radii(ρ: Array, budget: Array) -> tuple[Array, Array]:
    """Radii through which a parabola gives the slope at ρ, [NEAR], and ρ less their middle."""
    half = 0.5 * WINDOW * budget
    middle = jnp.clip(ρ, half, budget - half)
    return middle + half * jnp.linspace(-1.0, 1.0, NEAR), ρ - middle


def fitted_slope(values: Array, offset: Array, budget: Array) -> Array:
    """The derivative of the parabola, by least squares, through values [NEAR] at `near_radii`."""
    x = jnp.linspace(-1.0, 1.0, NEAR)
    square = x**2 - jnp.mean(x**2)
    linear, quadratic = x @ values / (x @ x), square @ values / (square @ square)
    half = jnp.maximum(0.5 * WINDOW * budget, 1e-8)
    return (linear + 2.0 * quadratic * offset / half) / half


def repeated(rows: Array, n: int) -> Array:
    """The first n rows, from the beginning again where there are fewer."""
    return rows[jnp.arange(n) % len(rows)]
