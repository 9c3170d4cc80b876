"""Curricula of a radius of worlds: rules by hand, holds, and what the other methods make of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import Curriculum, SelfPaced, Signal, curriculum
from drspcrl.curricula.accel import value_loss
from drspcrl.errors import InputError
from drspcrl.training.loop import ball
from drspcrl.training.settings import resolve

ITERATIONS = 20
WASSERSTEIN = ball(resolve("sac", {}, 1000, "worlds"))
WELL = QUIET._replace(price=0.0, premium=0.0, calibration=0.9)


def made(method: str, iterations: int = ITERATIONS, gated: bool = True, **changes) -> Any:
    settings = {"rule": "price"} | changes
    return curriculum(method, settings, iterations, 0.99, WASSERSTEIN, worlds=True, gated=gated)


Answer = Callable[[float], Signal]


def curve(rule: Curriculum, answer: Answer | Signal = WELL, updates: int = ITERATIONS):
    """The radii of a run whose signals follow from the radius."""
    state, found = rule.init(3), []
    for step in range(updates):
        ρ = rule.epsilon(state)
        found.append(ρ)
        signal = answer(ρ) if callable(answer) else answer
        state = rule.update(state, signal._replace(step=step, epsilon=ρ))
    return np.array([*found, rule.epsilon(state)])


def test_the_price_rule_by_hand():
    # λ = 2/20: ρ − λ(price + 2α(ρ − 1)) = .5 − .1(.4 + 2(.5 − 1)) = .56, a step below 1.5/20.
    rule = made("self_paced", epsilon_start=0.5)
    signal = WELL._replace(price=0.4)
    assert curve(rule, signal, 1)[-1] == pytest.approx(0.56)
    # price = 2α(ρ_b − ρ) is its fixed point, and a higher one brings it down.
    assert curve(rule, WELL._replace(price=1.0), 1)[-1] == pytest.approx(0.5)
    assert curve(rule, WELL._replace(price=1.2), 1)[-1] == pytest.approx(0.48)
    # An unknown price moves nothing.
    assert curve(rule, WELL._replace(price=np.nan), 1)[-1] == 0.5


def test_a_price_that_grows_with_the_radius_has_its_fixed_point():
    # 3ρ = 2(1 − ρ) at ρ = .4, well before the end of a long run.
    found = curve(made("self_paced", iterations=400), lambda ρ: WELL._replace(price=3 * ρ), 400)
    assert found[-1] == pytest.approx(0.4, abs=0.005)


def test_no_step_is_longer_than_the_pace_allows():
    even = 1 / ITERATIONS
    for rule in ("price", "keep"):
        assert np.diff(curve(made("self_paced", rule=rule))).max() <= 1.5 * even + 1e-12
    up = curve(made("self_paced", gated=False), WELL, 1)
    assert up[-1] == pytest.approx(1.5 * even)
    down = curve(made("self_paced", epsilon_start=0.5), WELL._replace(price=1e3), 1)
    assert down[-1] == pytest.approx(0.5 - 1.5 * even)
    free = curve(made("self_paced", gated=False, pace_limit=0.0), WELL, 1)
    assert free[-1] == pytest.approx(0.2)  # λ·2α


@pytest.mark.parametrize("rule", ["price", "keep"])
def test_a_radius_does_not_grow_while_the_premium_is_too_high(rule):
    held = made("self_paced", rule=rule, epsilon_start=0.3)
    assert curve(held, WELL._replace(premium=0.21), 5)[-1] == pytest.approx(0.3)
    assert curve(held, WELL._replace(premium=0.2), 5)[-1] > 0.4
    assert curve(held, WELL._replace(premium=np.nan), 5)[-1] > 0.4  # no anchor has ended yet
    off = made("self_paced", rule=rule, epsilon_start=0.3, premium_bound=1.0)
    assert curve(off, WELL._replace(premium=0.99), 5)[-1] > 0.4


def test_a_price_may_lower_a_radius_that_is_held():
    held = made("self_paced", epsilon_start=0.3)
    assert curve(held, WELL._replace(premium=0.5, price=3.0), 5)[-1] < 0.3


@pytest.mark.parametrize("rule", ["price", "keep"])
def test_an_uncalibrated_critic_reaches_a_tenth(rule):
    never = WELL._replace(calibration=0.5)  # it must be above
    assert curve(made("self_paced", rule=rule), never).max() == pytest.approx(0.1)
    unknown = WELL._replace(calibration=np.nan)
    assert curve(made("self_paced", rule=rule), unknown).max() == pytest.approx(0.1)
    # ε_budget's tenth; beyond it the radius stays, and falls as usual.
    assert curve(made("self_paced", rule=rule, epsilon_budget=3.0), never).max() == pytest.approx(
        0.3
    )
    start = made("self_paced", rule=rule, epsilon_start=0.4)
    assert curve(start, never).max() == pytest.approx(0.4)
    # Without probes nothing is known of it: no gate.
    assert curve(made("self_paced", rule=rule, gated=False), never).max() > 0.8
    assert curve(made("self_paced", rule=rule, calibration_bound=0.0), never).max() > 0.8


def test_where_probes_lose_nothing_a_critic_need_not_rank_them():
    """Half of the premium's bound, .2, is what counts as next to nothing."""
    never = WELL._replace(calibration=0.1)
    assert curve(made("self_paced"), never._replace(probe_share=0.91)).max() > 0.8
    assert curve(made("self_paced"), never._replace(probe_share=0.89)).max() == pytest.approx(0.1)
    strict = made("self_paced", calibration_waiver=False)
    assert curve(strict, never._replace(probe_share=1.0)).max() == pytest.approx(0.1)


