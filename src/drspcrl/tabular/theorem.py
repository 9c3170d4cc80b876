"""The checkable parts of Theorem 1, both sides of each inequality.

With exact gradients, projected ascent of F(θ,ε) = J(π_θ,ε) − α(ε − ε_b)² over ε in [ε_min, ε_b]
with step η = T^(−1/2), and constants measured on the trajectory:

    (i)   mean_t ‖G_t‖² ≤ 2 (F(z_T) − F(z_0)) / √T,  G_t = (z_{t+1} − z_t)/η,
    (ii)  ‖∇_θ J(π_t, ε_b)‖ ≤ ‖∇_θ J(π_t, ε_t)‖ + L₁ (ε_b − ε_t),
    (iii) |J(π_t, ε_b) − J(π_t, ε_t)| ≤ C_γ β_t (ε_b − ε_t) + ½ L₂ (ε_b − ε_t)².

L₁ and L₂ are the largest difference quotients in ε of ∇_θ J and ∂J/∂ε at every other probed
iterate; (ii) and (iii) are then looked at on the iterates in between. That the inequalities hold is
consistency, not proof; docs/concepts/theory.md lists what the printed proof gets wrong.
"""

from dataclasses import dataclass

import numpy as np

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.tabular.backup import working_form
from drspcrl.tabular.envelope import return_derivative
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.self_paced import policy_gradient, softmax
from drspcrl.tabular.solvers import Solution, robust_policy_evaluation

_PROBED_ITERATES = 12
_PROBED_RADII = 12


@dataclass(frozen=True)
class Bound:
    """One inequality, left ≤ right, at the place where it is tightest."""

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether it does, up to rounding."""
        return self.left <= self.right * (1 + 1e-9) + 1e-12


@dataclass(frozen=True)
class TheoremCheck:
    """Both sides of (i), (ii), (iii), and the constants.

    Attributes:
        stationarity: (i).
        policy_at_budget: (ii), at the probed iterate with the least slack.
        value_gap: (iii), likewise.
        gradient_lipschitz: L₁.
        derivative_lipschitz: L₂.
        final_radius: ε_T.
    """

    stationarity: Bound
    policy_at_budget: Bound
    value_gap: Bound
    gradient_lipschitz: float
    derivative_lipschitz: float
    final_radius: float


def check_theorem(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    *,
    budget: float,
    least_radius: float,
    start_radius: float,
    pacing: float,
    iterations: int,
) -> TheoremCheck:
    """Run the exact ascent from the uniform policy and compare both sides.

    Args:
        mdp: the nominal model.
        divergence: from `drspcrl.divergences`.
        budget: ε_b.
        least_radius: ε_min > 0; at 0 the derivative in ε of KL and χ² is infinite.
        start_radius: ε_0 in [ε_min, ε_b].
        pacing: α.
        iterations: T, at least the square of the smoothness L of F for (i).
    """
    ordered = 0 < least_radius <= start_radius <= budget and least_radius < budget
    if not ordered or iterations < 2 * _PROBED_ITERATES:
        raise InputError(
            f"check_theorem got least_radius={least_radius}, start_radius={start_radius}, "
            f"budget={budget}, iterations={iterations}; it needs 0 < least ≤ start ≤ budget, "
            f"least < budget and at least {2 * _PROBED_ITERATES} iterations"
        )
    form = working_form(mdp, divergence) if divergence.on_support else mdp
    ascent = _Ascent(form, divergence, budget, least_radius, pacing)
    logits, radii, potential = ascent.run(start_radius, iterations)
    probed = np.linspace(0, iterations, _PROBED_ITERATES, dtype=int)
    curves = [ascent.along_radii(logits[t]) for t in probed[::2]]
    l1, l2 = (max(constants) for constants in zip(*curves, strict=True))
    at_budget, gap = zip(
        *(ascent.bounds(logits[t], float(radii[t]), l1, l2) for t in probed[1::2]), strict=True
    )
    steps = np.diff(logits, axis=0).reshape(iterations, -1)
    mapping = (np.square(steps).sum(axis=1) + np.square(np.diff(radii))) * iterations
    gain = 2 * (potential[-1] - potential[0]) / np.sqrt(iterations)
    return TheoremCheck(
        stationarity=Bound(float(mapping.mean()), float(gain)),
        policy_at_budget=min(at_budget, key=lambda bound: bound.right - bound.left),
        value_gap=min(gap, key=lambda bound: bound.right - bound.left),
        gradient_lipschitz=l1,
        derivative_lipschitz=l2,
        final_radius=float(radii[-1]),
    )


@dataclass(frozen=True)
class _Ascent:
    """Projected gradient ascent of F, and what is measured along it."""

    mdp: MDP | SparseMDP
    divergence: Divergence
    budget: float
    least: float
    pacing: float

    def solve(self, θ: Array, ε: float, start: Array | None = None) -> Solution:
        return robust_policy_evaluation(self.mdp, softmax(θ), self.divergence, ε, start=start)

    def run(self, start: float, iterations: int) -> tuple[Array, Array, Array]:
        """θ_t, ε_t and F(z_t) for t = 0 … T."""
        θ, ε, values = np.zeros(self.mdp.shape), start, None
        logits, radii, potential = [], [], []
        for _ in range(iterations + 1):
            solution = self.solve(θ, ε, values)
            values = solution.values
            logits.append(θ)
            radii.append(ε)
            potential.append(solution.expected_return - self.pacing * (ε - self.budget) ** 2)
            slope = return_derivative(solution, self.mdp.discount)
            ascent = slope - 2 * self.pacing * (ε - self.budget)
            θ = θ + policy_gradient(solution, self.mdp.discount) / np.sqrt(iterations)
            ε = float(np.clip(ε + ascent / np.sqrt(iterations), self.least, self.budget))
        return np.stack(logits), np.array(radii), np.array(potential)

    def along_radii(self, θ: Array) -> tuple[float, float]:
        """The largest difference quotients in ε of ∇_θ J and of ∂J/∂ε at one policy."""
        γ = self.mdp.discount
        radii = np.geomspace(self.least, self.budget, _PROBED_RADII)
        found = [self.solve(θ, ε) for ε in radii]
        gradients = np.stack([policy_gradient(solution, γ).ravel() for solution in found])
        derivatives = np.array([return_derivative(solution, γ) for solution in found])
        widths = np.diff(radii)
        l1 = np.linalg.norm(np.diff(gradients, axis=0), axis=1) / widths
        return float(l1.max()), float((np.abs(np.diff(derivatives)) / widths).max())

    def bounds(self, θ: Array, ε: float, l1: float, l2: float) -> tuple[Bound, Bound]:
        """(ii) and (iii) at one iterate."""
        γ, short = self.mdp.discount, self.budget - ε
        here, there = self.solve(θ, ε), self.solve(θ, self.budget)
        gradient, at_budget = policy_gradient(here, γ), policy_gradient(there, γ)
        stationary = Bound(
            float(np.linalg.norm(at_budget)), float(np.linalg.norm(gradient) + l1 * short)
        )
        cost = -return_derivative(here, γ) * short
        gap = abs(there.expected_return - here.expected_return)
        return stationary, Bound(gap, float(cost + l2 * short**2 / 2))
