"""The Wasserstein ball on a finite metric space."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import ArrayLike

from drspcrl.divergences.base import Coordinate, Divergence, Solution, gap_tolerance
from drspcrl.errors import InputError

MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class Wasserstein(Divergence):
    """W_k(q, p) = (min over couplings of Σ π_ij c_ij^k)^{1/k} ≤ ε for a distance c, order k ≥ 1.

        value = sup_{λ ≥ 0} Σ_i p_i min_j (V_j + λ c_ij^k) − λ ε^k

    Mass may move to any of the n points, also to those of nominal probability 0, so the ball is
    not empty around a point mass. Limits: the mean at ε = 0; the minimum once ε pays for moving all
    mass there, with multiplier 0. The value is piecewise linear in ε^k; the multiplier −d value/dε
    is k ε^{k−1} λ*.

    Attributes:
        cost: The distances c between the points, [n, n]: 0 on the diagonal, positive off it.
        order: k.
    """

    cost: Any
    order: float = 1.0
    scale: ClassVar[Coordinate] = "linear"
    on_support: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the distances and keep a copy of them that cannot change."""
        cost = np.array(self.cost, dtype=np.float64)
        _check_cost(cost, self.order)
        cost.setflags(write=False)
        object.__setattr__(self, "cost", cost)

    @classmethod
    def for_learners(cls) -> "Wasserstein":
        """Two points of distance 1; draws of different states have no distances in common.

        Learners take this ball to first order, from gradients; a curriculum asks it for its
        coordinate alone.
        """
        return cls([[0.0, 1.0], [1.0, 0.0]], order=2.0)

    @classmethod
    def between_states(cls, distances: Callable[[], ArrayLike]) -> "Wasserstein":
        """See `Divergence`."""
        return cls(distances())

    @classmethod
    def between(cls, points: ArrayLike, order: float = 1.0) -> "Wasserstein":
        """The ball for points in space, [n, dim] or [n], with the Euclidean distance."""
        points = np.asarray(points, dtype=np.float64)
        points = points[:, None] if points.ndim == 1 else points
        return cls(np.linalg.norm(points[:, None] - points[None], axis=-1), order)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Wasserstein)
            and self.order == other.order
            and np.array_equal(self.cost, other.cost)
        )

    def __hash__(self) -> int:
        return hash((self.order, self.cost.shape, self.cost.tobytes()))

    def solve(self, distances: Array, probabilities: Array, radius: Array) -> Solution:
        """Climb the concave, piecewise linear dual in λ from both sides."""
        d, p = distances, probabilities
        if self.cost.shape[0] != d.shape[0]:
            raise InputError(
                f"Wasserstein: {d.shape[0]} values, but a cost for {self.cost.shape[0]} points; "
                "they must be the same points in the same order."
            )
        price = jnp.asarray(self.cost**self.order, d.dtype)
        to_least = jnp.min(jnp.where((d == 0)[None, :], price, jnp.inf), axis=1)
        budget = jnp.minimum(radius**self.order, jnp.sum(p * to_least))
        saturated = budget >= jnp.sum(p * to_least)
        plan = _cheapest_plan(d, p, price, budget)
        zero = jnp.zeros_like(budget)
        λ = jnp.where(saturated, zero, plan.λ)
        nearest = jnp.argmin(jnp.where((d == 0)[None, :], price, jnp.inf), axis=1)
        least = jnp.zeros_like(p).at[nearest].add(p)
        weights = jnp.where(saturated, least, plan.weights)
        potential = jnp.min(d[None, :] + λ * price, axis=1)
        multiplier = λ * self.order * radius ** (self.order - 1)
        multiplier = jnp.where(saturated, zero, multiplier)  # also at an infinite radius
        return Solution(
            weights=weights,
            multiplier=multiplier,
            slope=multiplier,
            potential=potential,
            gap=jnp.sum(weights * d) - (jnp.sum(p * potential) - λ * budget),
        )


