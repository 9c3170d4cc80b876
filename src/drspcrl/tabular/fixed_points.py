"""Where a self-paced rule can come to rest, and whether it stays there."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar

from drspcrl.curricula.base import to_coordinate, to_radius
from drspcrl.curricula.self_paced import coordinate_drift, radius_drift
from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.solvers import (
    Solution,
    occupied_mean,
    robust_policy_evaluation,
    robust_value_iteration,
)

Rule = Literal["radius", "coordinate"]
Kind = Literal["root", "kink", "lower", "upper"]


class FixedPoint(NamedTuple):
    """A radius at which a rule does not move on.

    Attributes:
        radius: ε.
        stable: whether nearby radii return to it, for a small enough step.
        kind: `root` where the drift crosses 0; `kink` where it jumps across 0 (a worst case or a
            greedy policy changes its active set there: a watershed, not a place of rest); `lower`
            and `upper` where the drift presses against an end of [0, ε_budget].
        derivative: of the drift in the rule's own variable (ε or ρ), at a root; NaN elsewhere.
        largest_rate: the step size λ below which the discrete rule still converges there, 2 over
            the derivative at a stable root; infinite at a stable end; 0 where unstable.
    """

    radius: float
    stable: bool
    kind: Kind
    derivative: float
    largest_rate: float


def fixed_points(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    budget: float,
    *,
    pacing: float,
    rule: Rule,
    policy: npt.ArrayLike | None = None,
    points: int = 200,
) -> list[FixedPoint]:
    """All radii in [0, ε_budget] where the rule rests, in ascending order.

    With a policy, of the rule alone; without one, of the joint problem: at each ε the policy is
    then the best one for that ε, which is where the policy gradient of Algorithm 1 ends.

    Args:
        mdp: the nominal model.
        divergence: from `drspcrl.divergences`.
        budget: ε_budget > 0.
        pacing: α.
        rule: `radius` for the paper's rule, `coordinate` for the rule in ρ.
        policy: [S, A] or [S], or none for the best at each ε.
        points: how finely the drift is scanned, evenly in ρ; two roots between neighbouring points
            would be missed.
    """
    if not 0 < budget < np.inf or points < 2:
        raise InputError(f"budget is {budget}, points {points}; they must be above 0 and above 1")
    drift = rule_drift(mdp, divergence, budget, pacing=pacing, rule=rule, policy=policy)
    top = to_coordinate(divergence.scale, budget)
    grid = np.linspace(0.0, top, points)
    # The paper's rule lives in ε, but its drift changes fastest near 0, where ρ resolves it.
    variables = (
        grid if rule == "coordinate" else np.array([to_radius(divergence.scale, ρ) for ρ in grid])
    )
    found = rest_points(drift, variables)
    if rule == "coordinate":
        radii = [to_radius(divergence.scale, point.radius) for point in found]
        found = [point._replace(radius=ε) for point, ε in zip(found, radii, strict=True)]
    # Not the root of the budget, squared.
    return [p._replace(radius=budget) if p.kind == "upper" else p for p in found]


def rest_points(drift: Callable[[float], float], grid: Array) -> list[FixedPoint]:
    """Where a variable that moves against the sign of `drift` rests, in ascending order.

    Args:
        drift: of the rule, as a function of its own variable.
        grid: ascending from 0 to the budget, [n]. Two roots between neighbours are found where
            the drift dips towards 0 around a grid point; a narrower dip would be missed.
    """
    grid, values = _with_dips(drift, grid, np.array([drift(float(x)) for x in grid]))
    top, signs = float(grid[-1]), np.sign(values)
    for i in range(1, len(signs)):  # a grid point that is a root belongs to the side before it
        signs[i] = signs[i] or signs[i - 1]
    found = [_lower_end(float(values[0]))] if values[0] >= 0 else []
    found += [
        _crossing(drift, grid[i], grid[i + 1], bool(signs[i] > 0), top)
        for i in np.flatnonzero(signs[:-1] * signs[1:] < 0)
    ]
    if values[-1] <= 0:
        # At a drift of exactly 0, what matters is the drift just below.
        stable = bool(values[-1] < 0 or drift(top * (1 - 1e-6)) < 0)
        found.append(FixedPoint(top, stable, "upper", np.nan, np.inf if stable else 0.0))
    return found


def rule_drift(
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    budget: float,
    *,
    pacing: float,
    rule: Rule,
    policy: npt.ArrayLike | None = None,
) -> Callable[[float], float]:
    """The drift of a rule as a function of its own variable; ε or ρ moves against its sign."""
    if rule not in ("radius", "coordinate"):
        raise InputError(f"rule is {rule!r}; choose radius or coordinate")
    start: list[Array | None] = [None]

    def solve(radius: float) -> Solution:
        if policy is None:
            return robust_value_iteration(mdp, divergence, radius)
        solution = robust_policy_evaluation(mdp, policy, divergence, radius, start=start[0])
        start[0] = solution.values
        return solution

    def in_radius(radius: float) -> float:
        return radius_drift(radius, solve(radius).mean_multiplier, mdp.discount, pacing, budget)

    def in_coordinate(coordinate: float) -> float:
        solution = solve(to_radius(divergence.scale, coordinate))
        scale = occupied_mean(solution.occupancy, np.abs(mdp.rewards))
        top = to_coordinate(divergence.scale, budget)
        return coordinate_drift(coordinate, solution.mean_slope, scale, pacing, top)

    return in_radius if rule == "radius" else in_coordinate


def _with_dips(drift: Callable[[float], float], grid: Array, values: Array) -> tuple[Array, Array]:
    """The grid and its drifts with points added where, between two of them, the drift crosses 0."""
    signs, sizes = np.sign(values), np.abs(values)
    found = []
    for i in range(1, len(grid) - 1):
        one_side = signs[i - 1] == signs[i] == signs[i + 1]
        if not (one_side and sizes[i] < min(sizes[i - 1], sizes[i + 1])):
            continue
        ends = (grid[i - 1], grid[i + 1])
        dip: Any = minimize_scalar(
            lambda x, i=i: signs[i] * drift(x), bounds=ends, method="bounded"
        )
        if dip.fun < 0:
            found.append((float(dip.x), signs[i] * float(dip.fun)))
    if not found:
        return grid, values
    points, drifts = (
        np.append(grid, [x for x, _ in found]),
        np.append(values, [y for _, y in found]),
    )
    order = np.argsort(points)
    return points[order], drifts[order]


def _lower_end(drift: float) -> FixedPoint:
    # Strictly pressed against the end, and the rule stays; a drift of exactly 0 decides nothing.
    return FixedPoint(0.0, drift > 0, "lower", np.nan, np.inf if drift > 0 else 0.0)


def _crossing(
    drift: Callable[[float], float], low: float, high: float, falling: bool, top: float
) -> FixedPoint:
    """The point where the drift changes sign between `low` and `high`."""
    if not np.isfinite(drift(low)):
        low = low + 1e-9 * (high - low)
    root = float(brentq(drift, low, high, xtol=1e-13, rtol=1e-14))  # type: ignore[arg-type]
    h = 1e-6 * max(root, 1e-3)
    before, after = max(root - h, 0.0), min(root + h, top)
    left, right = drift(before), drift(after)
    derivative = (right - left) / (after - before)
    # A jump is as high however near one looks; a root's drift shrinks with the distance.
    nearer = drift(min(root + h / 100, top)) - drift(max(root - h / 100, 0.0))
    if abs(nearer) > 0.5 * abs(right - left):
        return FixedPoint(root, not falling, "kink", np.nan, 0.0)
    rate = 0.0 if falling else 2 / derivative
    return FixedPoint(root, not falling, "root", float(derivative), float(rate))
