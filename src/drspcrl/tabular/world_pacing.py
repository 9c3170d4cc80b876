"""The self-paced rule on a radius family: price, pull, and where they meet.

    price = max(0, −dJ/dρ) / E|V|
    ρ ← clip(ρ + clip(−λ(price + 2α(ρ − ρ_b)), ±1.5ρ_b/N), 0, ρ_b),   λ = 2/N

against a learner that is done in one step: the best policy for the ρ of the moment.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drspcrl.curricula import Curriculum, SelfPaced, Signal
from drspcrl.curricula.self_paced import coordinate_drift
from drspcrl.errors import InputError
from drspcrl.tabular.families import world_returns
from drspcrl.tabular.fixed_points import FixedPoint, rest_points
from drspcrl.tabular.mdp import Array
from drspcrl.tabular.radius_families import PricedReturn, RadiusFamily, priced_return
from drspcrl.tabular.world_learners import Learner, best_policy


def price_rule(
    budget: float, updates: int, discount: float, *, pacing: float = 1.0, start: float = 0.0
) -> SelfPaced:
    """The rule of this module's opening as a curriculum, for a run of N = `updates`.

    Args:
        budget: ρ_b.
        updates: N; λ = 2/N, and no step is longer than 1.5 times a linear schedule's.
        discount: γ, which this form of the rule does not use.
        pacing: α.
        start: the first ρ.
    """
    if updates < 1:
        raise InputError(f"updates is {updates}; it must be at least 1")
    return SelfPaced(
        budget=budget,
        discount=discount,
        scale="linear",  # for worlds, ε is ρ itself
        pacing=pacing,
        rate=2 / updates,
        start=start,
        trust_region=(1.5 * budget / updates) ** 2,
    )


@dataclass(frozen=True, eq=False)
class PacedRun:
    """A run of a curriculum on a radius family; row t is update t.

    Attributes:
        radii: ρ_t, [T+1]; the last is where the rule has gone after the last update.
        policies: the learner's, for ρ_t, [T, S] or [T, S, A].
        returns: J(π_t, ρ_t), [T].
        nominal_returns: J(π_t, 0), [T].
        prices: of π_t at ρ_t, [T].
    """

    radii: Array
    policies: npt.NDArray[np.generic]
    returns: Array
    nominal_returns: Array
    prices: Array

    @property
    def premiums(self) -> Array:
        """1 − J(π_t, 0)/(the best J(π, 0) so far), [T]: what robustness costs in the simulator.

        It is a share only where returns are positive.
        """
        return 1 - self.nominal_returns / np.maximum.accumulate(self.nominal_returns)


def run_pacing(
    family: RadiusFamily,
    curriculum: Curriculum,
    *,
    updates: int,
    learner: Learner = best_policy,
    seed: int = 0,
) -> PacedRun:
    """Let a curriculum move ρ while the learner follows.

    Args:
        family: the worlds at every radius.
        curriculum: an object with `init`, `epsilon` and `update`, such as `price_rule(…)`; its
            signal's slope is max(0, −dJ/dρ), and its scale E|V|.
        updates: T.
        learner: gives the policy for the worlds of the moment.
        seed: of the curriculum's own draws.
    """
    if updates < 1:
        raise InputError(f"updates is {updates}; it must be at least 1")
    nominal, state = family.at(0.0), curriculum.init(seed)
    radii, policies, priced, nominal_returns = [float(curriculum.epsilon(state))], [], [], []
    for step in range(updates):
        policy = np.asarray(learner(family.at(radii[-1])))
        here = priced_return(family, policy, radii[-1])
        nominal_return = float(nominal.law @ world_returns(nominal, policy))
        state = curriculum.update(state, _signal(step, here, nominal_return))
        radii.append(float(curriculum.epsilon(state)))
        policies.append(policy)
        priced.append(here)
        nominal_returns.append(nominal_return)
    return PacedRun(
        radii=np.array(radii),
        policies=np.stack(policies),
        returns=np.array([here.expected_return for here in priced]),
        nominal_returns=np.array(nominal_returns),
        prices=np.array([here.price for here in priced]),
    )


def price_drift(
    family: RadiusFamily,
    budget: float,
    *,
    pacing: float = 1.0,
    policy: npt.ArrayLike | None = None,
    learner: Learner = best_policy,
) -> Callable[[float], float]:
    """ρ ↦ price + 2α(ρ − ρ_b), against whose sign ρ moves.

    With a policy, its price at every ρ; without one, the price of the learner's policy for that ρ.
    """
    if not 0 < budget < np.inf or not pacing > 0:
        raise InputError(f"budget is {budget}, pacing {pacing}; both must be above 0 and finite")

    def drift(radius: float) -> float:
        chosen = learner(family.at(radius)) if policy is None else policy
        here = priced_return(family, chosen, radius)
        return coordinate_drift(radius, here.price, 1.0, pacing, budget)

    return drift


def price_fixed_points(
    family: RadiusFamily,
    budget: float,
    *,
    pacing: float = 1.0,
    policy: npt.ArrayLike | None = None,
    learner: Learner = best_policy,
    points: int = 200,
) -> list[FixedPoint]:
    """All radii in [0, ρ_b] where the rule rests, in ascending order.

    Arguments as in `price_drift`; `points` is how finely the drift is scanned. The trust region
    moves no fixed point. Where the best policy changes, the best mean return bends upwards; so,
    where V > 0, the price can only drop: a `kink`, from which the rule moves away on both sides.
    """
    if points < 2:
        raise InputError(f"points is {points}; it must be at least 2")
    drift = price_drift(family, budget, pacing=pacing, policy=policy, learner=learner)
    return rest_points(drift, np.linspace(0.0, budget, points))


def _signal(step: int, here: PricedReturn, nominal_return: float) -> Signal:
    return Signal(
        step=step,
        epsilon=here.radius,
        multiplier=max(0.0, -here.derivative),
        slope=max(0.0, -here.derivative),
        robust_value=here.expected_return,
        start_value=here.expected_return,
        value_spread=float("nan"),
        reward_scale=here.scale,
        episode_return=nominal_return,
        draws=np.empty((0, 0)),
    )
