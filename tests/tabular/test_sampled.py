"""The n-draw backup against brute force, its own sampling, and known biases."""

from itertools import product

import jax
import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import Draws, SparseMDP, garnet, make_instance, robust_policy_evaluation
from drspcrl.tabular.backup import multinomial_table, sampled_backup

VALUES = np.array([0.3, -1.0, 2.0, 0.7, 1.1])
MDP = garnet(states=5, actions=2, successors=3, discount=0.9, seed=4)


@pytest.mark.parametrize("divergence", [KL(), ChiSquared(), TotalVariation()])
def test_the_expectation_over_draws_by_brute_force(divergence, float64):
    """All 3⁴ sequences of four draws, each with its own worst case."""
    n, radius = 4, 0.3
    backup = sampled_backup(MDP, divergence, radius, n)(VALUES)
    solve = jax.jit(lambda v: divergence.worst_case(v, np.full(n, 1 / n), radius))
    for s, a in [(0, 0), (3, 1)]:
        total, slope, kernel = 0.0, 0.0, np.zeros(3)
        for sequence in product(range(3), repeat=n):
            chance = MDP.probabilities[s, a, list(sequence)].prod()
            found = solve(VALUES[MDP.successors[s, a, list(sequence)]])
            total += chance * float(found.value)
            slope += chance * float(found.slope)
            np.add.at(kernel, list(sequence), chance * np.asarray(found.weights))
        assert backup.values[s, a] == pytest.approx(total, rel=1e-9)
        assert backup.slopes[s, a] == pytest.approx(slope, rel=1e-5)
        np.testing.assert_allclose(backup.kernel[s, a], kernel, rtol=1e-5)
    assert backup.converged
    assert (backup.standard_errors == 0).all()


def test_count_vectors_are_all_there_with_their_chances():
    p = np.array([0.5, 0.0, 0.3, 0.2])
    counts, weight = multinomial_table(3, p, limit=100)  # type: ignore[misc]
    assert len(counts) == 10  # 3 draws over 3 possible successors: C(5, 2)
    assert (counts.sum(axis=1) == 3).all()
    assert (counts[:, 1] == 0).all()
    np.testing.assert_allclose(weight @ counts, 3 * p, atol=1e-14)
    # 3!/(1!·1!·1!) · .5 · .3 · .2
    assert weight[(counts == [1, 0, 1, 1]).all(axis=1)] == pytest.approx(0.18)
    assert multinomial_table(3, p, limit=9) is None
    # Far in the tail counts are left out, and nothing that matters with them.
    counts, weight = multinomial_table(512, np.full(3, 1 / 3), limit=30_000)  # type: ignore[misc]
    assert len(counts) < 131_841
    np.testing.assert_allclose(weight @ counts, np.full(3, 512 / 3), rtol=1e-13)


def test_drawn_counts_agree_with_enumerated_ones_within_their_standard_error():
    exact = sampled_backup(MDP, KL(), 0.5, 6)(VALUES)
    drawn = sampled_backup(MDP, KL(), 0.5, Draws(6, enumerate_up_to=0, samples=2000))(VALUES)
    errors = (drawn.values - exact.values) / drawn.standard_errors
    assert np.abs(errors).max() < 4.5
    assert 0.5 < np.sqrt((errors**2).mean()) < 1.6  # neither too proud nor too modest
    again = sampled_backup(MDP, KL(), 0.5, Draws(6, enumerate_up_to=0, samples=2000))(VALUES)
    np.testing.assert_array_equal(drawn.values, again.values)


def test_the_fixed_point_of_one_policy():
    policy = np.random.default_rng(0).dirichlet(np.ones(2), size=5)
    exact = robust_policy_evaluation(MDP, policy, KL(), 0.4)
    nominal = robust_policy_evaluation(MDP, policy, KL(), 0.0)
    returns = []
    for n in (1, 2, 8, 32):
        solution = robust_policy_evaluation(MDP, policy, KL(), 0.4, draws=n)
        backup = sampled_backup(MDP, KL(), 0.4, n)(solution.values)
        swept = (policy * (MDP.rewards + 0.9 * backup.values)).sum(axis=1)
        np.testing.assert_allclose(swept, solution.values, rtol=1e-12)
        assert solution.converged
        assert solution.standard_error == 0.0
        returns.append(solution.expected_return)
    # One draw has no spread: nature has no choice. More draws give her more, never all.
    assert returns[0] == pytest.approx(nominal.expected_return, rel=1e-12)
    assert (np.diff([*returns, exact.expected_return]) < 0).all()


@pytest.mark.slow
def test_the_standard_error_of_a_return_covers_the_exact_one():
    policy = np.full((5, 2), 0.5)
    exact = robust_policy_evaluation(MDP, policy, KL(), 0.4, draws=8).expected_return
    pulls = []
    for seed in range(12):
        draws = Draws(8, enumerate_up_to=0, samples=300, seed=seed)
        solution = robust_policy_evaluation(MDP, policy, KL(), 0.4, draws=draws)
        pulls.append((solution.expected_return - exact) / solution.standard_error)
    assert 0.5 < np.sqrt(np.mean(np.square(pulls))) < 1.7


def test_saturation_at_the_sample_minimum():
    """From ε = log n on, the worst case of n draws is their minimum, and β is 0."""
    backup = sampled_backup(MDP, KL(), np.log(4) + 1e-9, 4)(VALUES)
    np.testing.assert_array_equal(backup.multipliers, 0.0)
    s, a = 0, 0
    order = np.argsort(VALUES[MDP.successors[s, a]])
    p, v = MDP.probabilities[s, a, order], VALUES[MDP.successors[s, a, order]]
    above = np.append(1 - np.cumsum(p)[:-1], 0.0)  # chance that one draw exceeds each value
    expected = v @ (np.concatenate([[1.0], above[:-1]]) ** 4 - above**4)
    assert backup.values[s, a] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_gaussian_values_lose_the_known_share_of_the_gap():
    """Of the gap √2·sd at ε = 1, eight draws show .81, sixteen .90 and sixty-four .96."""
    points = np.linspace(-5, 5, 81)
    law = np.exp(-(points**2) / 2)
    mdp = SparseMDP(
        successors=np.broadcast_to(np.arange(81), (81, 1, 81)),
        probabilities=np.concatenate([law[None] / law.sum(), np.eye(81)[1:]])[:, None],
        rewards=np.zeros((81, 1)),
        discount=0.9,
        initial=np.ones(81) / 81,
    )
    for n, share in [(8, 0.81), (16, 0.90), (64, 0.96)]:
        backup = sampled_backup(mdp, KL(), 1.0, Draws(n, samples=20_000))(points)
        assert -backup.values[0, 0] / np.sqrt(2) == pytest.approx(share, abs=0.01)


def test_frozen_lake_shares_one_table_and_errors_name_the_remedy():
    lake = make_instance("frozenlake")
    backup = sampled_backup(lake.to_sparse(), KL(), 0.1, 16)(np.arange(lake.shape[0]) / 10)
    assert backup.converged
    with pytest.raises(InputError, match="stays on the support"):
        robust_policy_evaluation(
            MDP.to_dense(), np.zeros(5, int), Wasserstein.between(VALUES), 0.1, draws=4
        )
    with pytest.raises(InputError, match="at least one draw"):
        Draws(0)
