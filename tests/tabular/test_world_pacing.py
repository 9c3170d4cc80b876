"""The self-paced rule on families of worlds: the learner, the rule, and where it comes to rest."""

import numpy as np
import pytest

from drspcrl.curricula import Constant, Linear
from drspcrl.divergences import KL
from drspcrl.errors import InputError
from drspcrl.tabular import (
    MDP,
    RadiusFamily,
    WorldFamily,
    best_policy,
    crossings,
    garnet,
    mean_return,
    price_fixed_points,
    price_rule,
    priced_return,
    run_pacing,
)
from drspcrl.tabular.fixed_points import rest_points
from drspcrl.tabular.world_pacing import price_drift

CROSSINGS = crossings()
DEAR = crossings(toll=0.1)
PLANK, BRIDGE, ROAD = range(3)


@pytest.mark.parametrize(("budget", "updates", "pacing"), [(1.0, 100, 1.0), (2.0, 40, 0.5)])
def test_the_rule_is_the_formula(budget, updates, pacing):
    generator = np.random.default_rng(0)
    for _ in range(50):
        ρ, fall, scale = generator.uniform(0, budget), 10 ** generator.uniform(-2, 2), 3.0
        rule = price_rule(budget, updates, 0.9, pacing=pacing, start=ρ)
        step = -2 / updates * (fall / scale + 2 * pacing * (ρ - budget))
        limit = 1.5 * budget / updates
        expected = np.clip(ρ + np.clip(step, -limit, limit), 0, budget)
        state = rule.update(rule.init(0), signal(ρ, fall, scale))
        assert rule.epsilon(state) == pytest.approx(expected, rel=1e-14)


def signal(ρ, fall, scale):
    """A signal made as a run makes it."""
    seen = []

    class Spy(Constant):
        def update(self, state, signal):
            seen.append(signal)
            return state

    run_pacing(CROSSINGS, Spy(0.0), updates=1)
    return seen[0]._replace(epsilon=ρ, slope=fall, reward_scale=scale)


def test_fixed_points_of_the_crossings():
    """The bridge's price meets the pull at .55; from .90 on the road is better, at a price of 0."""
    rest, watershed, end = price_fixed_points(CROSSINGS, 1.0)
    assert (rest.stable, rest.kind) == (True, "root")
    assert rest.radius == pytest.approx(0.551, abs=1e-3)
    assert (watershed.stable, watershed.kind) == (False, "kink")
    assert watershed.radius == pytest.approx(0.904, abs=1e-3)
    assert (end.radius, end.stable, end.kind) == (1.0, True, "upper")
    drift, h = price_drift(CROSSINGS, 1.0), 1e-5
    assert drift(rest.radius) == pytest.approx(0.0, abs=1e-11)
    slope = (drift(rest.radius + h) - drift(rest.radius - h)) / (2 * h)
    assert rest.derivative == pytest.approx(slope, rel=1e-4)
    ways = [best_policy(CROSSINGS.at(watershed.radius + step))[0] for step in (-1e-6, 1e-6)]
    assert ways == [BRIDGE, ROAD]
    assert drift(watershed.radius - 1e-6) > 0.1 > -0.1 > drift(watershed.radius + 1e-6)


def test_the_rule_ascends_the_logarithm_of_the_return():
    """Where V > 0: drift = −d/dρ [log J − α(ρ − ρ_b)²]; so it changes with the rewards' zero."""
    bridge, h = np.array([BRIDGE] + 11 * [0]), 1e-6
    for ρ in (0.2, 0.5, 0.9):
        low, high = (
            np.log(mean_return(CROSSINGS.at(x), bridge)) - 0.7 * (x - 1) ** 2
            for x in (ρ - h, ρ + h)
        )
        drift = price_drift(CROSSINGS, 1.0, pacing=0.7, policy=bridge)(ρ)
        assert drift == pytest.approx(-(high - low) / (2 * h), rel=1e-6)
    plain, model = priced_return(CROSSINGS, bridge, 0.5), CROSSINGS.model
    alive_bonus = CROSSINGS.at(0.0).rewards[0] + 1.0
    shifted = RadiusFamily(
        lambda ω: (model(ω)[0], alive_bonus),
        CROSSINGS.directions,
        CROSSINGS.law,
        CROSSINGS.discount,
        CROSSINGS.initial,
    )
    alive = priced_return(shifted, bridge, 0.5)
    assert alive.derivative == pytest.approx(plain.derivative)
    assert alive.price == pytest.approx(-plain.derivative / (plain.scale + 20))


