"""What robustness costs on one MDP: the optimum at each radius, and what training reaches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from drspcrl.curricula import Constant, Curriculum, SelfPaced
from drspcrl.curricula.base import to_coordinate, to_radius
from drspcrl.divergences import Divergence
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.self_paced import Training, train
from drspcrl.tabular.solvers import (
    nominal_return,
    robust_policy_evaluation,
    robust_value_iteration,
)

Method = Literal["optimal", "nominal", "fixed", "self_paced"]


class FrontierPoint(NamedTuple):
    """One policy, judged at one radius.

    Attributes:
        method: how the policy was found: `optimal` by robust value iteration at this radius;
            `nominal`, `fixed` and `self_paced` by policy gradient with ε = 0, with ε at this
            radius, and with a curriculum that has it as its budget.
        radius: ε at which it is judged.
        nominal_return: its return in the nominal model.
        worst_case_return: its return against the worst case in the ball of ε.
        mean_multiplier: E_d[β*] there.
        training_radius: the last ε of its training.
    """

    method: Method
    radius: float
    nominal_return: float
    worst_case_return: float
    mean_multiplier: float
    training_radius: float


@dataclass(frozen=True)
class FrontierTraining:
    """How the trained policies of a frontier are trained.

    Attributes:
        iterations: steps of the policy gradient.
        learning_rate: length of each step.
        rule: `coordinate` for the self-paced rule in ρ, `radius` for the paper's.
        pacing: α of the rule.
        rate: λ of the rule.
    """

    iterations: int = 150
    learning_rate: float = 1.0
    rule: Literal["coordinate", "radius"] = "coordinate"
    pacing: float = 10.0
    rate: float = 0.002

    def run(self, mdp: MDP | SparseMDP, divergence: Divergence, curriculum: Curriculum) -> Training:
        """Train from the uniform policy."""
        return train(
            mdp,
            divergence,
            curriculum,
            iterations=self.iterations,
            learning_rate=self.learning_rate,
            normalized=True,
        )

    def self_paced(self, divergence: Divergence, budget: float, discount: float) -> Curriculum:
        """The self-paced rule with this budget, from ε = 0."""
        return SelfPaced(
            budget, discount, divergence.scale, self.rule, pacing=self.pacing, rate=self.rate
        )


def radius_grid(divergence: Divergence, budget: float, points: int) -> Array:
    """Radii from 0 to the budget, evenly spaced in the divergence's coordinate."""
    grid = np.linspace(0.0, to_coordinate(divergence.scale, budget), points)
    radii = np.array([to_radius(divergence.scale, ρ) for ρ in grid])
    radii[-1] = budget
    return radii


def optimal_point(mdp: MDP | SparseMDP, divergence: Divergence, radius: float) -> FrontierPoint:
    """The best policy for one radius."""
    best = robust_value_iteration(mdp, divergence, radius)
    return FrontierPoint(
        method="optimal",
        radius=radius,
        nominal_return=nominal_return(mdp, best.policy),
        worst_case_return=best.expected_return,
        mean_multiplier=best.mean_multiplier,
        training_radius=radius,
    )


def trained_points(
    mdp: MDP | SparseMDP, divergence: Divergence, radii: Array, trainer: FrontierTraining
) -> Iterator[tuple[FrontierPoint, Training]]:
    """Nominal, fixed and self-paced training, judged at every radius; radius by radius."""
    nominal = trainer.run(mdp, divergence, Constant(0.0))
    for radius in radii.tolist():
        yield _judged("nominal", mdp, divergence, radius, nominal), nominal
        if radius == 0:  # there all three are the same training
            for method in ("fixed", "self_paced"):
                yield _judged(method, mdp, divergence, radius, nominal), nominal
            continue
        fixed = trainer.run(mdp, divergence, Constant(radius))
        yield _judged("fixed", mdp, divergence, radius, fixed), fixed
        rule = trainer.self_paced(divergence, radius, mdp.discount)
        paced = trainer.run(mdp, divergence, rule)
        yield _judged("self_paced", mdp, divergence, radius, paced), paced


def _judged(
    method: Method, mdp: MDP | SparseMDP, divergence: Divergence, radius: float, run: Training
) -> FrontierPoint:
    solution = robust_policy_evaluation(mdp, run.policy, divergence, radius)
    return FrontierPoint(
        method=method,
        radius=radius,
        nominal_return=nominal_return(mdp, run.policy),
        worst_case_return=solution.expected_return,
        mean_multiplier=solution.mean_multiplier,
        training_radius=float(run.radii[-1]),
    )