def test_a_critic_that_was_calibrated_once_is_trusted():
    rule = made("self_paced")
    state = rule.init(0)
    for calibration in (0.1, 0.6, *[0.0] * 12):
        state = rule.update(state, WELL._replace(calibration=calibration))
    assert rule.epsilon(state) > 0.5


def paid(ρ: float) -> Signal:
    """A task that pays a fifth of its return at ρ = .62."""
    return WELL._replace(premium=0.2 * ρ / 0.62, price=0.5)


@pytest.mark.parametrize("budget", [1.0, 2.0, 3.0])
def test_what_keep_ends_at_does_not_depend_on_the_budget(budget):
    iterations = 300
    found = curve(
        made("self_paced", iterations, rule="keep", epsilon_budget=budget), paid, iterations
    )
    step = 1.5 * budget / iterations
    assert 0.62 < found[-1] <= 0.62 + step + 1e-9
    by_price = made("self_paced", iterations, epsilon_budget=budget, premium_bound=1.0)
    assert curve(by_price, paid, iterations)[-1] == pytest.approx(budget - 0.25, abs=0.1)


def test_worlds_rules_have_their_place():
    with pytest.raises(InputError, match="rule is 'price', which is not for uncertainty=trans"):
        resolve("sac", {"rule": "price"}, 1000, "transitions")
    with pytest.raises(InputError, match=r"rule is 'coordinate', .*choose one of price, keep"):
        resolve("sac", {"rule": "coordinate"}, 1000, "worlds")
    assert resolve("sac", {}, 1000, "worlds").curriculum.rule == "price"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("premium_bound", 0.0, "premium_bound is 0.0; it must be above 0 and at most 1"),
        ("calibration_bound", 1.0, "calibration_bound is 1.0; it must be at least 0"),
        ("calibration_radius", 0.0, "calibration_radius is 0.0; it must be above 0"),
        ("pace_limit", -1.0, "pace_limit is -1.0; it must be at least 0"),
    ],
)
def test_settings_of_worlds_that_do_not_fit(name, value, told):
    with pytest.raises(InputError, match=told):
        made("self_paced", **{name: value})


# The other methods.


def test_fixed_and_probes_only_stay():
    np.testing.assert_array_equal(curve(made("fixed", epsilon_budget=1.5)), 1.5)
    np.testing.assert_array_equal(curve(made("probes_only")), 0.0)


