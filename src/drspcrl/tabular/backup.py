"""The robust Bellman backup: the worst case of every (s,a) at once; exact, or over n draws.

A learner replaces P0(·|s,a) by n draws and takes the worst case over their empirical distribution.
In expectation over the draws that is the operator

    U_n(s,a) = E over s'_1 … s'_n ~ P0(·|s,a) of  worst_case_ε(V(s'_1), …, V(s'_n); weights 1/n),

a monotone, concave γ-contraction of V like the exact one, so the same solvers find its fixed point.
Only the counts of the successors matter, and they are multinomial: where few successors make few
count vectors, all are enumerated; elsewhere counts are drawn once, and the standard error is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from scipy.stats import binom

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.mdp import MDP, Array, SparseMDP

# A ball that leaves the support works on an S×S cost for every row: this many numbers at a time.
_BATCH_NUMBERS = 1 << 22


class BackupResult(NamedTuple):
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


BackupOperator = Callable[[Array], BackupResult]


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
    def backup(values: Array) -> BackupResult:
        solved = _worst_cases(divergence, values, form.successors, form.probabilities, ε)
        value, weights, multiplier, converged, slope = (np.asarray(field) for field in solved)
        return BackupResult(value, weights, multiplier, slope, bool(converged.all()), exact)

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


# Two sizes only, so that little is compiled.
_SMALL_CHUNK, _CHUNK = 1 << 10, 1 << 14
# Count vectors less likely than this are left out; a million of them still weigh only 1e-14.
_NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class Draws:
    """How many draws a backup sees, and how its expectation over them is taken.

    Attributes:
        count: n, the number of draws from P0 in one backup.
        enumerate_up_to: a row with at most this many possible count vectors is summed exactly.
        samples: for any other row, how many count vectors are drawn instead.
        seed: of that drawing.
    """

    count: int
    enumerate_up_to: int = 30_000
    samples: int = 4096
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.count < 1 or self.samples < 2:
            raise InputError(
                f"Draws got count={self.count}, samples={self.samples}; "
                "it needs at least one draw and two samples"
            )


def sampled_backup(
    form: SparseMDP, divergence: Divergence, radius: float, draws: Draws | int
) -> BackupOperator:
    """The operator V ↦ U_n of this module's opening, for every (s,a)."""
    check_radius(radius)
    draws = Draws(draws) if isinstance(draws, int) else draws
    if not divergence.on_support:
        raise InputError(
            f"{type(divergence).__name__} moves mass off the draws; "
            "a sampled backup needs a divergence that stays on the support"
        )
    counts = _count_vectors(form, draws)
    problems = _chunked(counts, draws.count)

    @in_float64
    def backup(values: Array) -> BackupResult:
        gathered = values[form.successors].reshape(len(counts.drawn), -1)
        ε = np.float64(radius)
        chunks = [_expectations(divergence, gathered, ε, *chunk) for chunk in problems]
        sums = [np.sum(parts, axis=0) for parts in zip(*chunks, strict=True)]
        return _as_backup(form, sums, counts.drawn, draws.samples)

    return backup


@dataclass(frozen=True)
class _Counts:
    """Count vectors [N, K] of all rows, one under another, with row number and probability.

    `drawn` says for each row whether they are a sample, rather than all there are.
    """

    row: np.ndarray
    counts: np.ndarray
    weight: np.ndarray
    drawn: np.ndarray


def _count_vectors(form: SparseMDP, draws: Draws) -> _Counts:
    nominal = form.probabilities.reshape(-1, form.probabilities.shape[-1])
    # Rows with the same probabilities share their table (all of FrozenLake's do).
    unique, which = np.unique(nominal, axis=0, return_inverse=True)
    tables = [multinomial_table(draws.count, p, draws.enumerate_up_to) for p in unique]
    generator = np.random.default_rng(draws.seed)
    sampled = np.full(draws.samples, 1 / draws.samples)
    parts, drawn = [], []
    for p, k in zip(nominal, which.ravel(), strict=True):
        table = tables[k]
        drawn.append(table is None)
        if table is None:
            counts = generator.multinomial(draws.count, p, size=draws.samples)
            table = counts.astype(np.float64), sampled
        parts.append(table)
    return _Counts(
        row=np.repeat(np.arange(len(nominal)), [len(weight) for _, weight in parts]),
        counts=np.concatenate([counts for counts, _ in parts]),
        weight=np.concatenate([weight for _, weight in parts]),
        drawn=np.array(drawn),
    )


