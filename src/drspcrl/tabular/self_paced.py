"""Algorithm 1 in the exact setting: exact β*, exact softmax policy gradient, any curriculum."""

from dataclasses import dataclass

import numpy as np

from drspcrl.curricula import Curriculum, Signal
from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.tabular.backup import working_form
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.solvers import (
    Solution,
    nominal_return,
    occupied_mean,
    robust_policy_evaluation,
)

_PAIRS, _DRAWS = 32, 16  # shape of the value draws in a signal


@dataclass(frozen=True, eq=False)
class Training:
    """A whole run; row t is the state before step t, and there is one row more than steps.

    Attributes:
        radii: ε_t, [T+1].
        logits: θ_t, [T+1, S, A].
        robust_returns: J(π_t, ε_t), [T].
        nominal_returns: J(π_t, 0), [T].
        multipliers: E_d[β*] at (π_t, ε_t), [T].
        slopes: E_d[slope] at (π_t, ε_t), [T].
    """

    radii: Array
    logits: Array
    robust_returns: Array
    nominal_returns: Array
    multipliers: Array
    slopes: Array

    @property
    def policy(self) -> Array:
        """π_T(a|s), [S, A]."""
        return softmax(self.logits[-1])


def train(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    curriculum: Curriculum,
    *,
    iterations: int,
    learning_rate: float,
    normalized: bool = False,
    logits: Array | None = None,
    seed: int = 0,
) -> Training:
    """Algorithm 1 with nothing estimated.

    Each iteration finds the robust value and β* of the current policy at the current ε, ascends the
    exact policy gradient, and lets the curriculum move ε on the same β*.

    Args:
        mdp: the nominal model.
        divergence: from `drspcrl.divergences`.
        curriculum: an object with `init`, `epsilon` and `update`.
        iterations: T.
        learning_rate: the step size on θ; 0 keeps the policy.
        normalized: whether a step has length `learning_rate` whatever the gradient's length, so
            that one rate serves returns of any size; softmax gradients fade near their optimum,
            and then the direction alone still makes linear progress.
        logits: θ_0, [S, A]; zeros (the uniform policy) unless given.
        seed: of the curriculum's own draws.
    """
    if iterations < 1 or not learning_rate >= 0:
        raise InputError(
            f"train got iterations={iterations}, learning_rate={learning_rate}; "
            "it needs at least one iteration and a learning rate of 0 or more"
        )
    form = working_form(mdp, divergence) if divergence.on_support else mdp
    θ = np.zeros(form.shape) if logits is None else np.array(logits, dtype=np.float64)
    state = curriculum.init(seed)
    ε = float(curriculum.epsilon(state))
    radii, visited, signals, values = [ε], [θ], [], None
    for step in range(iterations):
        solution = robust_policy_evaluation(
            form, softmax(θ), divergence, ε, start=values, tolerance=1e-12
        )
        values = solution.values
        signals.append(_signal(form, solution, step, ε))
        θ = θ + learning_rate * _direction(policy_gradient(solution, form.discount), normalized)
        state = curriculum.update(state, signals[-1])
        ε = float(curriculum.epsilon(state))
        radii.append(ε)
        visited.append(θ)
    return Training(
        radii=np.array(radii),
        logits=np.stack(visited),
        robust_returns=np.array([signal.robust_value for signal in signals]),
        nominal_returns=np.array([signal.episode_return for signal in signals]),
        multipliers=np.array([signal.multiplier for signal in signals]),
        slopes=np.array([signal.slope for signal in signals]),
    )


def softmax(logits: Array) -> Array:
    """π(a|s) ∝ exp θ(s,a)."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def policy_gradient(solution: Solution, discount: float) -> Array:
    """∇_θ J(π_θ, ε) of a softmax policy, [S, A]: d(s,a)·(Q(s,a) − V(s))/(1−γ).

    Rows are rectangular, so by the envelope theorem nature's kernel counts as fixed: the policy
    gradient theorem holds with the worst case's occupancy and the robust Q.
    """
    advantage = solution.action_values - solution.values[:, None]
    return solution.occupancy * advantage / (1 - discount)


def _direction(gradient: Array, normalized: bool) -> Array:
    length = np.linalg.norm(gradient) if normalized else 1.0
    return gradient / length if length > 0 else gradient


def _signal(mdp: MDP | SparseMDP, solution: Solution, step: int, ε: float) -> Signal:
    next_values = _next_values(mdp, solution.values)
    mean = (mdp.probabilities * next_values).sum(axis=-1, keepdims=True)
    variance = (mdp.probabilities * (next_values - mean) ** 2).sum(axis=-1)
    return Signal(
        step=step,
        epsilon=ε,
        multiplier=solution.mean_multiplier,
        slope=solution.mean_slope,
        robust_value=solution.expected_return,
        start_value=solution.expected_return,
        value_spread=occupied_mean(solution.occupancy, np.sqrt(variance)),
        reward_scale=occupied_mean(solution.occupancy, np.abs(mdp.rewards)),
        episode_return=nominal_return(mdp, solution.policy),
        draws=_value_draws(mdp, solution, next_values),
    )


def _next_values(mdp: MDP | SparseMDP, values: Array) -> Array:
    if isinstance(mdp, SparseMDP):
        return values[mdp.successors]
    return np.broadcast_to(values, mdp.transitions.shape)


def _value_draws(mdp: MDP | SparseMDP, solution: Solution, next_values: Array) -> Array:
    # The same random numbers at every step, so that scores of different steps are comparable.
    generator = np.random.default_rng(0)
    pairs = _inverse_cdf(solution.occupancy.ravel()[None], generator.random((1, _PAIRS)))[0]
    rows = mdp.probabilities.reshape(-1, mdp.probabilities.shape[-1])[pairs]
    chosen = _inverse_cdf(rows, generator.random((_PAIRS, _DRAWS)))
    return np.take_along_axis(next_values.reshape(-1, rows.shape[-1])[pairs], chosen, axis=1)


def _inverse_cdf(probabilities: Array, uniforms: Array) -> np.ndarray:
    """For each row, the indices that its uniform numbers select."""
    cumulative = np.cumsum(probabilities, axis=1)
    cumulative /= cumulative[:, -1:]
    return (uniforms[:, :, None] >= cumulative[:, None, :]).sum(axis=-1)
