"""The self-paced rules by hand: every form, its limits, its options."""

import warnings

import numpy as np
import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import SelfPaced, Signal
from drspcrl.curricula.self_paced import lagrangian_step
from drspcrl.errors import InputError


def moved(rule: SelfPaced, signal: Signal = QUIET, updates: int = 1) -> float:
    state = rule.init(0)
    for _ in range(updates):
        state = rule.update(state, signal)
    return rule.epsilon(state)


def papers(**changes) -> SelfPaced:
    given = {"rule": "radius", "budget": 1.0, "discount": 0.9, "rate": 0.1, "start": 0.5}
    return SelfPaced(**{**given, **changes})


def test_the_papers_rule_by_hand():
    # γ = .9: C_γ = 9. ε − λ(9β + 2α(ε − 1)) = .5 − .1(9·.05 + 2(.5 − 1)) = .5 − .1·(−.55).
    assert moved(papers()) == pytest.approx(0.555)
    # From 0 the multiplier is infinite and the rule stays.
    assert moved(papers(start=0.0), QUIET._replace(multiplier=np.inf)) == 0.0
    # Projected to 0, and (only a step that overshoots gets there) to the budget.
    assert moved(papers(start=0.1), QUIET._replace(multiplier=1.0)) == 0.0
    with pytest.warns(UserWarning, match="overshoots"):
        hasty = papers(start=0.9, pacing=10.0)
    assert moved(hasty, QUIET._replace(multiplier=0.0)) == 1.0


def test_the_rule_in_the_root_by_hand():
    # ρ − λ(slope/E|r| + 2α(ρ − 1)) = .5 − .1(.3/.5 + 2(.5 − 1)) = .5 − .1·(−.4) = .54; ε = ρ².
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.1, start=0.25)
    assert moved(rule) == pytest.approx(0.54**2)
    # For total variation and Wasserstein ρ is ε itself.
    straight = SelfPaced(budget=1.0, discount=0.9, scale="linear", rate=0.1, start=0.5)
    assert moved(straight) == pytest.approx(0.54)
    # A slope beyond the pull keeps it at 0, where the paper's penalty would be flat in ρ.
    steep = QUIET._replace(slope=5.0)
    assert moved(SelfPaced(budget=1.0, discount=0.9, rate=0.1), steep) == 0.0
    # No reward anywhere means no spread either: the floor keeps 0/0 away, ρ = 2αλ = .2.
    empty = QUIET._replace(slope=0.0, reward_scale=0.0)
    assert moved(SelfPaced(budget=1.0, discount=0.9, rate=0.1), empty) == pytest.approx(0.04)


def test_the_rule_in_the_root_knows_no_unit():
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.1, start=0.25)
    scaled = QUIET._replace(slope=300.0, reward_scale=500.0, multiplier=50.0)
    assert moved(rule, scaled) == pytest.approx(moved(rule), rel=1e-14)
    assert moved(papers(), scaled) != pytest.approx(moved(papers()))


def test_epsilon_falls_when_beta_rises_and_rests_where_both_balance():
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.1, start=0.64)
    assert moved(rule, QUIET._replace(slope=0.5)) < 0.64
    # ρ* = ρ_b − slope/(2α E|r|) = 1 − .3/(2·.5) = .7
    assert moved(rule, updates=400) == pytest.approx(0.49, rel=1e-9)
    assert moved(papers(), QUIET._replace(multiplier=0.2)) < 0.5


def test_the_lagrangian_step_is_the_papers_rule_with_its_multiplier():
    # α = 1, λ_curr = .1: λ = 1/.2 − 1 = 4; (2·1 + 2·4·.5 − 9·.05)/(2·5) = 5.55/10.
    assert lagrangian_step(0.5, 0.05, 0.9, 1.0, 4.0, 1.0) == pytest.approx(0.555)
    for rate in (0.01, 0.1, 0.5):
        lagrangian = moved(papers(rule="lagrangian", rate=rate))
        assert lagrangian == pytest.approx(moved(papers(rate=rate)), rel=1e-14)