def multinomial_table(n: int, p: Array, limit: int) -> tuple[Array, Array] | None:
    """All count vectors of n draws from p with their probabilities, or None if more than `limit`.

    Column by column: given what is left, the next count is binomial.
    """
    support = np.flatnonzero(p > 0)
    counts = np.zeros((1, len(p)), dtype=np.int64)
    weight, left, mass = np.ones(1), np.array([n]), 1.0
    for column in support[:-1]:
        origin = np.repeat(np.arange(len(left)), left + 1)
        if len(origin) > 20 * max(limit, 1):
            return None
        first = np.concatenate([[0], np.cumsum(left + 1)[:-1]])
        drawn = np.arange(len(origin)) - first[origin]
        weight = weight[origin] * binom.pmf(drawn, left[origin], min(1.0, p[column] / mass))
        kept = weight > _NEGLIGIBLE
        origin, drawn, weight = origin[kept], drawn[kept], weight[kept]
        counts, left = counts[origin], left[origin] - drawn
        counts[:, column] = drawn
        mass -= p[column]
    counts[:, support[-1]] = left
    return (counts.astype(np.float64), weight / weight.sum()) if len(weight) <= limit else None


def _chunked(counts: _Counts, n: int) -> list[tuple[np.ndarray, Array, Array]]:
    """Row, empirical distribution and weight, in chunks of one size, padded with weight 0."""
    size = _CHUNK if len(counts.row) > _SMALL_CHUNK else _SMALL_CHUNK
    short = -len(counts.row) % size
    row = np.pad(counts.row, (0, short)).reshape(-1, size)
    weight = np.pad(counts.weight, (0, short)).reshape(-1, size)
    empirical = np.pad(counts.counts / n, ((0, short), (0, 0)), mode="edge")
    return list(zip(row, empirical.reshape(*row.shape, -1), weight, strict=True))


@partial(jax.jit, static_argnames="divergence")
def _expectations(
    divergence: Divergence,
    values: ArrayLike,
    radius: ArrayLike,
    row: ArrayLike,
    empirical: ArrayLike,
    weight: ArrayLike,
) -> list[jax.Array]:
    """Σ weight · (value, value², weights, multiplier, slope, not converged) for every row."""
    values, row, weight = jnp.asarray(values), jnp.asarray(row), jnp.asarray(weight)
    solve = jax.vmap(divergence.worst_case, in_axes=(0, 0, None))
    found = solve(values[row], empirical, radius)
    terms = (
        found.value,
        jnp.square(found.value),
        found.weights,
        found.multiplier,
        found.slope,
        1.0 - found.converged.astype(values.dtype),
    )
    return [jax.ops.segment_sum(_times(weight, x), row, len(values)) for x in terms]


def _times(weight: jax.Array, term: jax.Array) -> jax.Array:
    # Padding has weight 0, and a multiplier may be infinite at radius 0: 0 · inf must be 0.
    weight = weight.reshape(-1, *[1] * (term.ndim - 1))
    return jnp.where(weight > 0, weight * term, jnp.zeros_like(term))


def _as_backup(form: SparseMDP, sums: list[Array], drawn: np.ndarray, samples: int) -> BackupResult:
    value, square, kernel, multiplier, slope, failed = sums
    shape = form.shape
    variance = np.where(drawn, np.maximum(square - value**2, 0.0), 0.0)
    return BackupResult(
        values=value.reshape(shape),
        kernel=kernel.reshape(form.probabilities.shape),
        multipliers=multiplier.reshape(shape),
        slopes=slope.reshape(shape),
        converged=not failed.any(),
        standard_errors=np.sqrt(variance / (samples - 1)).reshape(shape),
    )
