"""Families of worlds: one MDP is drawn for a whole episode, and held.

A world ω is an MDP with its own transitions and rewards; states, actions, starts and discount are
shared. A policy sees the state and not the world, so it is memoryless, and V_ω is its value where ω
is held for ever. The law p over the worlds is the nominal one, and the worst case within radius τ

    value(τ) = min { Σ_ω q(ω) J_ω(π) : D(q ‖ p) ≤ τ },   d value / dτ = −β*,

is the paper's dual at the level of worlds: the horizon is inside J, so no C_γ appears.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.backup import check_radius
from drspcrl.tabular.mdp import MDP, Array, SparseMDP, as_law, as_policy, state_kernel, values_in


@dataclass(frozen=True, eq=False)
class WorldFamily:
    """Finitely many MDPs over the same states and actions, and a law over them.

    Attributes:
        worlds: the MDPs, K of them, dense or sparse, with one shape, discount and initial.
        law: p(ω), [K]; sums to 1. Worlds of probability 0 are allowed: a Wasserstein ball reaches
            them, an f-divergence ball does not.
    """

    worlds: Sequence[MDP | SparseMDP]
    law: Array

    def __post_init__(self) -> None:
        """Check that the worlds belong together, and keep a read-only law."""
        worlds = tuple(self.worlds)
        if not worlds or not all(isinstance(world, MDP | SparseMDP) for world in worlds):
            kinds = sorted({type(world).__name__ for world in worlds})
            raise InputError(f"worlds holds {kinds}; give at least one MDP or SparseMDP")
        for k, world in enumerate(worlds):
            _check_together(k, world, worlds[0])
        law = as_law("law", self.law, len(worlds))
        law.setflags(write=False)
        object.__setattr__(self, "worlds", worlds)
        object.__setattr__(self, "law", law)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states and number of actions."""
        return self.worlds[0].shape

    @property
    def discount(self) -> float:
        """γ."""
        return self.worlds[0].discount

    @property
    def initial(self) -> Array:
        """ρ0(s), [S]."""
        return self.worlds[0].initial

    @cached_property
    def transitions(self) -> Array:
        """P_ω(s'|s,a) of every world, [K, S, A, S]."""
        return np.stack([world.to_dense().transitions for world in self.worlds])

    @cached_property
    def rewards(self) -> Array:
        """r_ω(s,a) of every world, [K, S, A]."""
        return np.stack([world.rewards for world in self.worlds])

    def under(self, law: npt.ArrayLike) -> "WorldFamily":
        """The same worlds under another law."""
        return WorldFamily(self.worlds, np.asarray(law))

    def redrawn(self) -> MDP:
        """The MDP in which the world is drawn again at every step: the mean kernel and reward."""
        transitions = np.tensordot(self.law, self.transitions, axes=1)
        rewards = np.tensordot(self.law, self.rewards, axes=1)
        return MDP(transitions, rewards, self.discount, self.initial)


class WorstLaw(NamedTuple):
    """The worst case over the law.

    Attributes:
        value: Σ q(ω) J_ω.
        law: the minimising q, [K].
        multiplier: β* = −d value/dτ; +inf at τ = 0 for KL, χ² and f-divergences where J has spread.
        slope: −d value/d coordinate (√τ for KL, χ² and f-divergences); finite at τ = 0.
        converged: whether the solver certified its answer.
        returns: J_ω, [K].
    """

    value: float
    law: Array
    multiplier: float
    slope: float
    converged: bool
    returns: Array


def world_values(family: WorldFamily, policy: npt.ArrayLike) -> Array:
    """V_ω(s), the value of one policy where ω is held for ever, [K, S].

    Args:
        family: the worlds.
        policy: π(a|s), [S, A], or one integer action per state, [S].
    """
    pi = as_policy(policy, family.shape)
    return np.stack([_values(world.to_sparse(), pi) for world in family.worlds])


def world_returns(family: WorldFamily, policy: npt.ArrayLike) -> Array:
    """J_ω = Σ ρ0(s) V_ω(s), [K]."""
    return world_values(family, policy) @ family.initial


def mean_return(family: WorldFamily, policy: npt.ArrayLike) -> float:
    """E_p J_ω: an episode in a world that the law draws."""
    return float(family.law @ world_returns(family, policy))


def worst_law(
    family: WorldFamily, policy: npt.ArrayLike, divergence: Divergence, radius: float
) -> WorstLaw:
    """The worst case over the law within `radius` τ, for one policy.

    At τ = 0 it is E_p J_ω. Balls on the support saturate at its worst world; a `Wasserstein` ball,
    whose cost is a distance between the worlds, reaches the worst world of all.

    Args:
        family: the worlds.
        policy: [S, A] or [S].
        divergence: from `drspcrl.divergences`, over the K worlds.
        radius: τ ≥ 0.
    """
    return worst_of_returns(world_returns(family, policy), family.law, divergence, radius)


def check_tilt(divergence: Divergence | None, tilt: float) -> None:
    """A tilt wants a divergence."""
    if divergence is None and tilt != 0:
        raise InputError(f"tilt is {tilt} without a divergence; give one, such as KL(), or tilt 0")


@in_float64
def worst_of_returns(returns: Array, law: Array, divergence: Divergence, radius: float) -> WorstLaw:
    """`worst_law` of returns J_ω that are known already."""
    found = divergence.worst_case(returns, law, check_radius(radius))
    return WorstLaw(
        value=float(found.value),
        law=np.asarray(found.weights),
        multiplier=float(found.multiplier),
        slope=float(found.slope),
        converged=bool(found.converged),
        returns=returns,
    )


def hull_values(family: WorldFamily, policy: npt.ArrayLike) -> Array:
    """V of one policy in the worst case of the rectangular hull of the law's support, [S].

    In the hull, nature chooses a world again in every (s,a) and keeps to no choice: the fixed point
    of V(s) = Σ_a π(a|s) min_ω [r_ω(s,a) + γ P_ω(·|s,a)V]. No world that is held does worse, so
    E_q J_ω ≥ min_ω J_ω ≥ Σ ρ0 V for every law q on the support, and nothing sharper: neither a ball
    around each row of `redrawn` nor `redrawn` itself is a lower bound.
    """
    support = family.law > 0
    transitions, rewards = family.transitions[support], family.rewards[support]
    pi, γ = as_policy(policy, family.shape), family.discount
    values = world_values(family, pi)[support].min(axis=0)
    s, a = np.indices(family.shape)
    while True:
        # Nature's policy iteration: values fall at every step, so it ends.
        worst = (rewards + γ * transitions @ values).argmin(axis=0)
        form = MDP(transitions[worst, s, a], rewards[worst, s, a], γ, family.initial)
        following = _values(form.to_sparse(), pi)
        if not (following < values - _ROUNDING * max(1.0, np.abs(values).max())).any():
            return following
        values = following


_ROUNDING = 1e-13  # relative; a fall of the values below it is no progress


def _values(form: SparseMDP, pi: Array) -> Array:
    rewards = (pi * form.rewards).sum(axis=1)
    return values_in(state_kernel(form, form.probabilities, pi), rewards, form.discount)


def _check_together(number: int, world: MDP | SparseMDP, first: MDP | SparseMDP) -> None:
    same = (
        ("shape", world.shape, first.shape),
        ("discount", world.discount, first.discount),
        ("initial", world.initial.tolist(), first.initial.tolist()),
    )
    for name, given, wanted in same:
        if given != wanted:
            raise InputError(
                f"worlds[{number}] has {name} {given}, worlds[0] has {wanted}; all worlds of a "
                "family share states, actions, discount and initial"
            )
