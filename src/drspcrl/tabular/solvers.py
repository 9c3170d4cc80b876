"""Robust policy evaluation, value iteration and policy iteration, to rounding error."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drspcrl.divergences import Divergence
from drspcrl.tabular.backup import (
    BackupOperator,
    BackupResult,
    Draws,
    exact_backup,
    sampled_backup,
    working_form,
)
from drspcrl.tabular.mdp import (
    MDP,
    Array,
    SparseMDP,
    as_policy,
    dense_rows,
    occupancy_in,
    state_kernel,
    values_in,
)

_MOST_ITERATIONS = 10_000
_ROUNDING = 1e-10  # relative residual below which a step that does not help is rounding error


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found.

    Attributes:
        values: V(s), [S]; their error is at most residual / (1 − γ).
        policy: π(a|s), [S, A]; the given one, or a greedy one.
        kernel: the worst case, in the MDP's own form: [S, A, S] for an `MDP`, [S, A, K] beside
            `successors` for a `SparseMDP`.
        multipliers: β*(s,a) = −d/dε of the worst case of V, [S, A]; +inf at ε = 0 for KL, χ² and
            f-divergences wherever V has spread, 0 where it has none.
        occupancy: d(s,a) = (1−γ) Σ_t γᵗ Pr(s_t=s, a_t=a) under the worst-case kernel, [S, A];
            sums to 1.
        residual: max_s |(TV)(s) − V(s)|.
        converged: residual ≤ tolerance · max(1, max|V|), and every inner problem certified.
        slopes: −d/dρ of the worst case of V in the divergence's coordinate ρ, [S, A]; finite.
        action_values: Q(s,a) = r + γ · worst case, [S, A].
        expected_return: Σ ρ0(s) V(s).
        standard_error: of `expected_return` where the backup was sampled; 0 where it is exact.
        iterations: how often all inner problems were solved.
    """

    values: Array
    policy: Array
    kernel: Array
    multipliers: Array
    occupancy: Array
    residual: float
    converged: bool
    slopes: Array
    action_values: Array
    expected_return: float
    standard_error: float
    iterations: int

    @property
    def mean_multiplier(self) -> float:
        """E_d[β*]: the marginal cost of robustness, as the paper's curriculum feels it."""
        return occupied_mean(self.occupancy, self.multipliers)

    @property
    def mean_slope(self) -> float:
        """E_d[slope]: the same in the divergence's own coordinate; finite at radius 0."""
        return occupied_mean(self.occupancy, self.slopes)


def occupied_mean(occupancy: Array, quantity: Array) -> float:
    """E_d[quantity] over visited pairs; an infinite multiplier of an unvisited one is no cost."""
    visited = occupancy > 0
    return float(occupancy[visited] @ quantity[visited])


def nominal_return(mdp: MDP | SparseMDP, policy: npt.ArrayLike) -> float:
    """Σ ρ0(s) V(s) of a policy in the nominal model itself."""
    form = mdp.to_sparse()
    pi = as_policy(policy, form.shape)
    return float(form.initial @ _newton_values(form, pi, form.probabilities, None))


@dataclass
class _Progress:
    """A value function, its backup, and how far it is from its fixed point."""

    values: Array
    backup: BackupResult
    action_values: Array
    residual: float
    iterations: int


def robust_policy_evaluation(
    mdp: MDP | SparseMDP,
    policy: npt.ArrayLike,
    divergence: Divergence,
    radius: float,
    *,
    draws: Draws | int | None = None,
    tolerance: float = 1e-13,
    start: Array | None = None,
) -> Solution:
    """The robust value of one policy (`eq:primal_robust_value`).

    Nature minimises over kernels, so evaluation is nature's policy iteration: take the worst case
    of the current values, solve the linear system under that kernel, repeat. It is Newton's method
    on a concave monotone map: from above, monotone and quadratic.

    Args:
        mdp: the nominal model, dense or sparse.
        policy: π(a|s), [S, A], or one integer action per state, [S].
        divergence: from `drspcrl.divergences`.
        radius: ε ≥ 0.
        draws: none for the exact worst case; a number n (or `Draws`) for the backup that sees only
            n draws from P0, in expectation over them.
        tolerance: on the residual, relative to max(1, max|V|).
        start: values to start from, [S]; the nominal ones unless given.
    """
    form = working_form(mdp, divergence)
    pi = as_policy(policy, form.shape)
    backup = _operator(form, divergence, radius, draws)
    if start is None:
        start = _newton_values(form, pi, form.probabilities, None)
    found = _evaluate(form, pi, backup, start, tolerance)
    return _solution(mdp, form, pi, found, tolerance)


def robust_value_iteration(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    radius: float,
    *,
    draws: Draws | int | None = None,
    tolerance: float = 1e-12,
) -> Solution:
    """The best robust value and a greedy policy (`eq:robust_q_dual` with a maximum over actions).

    Among actions that are equally good within the tolerance, the policy takes the nominally best.

    Each step solves the linear system of the greedy policy under the worst-case kernel. That is
    Newton's method on a map that is neither convex nor concave, which may cycle; so a step is kept
    only if it shrinks the residual at least as a plain Bellman sweep must (by γ), and is replaced
    by that sweep otherwise.

    Arguments as in `robust_policy_evaluation`.
    """
    form = working_form(mdp, divergence)
    backup = _operator(form, divergence, radius, draws)
    values, preference = _nominal_optimum(form)
    now = _improved(form, backup, values, 0)
    while not _finished(now, tolerance) and now.iterations < _MOST_ITERATIONS:
        greedy = as_policy(now.action_values.argmax(axis=1), form.shape)
        values = _newton_values(form, greedy, now.backup.kernel, now.values)
        trial = _improved(form, backup, values, now.iterations)
        if trial.residual > form.discount * now.residual:
            swept = now.action_values.max(axis=1)
            trial = _improved(form, backup, swept, trial.iterations)
            if trial.residual >= now.residual:  # only rounding is left
                break
        now = trial
    # Where the worst case leaves nothing to choose, the nominal model does.
    Q = now.action_values
    ties = Q.max(axis=1, keepdims=True) - Q <= tolerance * _scale(now.values)
    greedy = as_policy(np.where(ties, preference, -np.inf).argmax(axis=1), form.shape)
    return _solution(mdp, form, greedy, now, tolerance)


