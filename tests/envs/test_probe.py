"""Probe tasks pay what their tables say, and finite MDPs follow their arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.envs import make
from drspcrl.envs.probe import PROBES, finite
from drspcrl.errors import InputError
from drspcrl.tabular import garnet, robust_value_iteration

GAMMA = 0.9


def discounted_returns(env, choose, steps):
    """The return of the first episode of each environment, and its first observation."""
    first = observation = env.reset()
    total, weight = np.zeros(env.num_envs), np.ones(env.num_envs)
    for t in range(steps):
        step = env.step(choose(observation))
        total += weight * GAMMA**t * step.reward
        weight *= ~step.terminated
        observation = step.observation
    return total, first


def constantly(action):
    return lambda observation: np.full((len(observation), 1), action, np.float32)


def test_constant_reward_is_cut_not_ended():
    env = make("probe/constant", 3)
    env.reset()
    for t in range(1, 101):
        step = env.step(np.zeros((3, 1), np.float32))
        assert np.all(step.reward == 1.0)
        assert not step.terminated.any()
        assert step.truncated.all() == (t % 50 == 0)


def test_one_step_pays_the_observation():
    total, first = discounted_returns(make("probe/one_step", 64), constantly(0.3), 3)
    np.testing.assert_array_equal(total, first[:, 0])
    assert set(first[:, 0]) == {-1.0, 1.0}


def test_two_steps_pay_late():
    total, first = discounted_returns(make("probe/two_step", 3), constantly(0.3), 4)
    assert np.all(first == 0.0)
    np.testing.assert_allclose(total, GAMMA)


def test_best_action_is_half_the_observation():
    env = make("probe/action", 32)
    best, _ = discounted_returns(env, lambda s: 0.5 * s, 1)
    np.testing.assert_array_equal(best, 0.0)
    # Worked by hand: action 0.5 where -0.5 is best costs 1.
    other, first = discounted_returns(env, constantly(0.5), 1)
    np.testing.assert_array_equal(other, np.where(first[:, 0] > 0, 0.0, -1.0))


@pytest.mark.parametrize("action", [-1.0, 0.0, 0.5, 1.0])
def test_noise_has_the_stated_mean_and_spread(action):
    n = 20_000
    total, _ = discounted_returns(make("probe/noise", n, seed=1), constantly(action), 3)
    spread = GAMMA * (1.0 + action)
    assert total.mean() == pytest.approx(GAMMA * action, abs=4 * spread / np.sqrt(n) + 1e-6)
    assert total.std() == pytest.approx(spread, rel=0.03)


@pytest.mark.parametrize("task", PROBES)
def test_members_have_their_own_streams(task):
    def rows(n):
        env = make(task, n, seed=2)
        first = env.reset()[0]
        return [first, *(env.step(np.full((n, 1), 0.2)).observation[0] for _ in range(20))]

    np.testing.assert_array_equal(rows(1), rows(5))


def test_finite_mdp_follows_its_arrays():
    mdp = garnet(states=4, actions=3, successors=3, seed=1).to_dense()
    n = 2000
    env = finite(mdp, n, seed=0)
    observation = env.reset()
    rng = np.random.default_rng(0)
    counts, starts = np.zeros((4, 3, 4)), observation.sum(axis=0)
    for _ in range(49):
        action = rng.uniform(-1, 1, (n, 1))
        # Three choices share [-1, 1]: below -1/3, up to 1/3, above.
        choice = np.digitize(action[:, 0], [-1 / 3, 1 / 3])
        step = env.step(action)
        state, following = observation.argmax(1), step.final_observation.argmax(1)
        np.testing.assert_array_equal(step.reward, mdp.rewards[state, choice])
        np.testing.assert_array_equal(step.final_observation.sum(axis=1), 1.0)
        np.add.at(counts, (state, choice, following), 1)
        observation = step.observation
    assert np.all(counts[mdp.transitions == 0.0] == 0)
    visits = counts.sum(axis=-1, keepdims=True)
    error = np.abs(counts / visits - mdp.transitions)
    assert np.all(error <= 4.5 * np.sqrt(mdp.transitions * (1 - mdp.transitions) / visits) + 1e-12)
    np.testing.assert_allclose(starts / n, mdp.initial, atol=4.5 * np.sqrt(0.25 / n))


def test_robust_values_of_the_solver_are_returns_in_the_worst_kernel():
    """The exact robust value is what the optimal policy earns where nature plays its worst."""
    mdp = garnet(states=5, actions=3, successors=3, discount=GAMMA, seed=2).to_dense()
    solution = robust_value_iteration(mdp, KL(), 0.3)
    nominal = robust_value_iteration(mdp, KL(), 0.0)
    best = solution.policy.argmax(axis=1)
    worst = SimpleNamespace(transitions=solution.kernel, rewards=mdp.rewards, initial=mdp.initial)

    def choose(observation):
        return (2.0 * (best[observation.argmax(1)] + 0.5) / 3.0 - 1.0)[:, None]

    n, horizon = 4000, 150  # 0.9^150 is 1e-7
    total, _ = discounted_returns(finite(worst, n, time_limit=horizon), choose, horizon)
    error = 4 * total.std() / np.sqrt(n)
    assert total.mean() == pytest.approx(solution.expected_return, abs=error)
    assert nominal.expected_return - solution.expected_return > 3 * error


def test_arrays_that_do_not_fit():
    bad = SimpleNamespace(
        transitions=np.ones((2, 1, 3)), rewards=np.ones((2, 1)), initial=np.ones(2)
    )
    with pytest.raises(InputError, match=r"\[S, A, S\]"):
        finite(bad, 1)
