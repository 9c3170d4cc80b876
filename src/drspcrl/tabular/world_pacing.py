"""The best memoryless policies for a family of worlds, and the self-paced rule on top of them.

The world is hidden, so this is no Markov decision problem: the best memoryless policy may be
randomised, and no Bellman equation finds it. It is found by trying all, or by exact gradients.
The rule

    price = max(0, −dJ/dρ) / E|V|
    ρ ← clip(ρ + clip(−λ(price + 2α(ρ − ρ_b)), ±1.5ρ_b/N), 0, ρ_b),   λ = 2/N

is run against a learner that is done in one step: the best policy for the current ρ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from drspcrl.curricula import Curriculum, SelfPaced, Signal
from drspcrl.curricula.self_paced import coordinate_drift
from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.families import (
    WorldFamily,
    check_tilt,
    world_returns,
    world_values,
    worst_of_returns,
)
from drspcrl.tabular.fixed_points import FixedPoint, rest_points
from drspcrl.tabular.mdp import Array, Indices, occupancy_in, state_kernel
from drspcrl.tabular.radius_families import PricedReturn, RadiusFamily, priced_return
from drspcrl.tabular.self_paced import softmax

Learner = Callable[[WorldFamily], npt.ArrayLike]
"""From the worlds at the radius of the moment to a policy, [S, A] or [S]."""

_MOST_POLICIES = 50_000
_CHUNK_NUMBERS = 1 << 21  # of the stacked systems that are solved at once
_TIE = 1e-12  # relative; of policies closer than this, the first is taken


def best_policy(
    family: WorldFamily, divergence: Divergence | None = None, tilt: float = 0.0
) -> Indices:
    """The best deterministic memoryless policy, one action per state, by trying them all.

    It maximises E_p J_ω or, with a divergence, its worst case over the law within `tilt`. A
    randomised policy may do better still: `climbed_policy`. Actions that do the same in every world
    count once, so that only real choices multiply.
    """
    check_tilt(divergence, tilt)
    policies = _all_policies(family)
    returns = np.concatenate(list(_returns_of(family, policies)))
    objective = returns @ family.law
    if divergence is not None:
        objective = _worst_cases(divergence, returns, family.law, tilt)
    tie = _TIE * max(1.0, float(np.abs(objective).max()))
    return policies[np.flatnonzero(objective >= objective.max() - tie)[0]]


def climbed_policy(
    family: WorldFamily,
    divergence: Divergence | None = None,
    tilt: float = 0.0,
    *,
    logits: Array | None = None,
) -> Array:
    """A locally best softmax policy, π(a|s), [S, A], by L-BFGS on the exact gradient.

    Args:
        family: the worlds.
        divergence: of the worst case over the law; none for its mean.
        tilt: τ ≥ 0, the radius of that worst case.
        logits: where the climb starts, [S, A]; zeros (the uniform policy) unless given.
    """
    check_tilt(divergence, tilt)
    start = np.zeros(family.shape) if logits is None else np.array(logits, dtype=np.float64)

    def descent(θ: Array) -> tuple[float, Array]:
        value, gradient = law_gradient(family, θ.reshape(start.shape), divergence, tilt)
        return -value, -gradient.ravel()

    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-10}
    found: Any = minimize(descent, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return softmax(found.x.reshape(start.shape))


def law_gradient(
    family: WorldFamily, logits: Array, divergence: Divergence | None = None, tilt: float = 0.0
) -> tuple[float, Array]:
    """The return of a softmax policy and its gradient in θ, [S, A].

    Σ q(ω) d_ω(s,a)·(Q_ω(s,a) − V_ω(s))/(1−γ): the policy gradient theorem in every world, under the
    worst law q within the tilt, which counts as fixed by the envelope theorem.
    """
    pi, γ = softmax(logits), family.discount
    values = world_values(family, pi)
    returns, law = values @ family.initial, family.law
    if divergence is not None:
        law = worst_of_returns(returns, law, divergence, tilt).law
    gradient = np.zeros(family.shape)
    for q, world, V in zip(law, family.worlds, values, strict=True):
        form = world.to_sparse()
        occupancy = occupancy_in(state_kernel(form, form.probabilities, pi), form.initial, γ)
        Q = form.rewards + γ * (form.probabilities * V[form.successors]).sum(axis=-1)
        gradient += q * occupancy[:, None] * pi * (Q - V[:, None]) / (1 - γ)
    return float(law @ returns), gradient


def _all_policies(family: WorldFamily) -> Indices:
    """Every deterministic policy, [N, S], with one of each group of equal actions."""
    rows = np.concatenate([family.transitions, family.rewards[..., None]], axis=-1)
    states, actions = family.shape
    by_action = np.moveaxis(rows, 0, 2).reshape(states, actions, -1)
    same = (by_action[:, :, None] == by_action[:, None]).all(axis=-1)
    choices = [np.flatnonzero(first) for first in same.argmax(axis=-1) == np.arange(actions)]
    count = float(np.prod([float(len(choice)) for choice in choices]))
    if count > _MOST_POLICIES:
        raise InputError(
            f"there are {count:.3g} deterministic policies, too many to try (at most "
            f"{_MOST_POLICIES:,}); give a learner of your own, or a smaller MDP"
        )
    return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, states)


def _returns_of(family: WorldFamily, policies: Indices) -> Iterator[Array]:
    """J_ω of many policies, [n, K] at a time."""
    P, r, γ = family.transitions, family.rewards, family.discount
    worlds, states = P.shape[:2]
    here, size = np.arange(states), max(1, _CHUNK_NUMBERS // (worlds * states**2))
    for first in range(0, len(policies), size):
        chosen = policies[first : first + size]
        systems = np.eye(states) - γ * P[:, here, chosen]
        values = np.linalg.solve(systems, r[:, here, chosen][..., None])[..., 0]
        yield (values @ family.initial).T


@in_float64
def _worst_cases(divergence: Divergence, returns: Array, law: Array, tilt: float) -> Array:
    worst = jax.vmap(divergence.worst_case, in_axes=(0, None, None))(returns, law, tilt)
    return np.asarray(worst.value)


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
