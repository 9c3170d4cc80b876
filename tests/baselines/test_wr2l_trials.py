"""Episodes and single steps in chosen simulators: a linear-quadratic task by hand, and Hopper."""

import linear_quadratic as lq
import numpy as np
import pytest

from drspcrl.baselines.trials import Trials, Visited
from drspcrl.baselines.wr2l import (
    antithetic,
    gradient,
    sensitivity_hessian,
    zeroth_order_hessian,
)
from drspcrl.envs import BatchEnv, make
from drspcrl.envs.simulator import MujocoSimulation
from drspcrl.errors import InputError

WIDTH, PAIRS, BATCHES = 0.02, 50, 20
PHI = np.array([0.2, -0.3, 0.1])


@pytest.fixture(scope="module")
def played():
    """Batches of directions around φ, as if each were a member, and their episodes."""
    trials = Trials(BatchEnv(lq.LinearQuadratic(BATCHES * 2 * PAIRS)), BATCHES)
    generators = [np.random.default_rng(k) for k in range(BATCHES)]
    xi = np.stack([antithetic(g, PAIRS, 3, WIDTH) for g in generators])
    seeds = [(k, lane % PAIRS) for k in range(BATCHES) for lane in range(2 * PAIRS)]
    return trials, xi, trials.play(PHI + xi, seeds, lq.act, 1000, generators, 2)


def mean_and_error(samples) -> tuple[np.ndarray, np.ndarray]:
    return np.mean(samples, axis=0), np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))


def test_phi_speaks_of_what_physics_noise_scales(played):
    trials = played[0]
    assert trials.parameters == ("damping:slide", "gravity", "gear:motor")
    np.testing.assert_allclose(trials.scales(np.log([2.0, 3.0, 4.0])), [2.0, 3.0, 1.0, 4.0])


def test_gradient_agrees_with_the_analytic_one_within_sampling_error(played):
    _, xi, episodes = played
    found = [gradient(xi[k], episodes.returns[k], WIDTH) for k in range(BATCHES)]
    mean, error = mean_and_error(found)
    expected = lq.return_gradient(PHI)
    assert np.all(np.abs(mean - expected) < 4 * error)
    assert np.all(error < 0.15 * np.linalg.norm(expected))


def test_returns_agree_with_the_analytic_ones(played):
    mean, error = mean_and_error(played[2].returns[:, :PAIRS].ravel())
    assert abs(mean - lq.mean_return(PHI)) < 4 * error
    assert np.all(played[2].lengths == lq.LENGTH)


def test_visited_pairs_are_uniform_over_the_steps(played):
    visited = played[2].visited
    assert visited.rows.shape == (BATCHES, 2 * PAIRS * 2, 2)
    np.testing.assert_array_equal(visited.rows, visited.coordinates)
    np.testing.assert_allclose(visited.action, lq.act(visited.coordinates.astype(np.float32)))
    x = visited.coordinates
    mean, error = mean_and_error(np.einsum("ksi,ksj->kij", x, x) / x.shape[1])
    expected = np.mean(lq.covariances(PHI), axis=0)
    assert np.all(np.abs(mean - expected) < 4 * error)
    assert np.all(error < 0.1 * np.abs(expected).max())


def test_sensitivities_agree_with_the_analytic_hessian(played):
    trials, _, episodes = played
    visited, jacobians = episodes.visited, []
    for e in WIDTH * np.eye(3):
        logs = np.broadcast_to(e, (*visited.rows.shape[:2], 3))
        change = trials.successors(visited, logs) - trials.successors(visited, -logs)
        jacobians.append(change / (2 * WIDTH))
    each = np.stack(jacobians, axis=-1)
    for k in range(3):
        A = lq.sensitivities(visited.coordinates[k])
        # Central differences of exp(φ) err by width²/6.
        np.testing.assert_allclose(
            sensitivity_hessian(each[k]), 2 * A.T @ A / len(A), rtol=WIDTH**2, atol=1e-12
        )