def test_all_fixed_points_are_found():
    """On a grid of its own the drift changes sign there and nowhere else."""
    points = price_fixed_points(DEAR, 1.0, points=50)
    assert [point.kind for point in points] == ["root", "kink", "root", "kink", "upper"]
    assert [point.stable for point in points] == [True, False, True, False, True]
    radii = [point.radius for point in points]
    np.testing.assert_allclose(radii, [0.253, 0.269, 0.546, 0.846, 1.0], atol=6e-4)
    drift = price_drift(DEAR, 1.0)
    grid = np.linspace(0, 1, 302)[:-1]
    changes = np.flatnonzero(np.diff(np.sign([drift(x) for x in grid])))
    middles = grid[changes] + 0.5 / 301
    np.testing.assert_allclose(radii[:-1], middles, atol=0.51 / 301)


@pytest.mark.parametrize(
    ("start", "which"), [(0.0, 0), (0.264, 0), (0.274, 2), (0.8, 2), (0.85, 4), (1.0, 4)]
)
def test_runs_end_in_the_stable_point_of_their_basin(start, which):
    points = price_fixed_points(DEAR, 1.0, points=50)
    rule = price_rule(1.0, 20, 0.95, start=start)
    run = run_pacing(DEAR, rule, updates=80)
    assert run.radii[0] == start
    assert run.radii[-1] == pytest.approx(points[which].radius, abs=1e-6)


def test_a_rate_above_the_largest_does_not_settle():
    rest = price_fixed_points(CROSSINGS, 1.0, points=50)[0]
    ends = []
    for factor in (0.9, 1.1):
        updates = 2 / (factor * rest.largest_rate)  # λ = 2/N, here for an N that is no integer
        rule = price_rule(1.0, updates, 0.95, start=rest.radius + 1e-4)  # type: ignore[arg-type]
        run = run_pacing(CROSSINGS, rule, updates=60)
        ends.append(abs(run.radii[-1] - rest.radius))
    assert ends[0] < 1e-5 < 1e-3 < ends[1]


def test_the_self_paced_policy_is_neither_the_plain_nor_the_fixed_one():
    run = run_pacing(CROSSINGS, price_rule(1.0, 100, 0.95), updates=100)
    plain, fixed = best_policy(CROSSINGS.at(0.0)), best_policy(CROSSINGS.at(1.0))
    paced = run.policies[-1]
    assert [int(policy[0]) for policy in (plain, paced, fixed)] == [PLANK, BRIDGE, ROAD]
    # N updates of λ = 2/N end near the place of rest.
    assert run.radii[-1] == pytest.approx(0.551, abs=0.01)
    assert np.abs(np.diff(run.radii)).max() <= 1.5 / 100 + 1e-12
    # It gives up 6% where nothing is wrong, the fixed one 47%.
    assert run.premiums[-1] == pytest.approx(0.058, abs=1e-3)
    nominal = [mean_return(CROSSINGS.at(0.0), policy) for policy in (plain, paced, fixed)]
    assert 1 - nominal[1] / nominal[0] == pytest.approx(run.premiums[-1])
    assert 1 - nominal[2] / nominal[0] == pytest.approx(0.473, abs=1e-3)


def test_a_run_records_what_happened():
    run = run_pacing(CROSSINGS, Linear(1.0, 4), updates=4)
    np.testing.assert_allclose(run.radii, [0, 0.25, 0.5, 0.75, 1.0])
    for t, ρ in enumerate(run.radii[:-1]):
        here = priced_return(CROSSINGS, run.policies[t], ρ)
        assert (run.returns[t], run.prices[t]) == (here.expected_return, here.price)
        assert run.nominal_returns[t] == pytest.approx(
            mean_return(CROSSINGS.at(0.0), run.policies[t])
        )


