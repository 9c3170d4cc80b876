"""The best memoryless policy for a family of worlds: by trying them all, and by the exact gradient.

The world is hidden, so this is not a Markov decision problem any more: the best memoryless policy
may be randomised, and no Bellman equation finds it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.families import WorldFamily, check_tilt, world_values, worst_of_returns
from drspcrl.tabular.linear import occupancy_in, state_kernel
from drspcrl.tabular.mdp import Array, Indices
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