@pytest.mark.parametrize("rule", ["radius", "lagrangian"])
def test_a_step_size_that_no_multiplier_gives_is_warned_of(rule):
    with pytest.warns(UserWarning, match=r"above 1/\(2α\) = 0.5"):
        curriculum = papers(rule=rule, rate=0.6)
    # λ would be negative; the Lagrangian step takes the nearest there is, λ = 0.
    if rule == "lagrangian":
        assert moved(curriculum) == pytest.approx(1 - 9 * 0.05 / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        papers(rule=rule, rate=0.5)


def test_the_closed_form_goes_there_at_once_or_as_far_as_it_may():
    closed = papers(rule="closed_form")
    assert moved(closed) == pytest.approx(1 - 9 * 0.05 / 2)
    assert moved(papers(rule="closed_form", trust_region=0.01)) == pytest.approx(0.6)
    falling = QUIET._replace(multiplier=1.0)
    assert moved(papers(rule="closed_form", trust_region=0.01), falling) == pytest.approx(0.4)
    assert moved(papers(rule="closed_form"), falling) == 0.0


def test_the_trust_region_limits_every_rule_in_its_own_variable():
    assert moved(papers(trust_region=1e-4)) == pytest.approx(0.51)
    rule = SelfPaced(budget=1.0, discount=0.9, rate=0.1, start=0.25, trust_region=1e-4)
    assert moved(rule) == pytest.approx(0.51**2)


def test_warm_up_updates_leave_epsilon_where_it_is():
    rule = papers(warmup=2)
    assert moved(rule, updates=2) == 0.5
    assert moved(rule, updates=3) == pytest.approx(0.555)


def test_the_schedule_offset_starts_without_pull():
    rule = papers(schedule="offset", offset=2, start=0.9)
    # α = 0: each of two updates takes λ C_γ β = .045; the third has the pull again.
    assert moved(rule, updates=2) == pytest.approx(0.81)
    assert moved(rule, updates=3) == pytest.approx(0.81 - 0.1 * (0.45 + 2 * (0.81 - 1)))


def test_the_schedule_percentage_follows_performance():
    # α = ζ·max(0, J)/(ε − ε_b)² = .1·2/.25 = .8
    rule = papers(schedule="percentage", pacing=0.1)
    assert moved(rule) == pytest.approx(0.5 - 0.1 * (0.45 + 2 * 0.8 * (-0.5)))
    bad = QUIET._replace(start_value=-2.0)
    assert moved(rule, bad) == pytest.approx(0.5 - 0.045)
    # In ρ, J is measured in units of C_γ E|r|: α = .1·(2/4.5)/.25
    scaled = SelfPaced(
        budget=1.0, discount=0.9, rate=0.1, start=0.25, schedule="percentage", pacing=0.1
    )
    α = 0.1 * (2 / 4.5) / 0.25
    assert moved(scaled) == pytest.approx((0.5 - 0.1 * (0.6 - α)) ** 2)


def test_the_performance_bound_is_a_latch():
    rule = papers(bound=20.0)
    state = rule.init(0)
    state = rule.update(state, QUIET)  # 10 < 20: no pull
    assert rule.epsilon(state) == pytest.approx(0.5 - 0.045)
    state = rule.update(state, QUIET._replace(episode_return=np.nan))  # no episode ended
    assert not state["reached"]
    state = rule.update(state, QUIET._replace(episode_return=20.0))
    assert state["reached"]
    before = rule.epsilon(state)
    state = rule.update(state, QUIET)  # below again, and yet it continues
    assert rule.epsilon(state) == pytest.approx(before - 0.1 * (0.45 + 2 * (before - 1)))


def test_the_pull_waits_while_returns_have_fallen_back():
    rule = papers(share=0.9)
    state = rule.update(rule.init(0), QUIET._replace(episode_return=np.nan))
    assert rule.epsilon(state) == pytest.approx(0.5 - 0.045)  # nothing known yet: no pull
    state = rule.update(state, QUIET)  # the first return, 10, is the best
    assert (state["level"], state["best"]) == (10.0, 10.0)
    before = rule.epsilon(state)
    state = rule.update(state, QUIET._replace(episode_return=1.0))  # .9·10 + .1·1 = 9.1 ≥ 9
    assert rule.epsilon(state) == pytest.approx(before - 0.1 * (0.45 + 2 * (before - 1)))
    before = rule.epsilon(state)
    state = rule.update(state, QUIET._replace(episode_return=1.0))  # .9·9.1 + .1 = 8.29 < 9
    assert rule.epsilon(state) == pytest.approx(before - 0.045)
    state = rule.update(state, QUIET._replace(episode_return=20.0))  # 9.461: it continues
    assert rule.epsilon(state) > before - 0.045
    assert state["best"] == 10.0


def test_a_share_of_a_negative_return_is_below_it():
    rule = papers(share=0.9)
    state = rule.update(rule.init(0), QUIET._replace(episode_return=-10.0))
    before = rule.epsilon(state)
    state = rule.update(state, QUIET._replace(episode_return=-15.0))  # −10.5 ≥ −11
    assert rule.epsilon(state) > before
    before = rule.epsilon(state)
    state = rule.update(state, QUIET._replace(episode_return=-25.0))  # −11.95 < −11
    assert rule.epsilon(state) < before


def test_draws_around_the_point_estimate():
    rule = papers(spread=0.2)
    point = moved(papers())
    drawn = []
    for seed in range(2000):
        state = rule.update(rule.init(seed), QUIET)
        assert state["point"] == point
        drawn.append(rule.epsilon(state))
        assert rule.epsilon(state) == drawn[-1]
    # clipped to [0, 1]: Φ((1 − .555)/.2) leaves 1.3% at the top
    assert np.mean(drawn) == pytest.approx(0.555, abs=0.015)
    assert np.std(drawn) == pytest.approx(0.2, abs=0.01)
    assert min(drawn) >= 0
    assert max(drawn) == 1.0


@pytest.mark.parametrize("rule", ["coordinate", "radius", "lagrangian", "closed_form"])
def test_an_unknown_number_holds_epsilon(rule):
    unknown = QUIET._replace(slope=np.nan, multiplier=np.nan)
    assert moved(papers(rule=rule), unknown) == pytest.approx(0.5, rel=1e-15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": -1.0}, "budget=-1"),
        ({"start": 2.0}, "start=2"),
        ({"pacing": 0.0}, "pacing=0"),
        ({"rate": -0.1}, "rate=-0.1"),
    ],
)
def test_wrong_numbers_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        papers(**changes)