def test_zeroth_order_hessian_agrees_with_the_analytic_one_within_sampling_error(played):
    trials, _, episodes = played
    generators = [np.random.default_rng(9 + k) for k in range(BATCHES)]
    xi = np.stack([antithetic(generator, 1000, 3, WIDTH) for generator in generators])
    pairs = episodes.visited.take(np.tile(np.arange(1000) % 200, 2))
    change = trials.successors(pairs, xi) - trials.successors(pairs, 0.0 * xi)
    costs = np.square(change).sum(axis=-1)
    found = [zeroth_order_hessian(xi[k], costs[k], WIDTH) for k in range(BATCHES)]
    exact = [lq.sensitivities(x) for x in episodes.visited.coordinates]
    expected = np.mean([2 * A.T @ A / len(A) for A in exact], axis=0)
    mean, error = mean_and_error(found)
    assert np.all(np.abs(mean - expected) < 4 * error)
    assert np.all(error < 0.1 * np.abs(expected).max())


def zero(observations: np.ndarray) -> np.ndarray:
    return np.zeros((*observations.shape[:2], 3), np.float32)


@pytest.mark.parametrize("task", ["Hopper", "HalfCheetah", "Walker2d", "Humanoid"])
def test_nominal_successors_are_those_of_the_simulator(task):
    env = make(task, 4)
    trials = Trials(env, 1)
    size, shape = len(trials.parameters), (10, 4, *env.action_space.shape)
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, shape).astype(np.float32)
    everyone, simulation = np.arange(4), env.simulation
    assert isinstance(simulation, MujocoSimulation)
    env.reset()
    for action in actions[:-1]:
        env.step(action)
    now = simulation.rows(everyone).copy(), simulation.coordinates(everyone), actions[-1]
    visited = Visited(*(array[None] for array in now))
    env.step(actions[-1])
    after, left = simulation.coordinates(everyone), simulation.rows(everyone).copy()
    stepped = trials.successors(visited, np.zeros((1, 4, size)))[0]
    np.testing.assert_array_equal(stepped, after)
    np.testing.assert_array_equal(simulation.rows(everyone), left)
    heavier = trials.successors(visited, np.full((1, 4, size), 0.1))[0]
    assert np.all(np.abs(heavier - after).max(axis=1) > 0)
    env.close()


def test_more_single_steps_than_lanes_are_taken_in_blocks():
    env = make("Hopper", 4)
    trials = Trials(env, 2)
    generators = [np.random.default_rng(0)] * 2
    seeds = [(0, 0), (0, 1), (1, 0), (1, 1)]
    visited = trials.play(np.zeros((2, 2, 19)), seeds, zero, 30, generators, 3).visited
    logs = np.random.default_rng(1).normal(0, 0.1, (2, 5, 19))
    whole = trials.successors(visited.take(np.arange(5)), logs)
    for s in range(5):
        alone = trials.successors(visited.take(np.array([s])), logs[:, [s]])
        np.testing.assert_array_equal(whole[:, [s]], alone)
    env.close()


def test_a_simulation_that_diverged_says_so_and_then_works_again():
    env = make("Hopper", 2)
    trials = Trials(env, 1)
    seeds = [(0, 0), (0, 1)]
    visited = trials.play(np.zeros((1, 2, 19)), seeds, zero, 5, [np.random.default_rng(0)], 1)[2]
    expected = trials.successors(visited, np.zeros((1, 2, 19)))
    broken = visited.rows.copy()
    broken[0, 1] = 1e12
    spoilt = trials.successors(visited._replace(rows=broken), np.zeros((1, 2, 19)))
    np.testing.assert_array_equal(spoilt[0, 0], expected[0, 0])
    assert np.isnan(spoilt[0, 1]).all()
    again = trials.successors(visited, np.zeros((1, 2, 19)))
    np.testing.assert_array_equal(again, expected)
    env.close()


@pytest.mark.parametrize("task", ["Pendulum-v1", "InvertedPendulum-v5", "probe/constant"])
def test_a_task_without_physics_or_without_its_states_is_refused(task):
    env = make(task, 2)
    with pytest.raises(InputError, match="wr2l needs a task with physics parameters"):
        Trials(env, 1)
    env.close()
