"""What may be a policy, and what becomes of one that gives bad actions."""

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation import Suite, evaluate, evaluate_policies
from drspcrl.evaluation.actor import BLOCK
from drspcrl.evaluation.rollout import Job
from drspcrl.perturbations import Perturbation

ONE = Suite("one", [None])
TWO = Suite("two", [None, Perturbation("observation", 0.1)])


class Predicts:
    """An object in Stable-Baselines3's manner; `half` of the action is what it was asked for."""

    def __init__(self):
        self.asked = set()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.add(deterministic)
        return np.full((len(observation), 1), 0.5, np.float32), None


class Remembers:
    """Its action is the number of steps it remembers, so a return shows any mix-up."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        steps = np.zeros((1, len(observation), 1)) if state is None else state + 1
        if state is not None:
            steps[0, episode_start] = 0
        return steps[0] / 4, steps


def test_predict_is_asked_for_deterministic_actions_unless_told(counter):
    policy = Predicts()
    assert evaluate(policy, counter, ONE, episodes=3).returns.tolist() == [2.5] * 3
    assert policy.asked == {True}
    evaluate(policy, counter, ONE, episodes=1, deterministic=False)
    assert policy.asked == {True, False}


def test_a_policy_with_memory_starts_every_episode_without_it(counter):
    table = evaluate(Remembers(), counter, TWO, episodes=100, simulations=70)
    assert table.returns.tolist() == [2.5] * 200


def test_a_policy_is_always_called_with_the_same_shape(counter):
    shapes = set()

    def policy(observations):
        shapes.add(observations.shape)
        observations[:] = np.nan  # what it does to its input is its own affair
        return np.ones((len(observations), 1))

    table = evaluate(policy, counter, ONE, episodes=100, simulations=70)
    assert shapes == {(BLOCK, 2)}
    assert table.returns.tolist() == [5.0] * 100


def test_sampled_actions_depend_on_the_episode_alone(counter):
    def policy(observations, *, deterministic=True, generator=None):
        size = (len(observations), 1)
        noise = 0.0 if generator is None else generator.standard_normal(size, np.float32)
        return np.clip(noise + np.zeros(size), -2, 3)

    tables = [
        evaluate(policy, counter, TWO, episodes=70, simulations=n, deterministic=False)
        for n in (1, 9, 140)
    ]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.returns, tables[0].returns)
    assert len(set(tables[0].returns)) == 140
    assert set(evaluate(policy, counter, ONE, episodes=2).returns) == {0.0}
    # clip(N(0, 1), −2, 3) has mean 0.008 and standard deviation 0.98; sums of five, 140 of them
    assert np.mean(tables[0].returns) == pytest.approx(0.04, abs=4 * 0.98 * np.sqrt(5 / 140))
    assert np.std(tables[0].returns) == pytest.approx(0.98 * np.sqrt(5), rel=0.25)


def bad_at(row, episode, step, value):
    """A policy that gives `value` in one episode of a setting of TWO, at one step."""
    slot = Job("", TWO.rows[row], episode).slot

    def policy(observations):
        actions = np.zeros((len(observations), 1))
        actions[slot] = np.where(np.round(observations[slot, 1]) == step, value, 0.0)
        return actions

    return policy


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"component 0 is nan, which is not finite.*\(setting none, episode 4, step 3\)"),
        (np.inf, r"is inf, which is not finite.*step 3"),
        (3.1, r"is 3.1, which is out of range, \[-2, 3\].*clip=True.*none, episode 4, step 3"),
        (-2.1, r"is -2.1, which is out of range"),
    ],
)
def test_bad_actions_are_refused_with_setting_and_step(counter, value, message):
    with pytest.raises(InputError, match=message):
        evaluate(bad_at(0, 4, 3, value), counter, TWO, episodes=6)


def test_the_setting_named_is_the_one_it_happened_in(counter):
    with pytest.raises(InputError, match=r"setting observation=0.1, episode 1, step 2"):
        evaluate(bad_at(1, 1, 2, np.nan), counter, TWO, episodes=6)


def test_rounding_is_forgiven_and_clipping_is_offered(counter):
    nudge = np.nextafter(np.float32(3), np.float32(4))
    table = evaluate(lambda o: np.full((len(o), 1), nudge), counter, ONE, episodes=1)
    assert table.returns.tolist() == [15.0]
    table = evaluate(lambda o: np.full((len(o), 1), 7.0), counter, ONE, episodes=1, clip=True)
    assert table.returns.tolist() == [15.0]
    with pytest.raises(InputError, match="not finite"):
        evaluate(lambda o: np.full((len(o), 1), np.nan), counter, ONE, episodes=1, clip=True)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda o: np.zeros(len(o)), r"shape \(64,\) for 64 observations; it must give \(64, 1\)"),
        (lambda o: np.zeros((1, 1)), r"shape \(1, 1\).*setting none, episode 0, step 0"),
        (lambda o: np.zeros((len(o), 2)), r"shape \(64, 2\)"),
        (lambda o: None, "no array of numbers|not finite|shape"),
        (lambda o: "left", "no array of numbers"),
    ],
)
def test_actions_of_another_form_are_refused(counter, policy, message):
    with pytest.raises(InputError, match=message):
        evaluate(policy, counter, ONE, episodes=1)


def test_what_is_no_policy_is_refused(counter):
    with pytest.raises(InputError, match="the policy is None; give a function"):
        evaluate(None, counter, ONE)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="of type int"):
        evaluate(3, counter, ONE)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="deterministic=False is for policies that take it"):
        evaluate(lambda o: o, counter, ONE, deterministic=False)


def test_an_error_in_the_policy_says_where_it_was_asked(counter):
    def policy(observations):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        evaluate(policy, counter, ONE, episodes=1)
    assert caught.value.__notes__ == [
        "The policy was asked for an action: setting none, episode 0, step 0."
    ]


def test_a_policy_that_ends_the_program_is_no_success(counter):
    def policy(observations):
        raise SystemExit(0)

    with pytest.raises(InputError, match=r"SystemExit\(0\); let .* \(setting none, episode 0"):
        evaluate(policy, counter, ONE, episodes=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, "episodes is 0"),
        ({"episodes": 2.0}, "episodes is 2.0"),
        ({"seed": -1}, "seed is -1"),
        ({"simulations": 0}, "simulations is 0"),
        ({"threads": -1}, "threads"),
    ],
)
def test_numbers_that_do_not_fit(counter, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(lambda o: o[:, :1], counter, ONE, **options)
    with pytest.raises(InputError, match="no policies"):
        list(evaluate_policies({}, counter, ONE))


def test_a_setting_the_task_cannot_have_is_refused_before_anything_is_played(counter):
    def policy(observations):
        raise AssertionError("played")

    suite = Suite("masses", [Perturbation("environment", 0.1)])
    with pytest.raises(InputError, match=r"suite 'masses' has no setting for this task: .* MuJoCo"):
        evaluate(policy, counter, suite)
    with pytest.raises(InputError, match="unknown"):
        evaluate(policy, "NoSuchTask")


def test_several_policies_equal_each_alone(make_network):
    policies = {f"p{k}": make_network("Hopper", seed=k) for k in range(3)}
    outcomes = list(evaluate_policies(policies, "Hopper", "quick", episodes=8, simulations=20))
    assert sorted(outcome.policy for outcome in outcomes) == ["p0", "p1", "p2"]
    for outcome in outcomes:
        alone = evaluate(policies[outcome.policy], "Hopper", "quick", episodes=8)
        assert outcome.table is not None
        np.testing.assert_array_equal(outcome.table.returns, alone.returns)


def test_a_policy_that_fails_does_not_touch_the_others(counter):
    def good(observations, *, deterministic=True, generator=None):
        assert generator is not None
        return np.clip(generator.standard_normal((len(observations), 1)), -2, 3)

    def bad(observations, *, deterministic=True, generator=None):
        return bad_at(0, 5, 2, np.nan)(observations)

    alone = evaluate(good, counter, TWO, episodes=20, deterministic=False)
    outcomes = {
        outcome.policy: outcome
        for outcome in evaluate_policies(
            {"a": good, "bad": bad, "c": good},
            counter,
            TWO,
            episodes=20,
            simulations=30,
            deterministic=False,
        )
    }
    assert outcomes["bad"].table is None
    assert "step 2" in str(outcomes["bad"].error)
    for name in "ac":
        table = outcomes[name].table
        assert table is not None
        np.testing.assert_array_equal(table.returns, alone.returns)


def test_simulations_do_not_grow_with_the_number_of_episodes(counter):
    made = []

    def factory():
        made.append(counter())
        return made[-1]

    table = evaluate(lambda o: np.ones((len(o), 1)), factory, TWO, episodes=1000)
    assert len(table) == 2000
    assert len(made) < 40
