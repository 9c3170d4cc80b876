"""The robust Bellman backup: the worst case of every (s,a) at once."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.mdp import MDP, Array, SparseMDP

# A ball that leaves the support works on an S×S cost for every row: this many numbers at a time.
_BATCH_NUMBERS = 1 << 22


class Backup(NamedTuple):
    """The worst case of V in every row, in the row's own successors.

    Attributes:
        values: inf_p E_p[V], [S, A].
        kernel: the minimising p, [S, A, K].
        multipliers: β* = −d value/d radius, [S, A].
        slopes: −d value/d coordinate (√radius for KL, χ² and f-divergences), [S, A].
        converged: whether every row's solver certified its answer.
        standard_errors: of `values` where they are sampled, [S, A]; zero where they are exact.
    """

    values: Array
    kernel: Array
    multipliers: Array
    slopes: Array
    converged: bool
    standard_errors: Array


BackupOperator = Callable[[Array], Backup]


@lru_cache(maxsize=8)
def working_form(mdp: MDP | SparseMDP, divergence: Divergence) -> SparseMDP:
    """The rows on which the worst case lives: P0's support, or all states for a transport ball.

    Training asks for it at every iteration, so the last few are kept.
    """
    if divergence.on_support:
        return mdp.to_sparse()
    if isinstance(mdp, SparseMDP):
        raise InputError(
            f"{type(divergence).__name__} may move mass to any state, but the MDP is sparse; "
            "give mdp.to_dense()"
        )
    successors = np.broadcast_to(np.arange(mdp.shape[0]), mdp.transitions.shape)
    return SparseMDP(successors, mdp.transitions, mdp.rewards, mdp.discount, mdp.initial)


def check_radius(radius: float) -> float:
    """A radius as a float; negative and NaN are errors."""
    if not float(radius) >= 0:
        raise InputError(f"radius is {radius}; it must be 0 or more")
    return float(radius)


def exact_backup(form: SparseMDP, divergence: Divergence, radius: float) -> BackupOperator:
    """The operator V ↦ worst case over the ball of `radius` around every nominal row."""
    ε = np.float64(check_radius(radius))
    exact = np.zeros(form.shape)

    @in_float64
    def backup(values: Array) -> Backup:
        solved = _worst_cases(divergence, values, form.successors, form.probabilities, ε)
        value, weights, multiplier, converged, slope = (np.asarray(field) for field in solved)
        return Backup(value, weights, multiplier, slope, bool(converged.all()), exact)

    return backup


@partial(jax.jit, static_argnames="divergence")
def _worst_cases(
    divergence: Divergence,
    values: ArrayLike,
    successors: ArrayLike,
    probabilities: ArrayLike,
    radius: ArrayLike,
) -> tuple[jax.Array, ...]:
    """`WorstCase` of every row, each field with the leading axes [S, A]."""
    values, successors = jnp.asarray(values), jnp.asarray(successors)
    states, actions, width = successors.shape

    def row(problem: tuple[jax.Array, jax.Array]) -> Any:
        targets, nominal = problem
        return divergence.worst_case(values[targets], nominal, radius)

    rows = (successors.reshape(-1, width), jnp.reshape(probabilities, (-1, width)))
    if divergence.on_support:
        solved = jax.vmap(row)(rows)
    else:
        solved = jax.lax.map(row, rows, batch_size=max(1, _BATCH_NUMBERS // width**2))
    return tuple(field.reshape(states, actions, *field.shape[1:]) for field in solved)