@pytest.mark.parametrize("method", ["linear", "linear_radius"])
def test_a_line_is_one_in_the_radius_itself(method):
    np.testing.assert_allclose(
        curve(made(method, epsilon_budget=2.0)), np.linspace(0, 2.0, ITERATIONS + 1)
    )


def test_random_radii_are_even_up_to_the_budget():
    found = curve(made("domain_randomization", epsilon_budget=2.0), updates=3000)
    for level in (0.5, 1.0, 1.5):  # standard error .009
        assert np.mean(found < level) == pytest.approx(level / 2, abs=0.045)
    assert found.max() <= 2.0


def test_yoked_follows_the_radius_of_others():
    rule = made("yoked")
    found = curve(rule, lambda ρ: WELL._replace(peers_epsilon=ρ + 0.03), 5)
    np.testing.assert_allclose(found, [0, 0.03, 0.06, 0.09, 0.12, 0.15])


def test_space_grows_on_a_plateau_of_returns():
    rule, state, found = made("space", space_growth=10.0), None, []
    state = rule.init(0)
    # Start values jump about and must not matter.
    for k, level in enumerate([10.0, 20.0, 20.0, 40.0, np.nan, 40.0, 41.0]):
        told = WELL._replace(episode_return=level, start_value=(-1.0) ** k * 100)
        state = rule.update(state, told)
        found.append(rule.epsilon(state))
    np.testing.assert_allclose(found, [0, 0, 0.1, 0.1, 0.1, 0.2, 0.3])


# ACCEL.

ALONG = np.linspace(1.0, 0.0, 11) * 5 + 5  # from 10 down to 5 at the budget


def test_a_radius_is_scored_by_the_share_of_value_that_is_lost():
    signal = WELL._replace(radius_values=ALONG, epsilon=0.4, anchor_return=10.0, episode_return=4.0)
    score = value_loss(signal, 2.0)
    assert score(0.4) == pytest.approx(0.6)  # by its own episodes
    assert score(1.0) == pytest.approx(0.25)  # an edit, by the critic
    assert score(0.3) == pytest.approx(0.075)  # between two of its radii
    unknown = value_loss(signal._replace(anchor_return=np.nan), 2.0)
    assert unknown(0.4) == pytest.approx(0.1)
    assert value_loss(signal._replace(anchor_return=-10.0), 2.0)(0.4) == pytest.approx(-1.4)
    empty = value_loss(signal._replace(radius_values=np.empty(0)), 2.0)
    assert np.isnan(empty(1.0))
    assert empty(0.4) == pytest.approx(0.6)
    assert np.isnan(value_loss(signal._replace(radius_values=ALONG * np.nan), 2.0)(1.0))


def test_accel_moves_to_radii_that_cost_value():
    def answer(ρ: float) -> Signal:
        lost = np.interp(ρ, np.linspace(0, 1, 11), ALONG)
        return WELL._replace(radius_values=ALONG, anchor_return=10.0, episode_return=float(lost))

    found = curve(made("accel", accel_buffer=16), answer, 300)
    assert found[:5].max() < 0.2  # easy ones first
    assert np.mean(found[-50:]) > 0.6
    assert len(np.unique(found)) > 20


def test_accel_stays_while_nothing_is_known():
    found = curve(made("accel"), WELL._replace(radius_values=np.empty(0)), 10)
    assert len(np.unique(found)) == 1


def test_accel_moves_on_radii_alone():
    """Between the ends of episodes only the critic knows."""
    found = curve(made("accel", accel_buffer=16), WELL._replace(radius_values=ALONG), 300)
    assert np.mean(found[-50:]) > 0.6


def test_rules_are_pure():
    rule = made("self_paced")
    state = rule.init(0)
    before = dict(state)
    once, twice = rule.update(state, WELL), rule.update(state, WELL)
    assert state == before
    assert once == twice
    assert isinstance(rule, SelfPaced)
    assert replace(rule, rule="coordinate").in_worlds is False