def test_a_learner_of_ones_own():
    """One that never leaves the plank: its price alone decides."""
    plank = np.array([PLANK] + 11 * [0])
    (rest,) = price_fixed_points(CROSSINGS, 1.0, policy=plank, points=50)
    assert rest.stable  # and the only one: its price stays above the pull from there on
    run = run_pacing(CROSSINGS, price_rule(1.0, 30, 0.95), updates=60, learner=lambda _: plank)
    assert run.radii[-1] == pytest.approx(rest.radius, abs=1e-9)

    def careful(worlds):
        return best_policy(worlds, KL(), 10.0)

    # It takes the road earlier, and the whole budget is within reach from there on.
    plain, tilted = (
        price_fixed_points(CROSSINGS, 1.0, learner=learner, points=50)
        for learner in (best_policy, careful)
    )
    assert [p.kind for p in tilted] == [p.kind for p in plain] == ["root", "kink", "upper"]
    assert tilted[1].radius < plain[1].radius - 0.05


def test_the_ends_of_the_range():
    falling = garnet(3, 2, 2, discount=0.9)
    # A return that does not change with ρ: the budget itself.
    still = RadiusFamily.between(falling, WorldFamily([falling], np.ones(1)))
    (only,) = price_fixed_points(still, 1.0, points=5)
    assert (only.radius, only.kind, only.stable) == (1.0, "upper", True)
    # A price of 4 at the simulator against a pull of 2: zero.
    paying, charging = (
        MDP(np.ones((1, 1, 1)), np.array([[reward]]), 0.9, np.ones(1)) for reward in (1.0, -3.0)
    )
    steep = RadiusFamily.between(paying, WorldFamily([charging], np.ones(1)))
    zero = price_fixed_points(steep, 1.0, points=20)[0]
    assert (zero.radius, zero.kind, zero.stable) == (0.0, "lower", True)


@pytest.mark.parametrize("offset", [0.0, 0.003])
def test_two_roots_between_neighbouring_points_are_found(offset):
    """(x − .501)(x − .509) dips below 0 between points of a grid of .1, or on one of them."""

    def drift(x):
        return (x - 0.501 + offset) * (x - 0.509 + offset) if x < 0.99 else -1.0

    _, low, high, *rest = rest_points(drift, np.linspace(0, 1, 11))
    assert (low.radius, low.stable) == (pytest.approx(0.501 - offset, abs=1e-9), False)
    assert (high.radius, high.stable) == (pytest.approx(0.509 - offset, abs=1e-9), True)
    assert rest[-1].kind == "upper"


def test_a_root_on_a_grid_point_is_a_root():
    (root,) = rest_points(lambda x: x - 0.5, np.linspace(0, 1, 5))
    assert (root.radius, root.stable, root.kind) == (pytest.approx(0.5), True, "root")
    assert root.largest_rate == pytest.approx(2.0)


def test_an_end_from_which_the_rule_moves_away_is_unstable():
    """The drift is above 0 below the budget and exactly 0 there."""
    *_, end = rest_points(lambda x: 1.0 - x, np.linspace(0, 1, 5))
    assert (end.radius, end.kind, end.stable, end.largest_rate) == (1.0, "upper", False, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: price_rule(1.0, 0, 0.9), "updates is 0"),
        (lambda: price_rule(-1.0, 10, 0.9), "budget=-1.0"),
        (lambda: run_pacing(CROSSINGS, Constant(0.1), updates=0), "updates is 0"),
        (lambda: price_fixed_points(CROSSINGS, 0.0), "budget is 0.0"),
        (lambda: price_fixed_points(CROSSINGS, 1.0, points=1), "points is 1"),
        (lambda: price_fixed_points(CROSSINGS, 1.0, pacing=0.0), "pacing 0.0"),
    ],
)
def test_wrong_numbers_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