class _Plan(NamedTuple):
    """A price λ of transport and the distribution that spends exactly the budget near it."""

    λ: Array
    weights: Array


class _Side(NamedTuple):
    """The cheapest moves at a price λ: where mass goes, what it costs, the value it reaches."""

    λ: Array
    target: Array
    spent: Array
    value: Array


def _moves(d: Array, p: Array, price: Array, λ: Array) -> _Side:
    target = jnp.argmin(d[None, :] + λ * price, axis=1)
    spent = jnp.sum(p * jnp.take_along_axis(price, target[:, None], axis=1)[:, 0])
    return _Side(λ, target, spent, jnp.sum(p * d[target]))


def _cheapest_plan(d: Array, p: Array, price: Array, budget: Array) -> _Plan:
    """Bracket λ* between a price at which too much is spent and one at which too little is.

    The tangents of the dual at both ends meet above it: their crossing is the next price. The
    crossing's height is the value of the mixture of both plans that spends the budget, so the
    distance between it and the dual is the primal-dual gap.
    """
    n = d.shape[0]
    off_diagonal = jnp.where(jnp.eye(n, dtype=bool), jnp.inf, price)
    # Above this price nobody moves: no gain d_i − d_j ≤ 1 pays for it.
    dear = 2 / jnp.min(off_diagonal) if n > 1 else jnp.ones_like(budget)
    tolerance = gap_tolerance(d.dtype) * 1e-3

    def crossing(low: _Side, high: _Side) -> tuple[Array, Array]:
        difference = low.spent - high.spent
        safe = jnp.where(difference > 0, difference, jnp.ones_like(difference))
        λ = jnp.where(difference > 0, (high.value - low.value) / safe, high.λ)
        return λ, high.value + λ * (high.spent - budget)

    def unfinished(state) -> Array:
        step, _, _, gap = state
        return (step < MAX_STEPS) & (gap > tolerance)

    def improve(state):
        step, low, high, _ = state
        λ, height = crossing(low, high)
        middle = _moves(d, p, price, λ)
        gap = height - (middle.value + λ * (middle.spent - budget))
        too_much = middle.spent > budget
        low = _Side(*(jnp.where(too_much, new, old) for new, old in zip(middle, low, strict=True)))
        high = _Side(
            *(jnp.where(too_much, old, new) for new, old in zip(middle, high, strict=True))
        )
        return step + 1, low, high, gap

    low = _moves(d, p, price, jnp.zeros_like(budget))
    high = _moves(d, p, price, dear)
    start = (jnp.zeros((), jnp.int32), low, high, jnp.full_like(budget, jnp.inf))
    _, low, high, _ = lax.while_loop(unfinished, improve, start)
    difference = low.spent - high.spent
    safe = jnp.where(difference > 0, difference, jnp.ones_like(difference))
    share = jnp.where(difference > 0, (budget - high.spent) / safe, jnp.zeros_like(budget))
    share = jnp.clip(share, 0, 1)
    weights = jnp.zeros_like(p).at[low.target].add(share * p).at[high.target].add((1 - share) * p)
    return _Plan(crossing(low, high)[0], weights)


def _check_cost(cost: np.ndarray, order: float) -> None:
    if cost.ndim != 2 or cost.shape[0] != cost.shape[1]:
        raise InputError(f"Wasserstein: cost has shape {cost.shape}, but must be square, [n, n].")
    if not order >= 1 or not np.isfinite(order):
        raise InputError(f"Wasserstein: order is {order}, but must be a finite number ≥ 1.")
    off_diagonal = cost[~np.eye(len(cost), dtype=bool)]
    if np.any(np.diag(cost) != 0) or not np.all(off_diagonal > 0):
        raise InputError(
            "Wasserstein: cost must be 0 on the diagonal and positive off it; "
            "merge points that coincide."
        )
    if not np.all(np.isfinite(cost)):
        raise InputError("Wasserstein: cost has entries that are not finite.")