def robust_policy_iteration(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    radius: float,
    *,
    draws: Draws | int | None = None,
    tolerance: float = 1e-12,
) -> Solution:
    """The best robust value by exact evaluation and greedy improvement in turn.

    Arguments as in `robust_policy_evaluation`. Values rise monotonically, so the loop ends.
    """
    form = working_form(mdp, divergence)
    backup = _operator(form, divergence, radius, draws)
    values, _ = _nominal_optimum(form)
    actions = _action_values(form, backup(values)).argmax(axis=1)
    here, iterations, best = np.arange(form.shape[0]), 1, -np.inf
    while True:
        pi = as_policy(actions, form.shape)
        now = _evaluate(form, pi, backup, values, tolerance * (1 - form.discount) / 4)
        iterations = now.iterations = iterations + now.iterations
        values, Q = now.values, now.action_values
        better = Q.max(axis=1) - Q[here, actions] > tolerance / 2 * _scale(values)
        # Values that no longer rise mean that the "better" actions are ties within rounding.
        if not better.any() or values.sum() <= best:
            break
        best = values.sum()
        actions = np.where(better, Q.argmax(axis=1), actions)
    now.residual = float(np.abs(Q.max(axis=1) - values).max())
    return _solution(mdp, form, pi, now, tolerance)


def _operator(
    form: SparseMDP, divergence: Divergence, radius: float, draws: Draws | int | None
) -> BackupOperator:
    if draws is None:
        return exact_backup(form, divergence, radius)
    return sampled_backup(form, divergence, radius, draws)


def _newton_values(form: SparseMDP, pi: Array, kernel: Array, start: Array | None) -> Array:
    rewards = (pi * form.rewards).sum(axis=1)
    return values_in(state_kernel(form, kernel, pi), rewards, form.discount, start)


def _nominal_optimum(form: SparseMDP) -> tuple[Array, Array]:
    """The best nominal V and Q, by policy iteration: near the robust ones and cheap to have."""
    here, actions = np.arange(form.shape[0]), form.rewards.argmax(axis=1)
    while True:
        values = _newton_values(form, as_policy(actions, form.shape), form.probabilities, None)
        mean = (form.probabilities * values[form.successors]).sum(axis=-1)
        Q = form.rewards + form.discount * mean
        better = Q.max(axis=1) - Q[here, actions] > _ROUNDING * _scale(values)
        if not better.any():
            return values, Q
        actions = np.where(better, Q.argmax(axis=1), actions)


def _action_values(form: SparseMDP, backup: BackupResult) -> Array:
    return form.rewards + form.discount * backup.values


def _improved(form: SparseMDP, operator: BackupOperator, values: Array, count: int) -> _Progress:
    backup = operator(values)
    Q = _action_values(form, backup)
    residual = float(np.abs(Q.max(axis=1) - values).max())
    return _Progress(values, backup, Q, residual, count + 1)


def _evaluate(
    form: SparseMDP, pi: Array, operator: BackupOperator, values: Array, tolerance: float
) -> _Progress:
    best: _Progress | None = None
    for count in range(1, _MOST_ITERATIONS):
        backup = operator(values)
        Q = _action_values(form, backup)
        residual = float(np.abs((pi * Q).sum(axis=1) - values).max())
        now = _Progress(values, backup, Q, residual, count)
        if _finished(now, tolerance):
            return now
        # The first steps may raise the residual; one that rises when it is tiny is rounding.
        rounding = residual <= _ROUNDING * _scale(values)
        if best is not None and rounding and residual >= best.residual:
            best.iterations = count
            return best
        best = now
        values = _newton_values(form, pi, backup.kernel, values)
    assert best is not None
    return best


def _finished(progress: _Progress, tolerance: float) -> bool:
    return progress.residual <= tolerance * _scale(progress.values)


def _scale(values: Array) -> float:
    return max(1.0, float(np.abs(values).max()))


def _solution(
    mdp: MDP | SparseMDP, form: SparseMDP, pi: Array, found: _Progress, tolerance: float
) -> Solution:
    backup, γ = found.backup, form.discount
    states = occupancy_in(state_kernel(form, backup.kernel, pi), form.initial, γ)
    occupancy = states[:, None] * pi
    kernel = backup.kernel
    if isinstance(mdp, MDP):
        kernel = dense_rows(form.successors, kernel, form.shape[0])
    # To first order dJ = γ/(1−γ) Σ d(s,a) dU(s,a), and the draws of different rows are independent.
    error = γ / (1 - γ) * np.linalg.norm(occupancy * backup.standard_errors)
    return Solution(
        values=found.values,
        policy=pi,
        kernel=kernel,
        multipliers=backup.multipliers,
        occupancy=occupancy,
        residual=found.residual,
        converged=backup.converged and _finished(found, tolerance),
        slopes=backup.slopes,
        action_values=found.action_values,
        expected_return=float(form.initial @ found.values),
        standard_error=float(error),
        iterations=found.iterations,
    )
