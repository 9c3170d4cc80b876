"""The envelope theorem on a finite MDP: what a little more radius costs, checked by differences."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drspcrl.divergences import Divergence
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.solvers import Solution, robust_policy_evaluation

# A weight that a step of 1e-5·ε moves by less than this has not entered or left the active set.
_ACTIVE = 1e-9


class EnvelopeCheck(NamedTuple):
    """Both sides of `eq:envelope_result` at one radius.

    Attributes:
        analytic: −C_γ E_d[β*].
        numeric: the central difference of J(π, ·).
        comparable: whether the worst case has the same active set on both sides; where it changes
            (kinks of TV, CVaR and Wasserstein, saturation) J need not be differentiable.
    """

    analytic: float
    numeric: float
    comparable: bool

    @property
    def relative_error(self) -> float:
        """|numeric − analytic| / |analytic|, and 0 where both vanish."""
        difference = abs(self.numeric - self.analytic)
        return difference / abs(self.analytic) if difference else 0.0


def return_derivative(solution: Solution, discount: float) -> float:
    """dJ(π, ε)/dε = −C_γ E_d[β*], C_γ = γ/(1−γ), d under the worst case (`eq:envelope_result`)."""
    return -discount / (1 - discount) * solution.mean_multiplier


def return_slope(solution: Solution, discount: float) -> float:
    """dJ/dρ in the divergence's coordinate ρ; finite at ε = 0."""
    return -discount / (1 - discount) * solution.mean_slope


def check_envelope(
    mdp: MDP | SparseMDP,
    policy: npt.ArrayLike,
    divergence: Divergence,
    radius: float,
    relative_step: float = 1e-5,
) -> EnvelopeCheck:
    """Compare the envelope theorem with central differences, h = relative_step · ε.

    Args:
        mdp: the nominal model.
        policy: [S, A] or [S].
        divergence: from `drspcrl.divergences`.
        radius: ε > 0.
        relative_step: h/ε; the truncation error is its square.
    """
    h = relative_step * radius
    below, here, above = (
        robust_policy_evaluation(mdp, policy, divergence, radius + step) for step in (-h, 0.0, h)
    )
    patterns = [active_set(mdp, solution) for solution in (below, here, above)]
    return EnvelopeCheck(
        analytic=return_derivative(here, mdp.discount),
        numeric=(above.expected_return - below.expected_return) / (2 * h),
        comparable=all(np.array_equal(patterns[1], other) for other in patterns[::2]),
    )


def active_set(mdp: MDP | SparseMDP, solution: Solution) -> npt.NDArray[np.bool_]:
    """Which successors the worst case uses, adds to and takes from, [3, S, A, ·]."""
    return active_atoms(solution.kernel, mdp.probabilities)


def active_atoms(weights: Array, nominal: Array) -> npt.NDArray[np.bool_]:
    """Which atoms a worst case uses, adds to and takes from, stacked on a first axis of 3."""
    return np.stack([weights > _ACTIVE, weights > nominal + _ACTIVE, weights < nominal - _ACTIVE])
