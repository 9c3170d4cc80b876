"""The paper's theory on finite MDPs, both sides of each statement; docs/concepts/theory.md.

    python studies/theory.py    both sides of the checkable parts of Theorem 1

The envelope theorem is checked by central differences, for a ball around every transition and for
one around the law of worlds.

Theorem 1, with exact gradients, projected ascent of F(θ,ε) = J(π_θ,ε) − α(ε − ε_b)² over ε in
[ε_min, ε_b] with step η = T^(−1/2), and constants measured on the trajectory:

    (i)   mean_t ‖G_t‖² ≤ 2 (F(z_T) − F(z_0)) / √T,  G_t = (z_{t+1} − z_t)/η,
    (ii)  ‖∇_θ J(π_t, ε_b)‖ ≤ ‖∇_θ J(π_t, ε_t)‖ + L₁ (ε_b − ε_t),
    (iii) |J(π_t, ε_b) − J(π_t, ε_t)| ≤ C_γ β_t (ε_b − ε_t) + ½ L₂ (ε_b − ε_t)².

L₁ and L₂ are the largest difference quotients in ε of ∇_θ J and ∂J/∂ε at every other probed
iterate; (ii) and (iii) are then looked at on the iterates in between. That the inequalities hold is
consistency, not proof; docs/concepts/theory.md lists what the printed proof gets wrong.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drspcrl.divergences import (
    KL,
    ChiSquared,
    CressieRead,
    CVaR,
    Divergence,
    TotalVariation,
    Wasserstein,
)
from drspcrl.errors import InputError
from drspcrl.tabular import garnet
from drspcrl.tabular.backup import working_form
from drspcrl.tabular.families import WorldFamily, world_returns, worst_of_returns
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.self_paced import policy_gradient, softmax
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


def check_law_envelope(
    family: WorldFamily,
    policy: npt.ArrayLike,
    divergence: Divergence,
    radius: float,
    relative_step: float = 1e-5,
) -> EnvelopeCheck:
    """Compare ∂/∂τ = −β* with central differences, h = relative_step · τ.

    Args:
        family: the worlds.
        policy: [S, A] or [S].
        divergence: from `drspcrl.divergences`.
        radius: τ > 0.
        relative_step: h/τ.
    """
    returns, h = world_returns(family, policy), relative_step * radius
    below, here, above = (
        worst_of_returns(returns, family.law, divergence, radius + step) for step in (-h, 0.0, h)
    )
    patterns = [active_atoms(found.law, family.law) for found in (below, here, above)]
    return EnvelopeCheck(
        analytic=-here.multiplier,
        numeric=(above.value - below.value) / (2 * h),
        comparable=all(np.array_equal(patterns[1], other) for other in patterns[::2]),
    )


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


def main() -> None:
    """Print both sides of each inequality for every divergence."""
    mdp = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2).to_dense()
    places = np.arange(5.0)
    balls = {
        "KL": KL(),
        "χ²": ChiSquared(),
        "TV": TotalVariation(),
        "CVaR": CVaR(),
        "Cressie–Read ½": CressieRead(0.5),
        "Wasserstein 1": Wasserstein.between(places),
        "Wasserstein 2": Wasserstein.between(places, order=2.0),
    }
    print("| ball | (i) | ≤ | (ii) | ≤ | (iii) | ≤ | L₁ | L₂ | ε_T |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, ball in balls.items():
        check = check_theorem(
            mdp,
            ball,
            budget=0.5,
            least_radius=0.02,
            start_radius=0.25,
            pacing=10.0,
            iterations=400,
        )
        sides = [
            f"{side:.3f}"
            for bound in (check.stationarity, check.policy_at_budget, check.value_gap)
            for side in (bound.left, bound.right)
        ]
        constants = (check.gradient_lipschitz, check.derivative_lipschitz, check.final_radius)
        print(f"| {name} | {' | '.join(sides)} | {' | '.join(f'{x:.3g}' for x in constants)} |")


if __name__ == "__main__":
    main()
