"""Robust values against hand-worked cases, another library, brute force and each other."""

import warnings

import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import (
    MDP,
    garnet,
    make_instance,
    robust_policy_evaluation,
    robust_policy_iteration,
    robust_value_iteration,
)
from drspcrl.tabular.backup import exact_backup, working_form

# State 0 pays 1 and is kept with probability 0.9; state 1 pays nothing for ever.
TWO_STATES = MDP(
    transitions=np.array([[[0.9, 0.1]], [[0.0, 1.0]]]),
    rewards=np.array([[1.0], [0.0]]),
    discount=0.9,
    initial=np.array([1.0, 0.0]),
)
LINE = Wasserstein(np.array([[0.0, 1.0], [1.0, 0.0]]))


def divergences_on(states: int):
    places = np.arange(states) / states
    return [
        KL(),
        ChiSquared(),
        TotalVariation(),
        CVaR(),
        CressieRead(0.5),
        Wasserstein.between(places),
        Wasserstein.between(places, order=2.0),
    ]


NAMES = ["kl", "chi2", "tv", "cvar", "cressie_read", "w1", "w2"]


@pytest.mark.parametrize(
    ("divergence", "radius", "kept"),
    [
        # V(1) = 0 and V(0) = 1 + 0.9 q V(0), where q is the least chance to stay in state 0.
        # KL: ε = log(5/3) = ½ log(.5/.9) + ½ log(.5/.1) is the distance of q = ½ from 0.9.
        (KL(), np.log(5 / 3), 0.5),
        # χ²: (q − .9)²/(.9·.1) = 1 at q = .6.
        (ChiSquared(), 1.0, 0.6),
        # TV moves ε = .1 of mass.
        (TotalVariation(), 0.1, 0.8),
        # CVaR: the chance to fall, .1, may be tripled.
        (CVaR(), np.log(3), 0.7),
        # Wasserstein on two points at distance 1 moves ε = .3 of mass.
        (LINE, 0.3, 0.6),
        # Past every ball's saturation nothing is kept: V(0) = 1.
        (KL(), 3.0, 0.0),
        (TotalVariation(), 0.95, 0.0),
    ],
)
def test_two_states_by_hand(divergence, radius, kept):
    solution = robust_policy_evaluation(TWO_STATES, [0, 0], divergence, radius)
    expected = 1 / (1 - 0.9 * kept)
    np.testing.assert_allclose(solution.values, [expected, 0.0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(solution.kernel[0, 0], [kept, 1 - kept], rtol=1e-8, atol=1e-12)
    # d(0) = (1−γ) Σ (γq)ᵗ = 0.1 V(0).
    np.testing.assert_allclose(solution.occupancy[:, 0], [0.1 * expected, 1 - 0.1 * expected])
    assert solution.converged
    assert solution.expected_return == pytest.approx(expected, rel=1e-13)


def test_two_states_multiplier_by_hand():
    # TV, ε = .1: V(0) = 1/(1 − .72) = 3.5714; U = (.9 − ε)V(0), so β = V(0) in state 0, 0 in 1.
    solution = robust_policy_evaluation(TWO_STATES, [0, 0], TotalVariation(), 0.1)
    np.testing.assert_allclose(solution.multipliers[:, 0], [1 / 0.28, 0.0])
    # dJ/dε = d/dε 1/(1 − .9(.9 − ε)) = −.9/.28², and the envelope says −9·d(0)·β(0).
    assert -9 * solution.mean_multiplier == pytest.approx(-0.9 / 0.28**2)


@pytest.mark.parametrize("name", ["frozenlake", "garnet", "inventory", "machine", "riverswim"])
def test_radius_zero_equals_pymdptoolbox(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mdptoolbox.mdp import PolicyIteration

        mdp = make_instance(name).to_dense()
        other = PolicyIteration(
            mdp.transitions.transpose(1, 0, 2).copy(), mdp.rewards.copy(), mdp.discount
        )
        other.run()
    for solver in (robust_value_iteration, robust_policy_iteration):
        solution = solver(mdp, KL(), 0.0)
        np.testing.assert_allclose(solution.values, other.V, rtol=1e-9, atol=1e-10)
        assert solution.converged
        np.testing.assert_array_equal(solution.kernel, mdp.transitions)


@pytest.mark.parametrize(
    ("divergence", "radius"),
    [(d, e) for d in divergences_on(12) for e in (0.05, 0.4)],
    ids=[f"{n}-{e}" for n in NAMES for e in (0.05, 0.4)],
)
def test_solvers_agree_with_plain_sweeps_and_each_other(divergence, radius):
    mdp = garnet(states=12, actions=3, successors=4, discount=0.8, seed=1).to_dense()
    backup = exact_backup(working_form(mdp, divergence), divergence, radius)
    swept = np.zeros(12)
    for _ in range(150):  # 0.8¹⁵⁰ = 3e-15
        swept = (mdp.rewards + mdp.discount * backup(swept).values).max(axis=1)
    iterated = robust_value_iteration(mdp, divergence, radius)
    improved = robust_policy_iteration(mdp, divergence, radius)
    evaluated = robust_policy_evaluation(mdp, improved.policy, divergence, radius)
    for solution in (iterated, improved, evaluated):
        assert solution.converged
        np.testing.assert_allclose(solution.values, swept, rtol=0, atol=2e-10)
    assert evaluated.iterations <= 10


@pytest.mark.parametrize("divergence", divergences_on(12)[:5], ids=NAMES[:5])
def test_dense_and_sparse_agree(divergence):
    sparse = garnet(states=12, actions=3, successors=4, seed=5)
    dense = sparse.to_dense()
    policy = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    for solver, arguments in [
        (robust_policy_evaluation, (policy,)),
        (robust_value_iteration, ()),
        (robust_policy_iteration, ()),
    ]:
        a = solver(sparse, *arguments, divergence, 0.2)
        b = solver(dense, *arguments, divergence, 0.2)
        np.testing.assert_allclose(a.values, b.values, rtol=1e-13)
        np.testing.assert_allclose(a.occupancy, b.occupancy, rtol=1e-12, atol=1e-15)
        assert a.kernel.shape == sparse.probabilities.shape
        assert b.kernel.shape == dense.transitions.shape
        there = np.take_along_axis(b.kernel, sparse.successors, axis=-1)
        np.testing.assert_allclose(a.kernel, there, atol=1e-13)


@pytest.mark.parametrize("divergence", divergences_on(12), ids=NAMES)
def test_the_kernel_is_a_worst_case(divergence):
    """Evaluated as an ordinary MDP, it has the robust value; nominal and random ones have more."""
    mdp = garnet(states=12, actions=3, successors=4, seed=2).to_dense()
    solution = robust_value_iteration(mdp, divergence, 0.3)
    adversary = MDP(solution.kernel, mdp.rewards, mdp.discount, mdp.initial)
    ordinary = robust_policy_evaluation(adversary, solution.policy, KL(), 0.0)
    np.testing.assert_allclose(ordinary.values, solution.values, rtol=1e-10)
    np.testing.assert_allclose(ordinary.occupancy, solution.occupancy, atol=1e-10)
    # Halfway to the nominal kernel still lies in a convex ball, so it cannot be worse.
    halfway = (solution.kernel + mdp.transitions) / 2
    softer = MDP(halfway, mdp.rewards, mdp.discount, mdp.initial)
    softened = robust_policy_evaluation(softer, solution.policy, KL(), 0.0)
    assert (softened.values >= solution.values - 1e-10).all()
    assert softened.values.mean() > solution.values.mean() + 1e-3


@pytest.mark.parametrize("divergence", divergences_on(12), ids=NAMES)
def test_the_robust_operator_contracts_and_is_monotone(divergence):
    mdp = garnet(states=12, actions=3, successors=4, discount=0.9, seed=3).to_dense()
    backup = exact_backup(working_form(mdp, divergence), divergence, 0.2)
    generator = np.random.default_rng(0)
    for _ in range(10):
        v, w = generator.normal(size=(2, 12)) * 10
        tv = (mdp.rewards + 0.9 * backup(v).values).max(axis=1)
        tw = (mdp.rewards + 0.9 * backup(w).values).max(axis=1)
        assert np.abs(tv - tw).max() <= 0.9 * np.abs(v - w).max() + 1e-9
        above = backup(v + np.abs(w)).values
        assert (above >= backup(v).values - 1e-9).all()


def test_robust_values_fall_with_the_radius_to_the_safest_path():
    mdp = make_instance("garnet")
    returns = [robust_value_iteration(mdp, KL(), e).expected_return for e in (0, 0.1, 0.5, 2, 50)]
    assert (np.diff(returns) < 0).all()
    # Past saturation nature picks the worst successor: a game on the support.
    values = np.zeros(mdp.shape[0])
    for _ in range(700):
        values = (mdp.rewards + 0.95 * values[mdp.to_sparse().successors].min(axis=-1)).max(axis=1)
    assert returns[-1] == pytest.approx(mdp.initial @ values, rel=1e-10)


def test_point_masses_make_every_support_ball_empty():
    mdp = MDP(np.eye(3)[[[1], [2], [0]]], np.arange(3.0)[:, None], 0.9, np.ones(3) / 3)
    nominal = robust_value_iteration(mdp, KL(), 0.0)
    for divergence in divergences_on(3)[:5]:
        robust = robust_value_iteration(mdp, divergence, 5.0)
        np.testing.assert_allclose(robust.values, nominal.values, rtol=1e-12)
        assert robust.mean_multiplier == 0.0
    moved = robust_value_iteration(mdp, Wasserstein.between(np.arange(3.0)), 0.5)
    assert moved.expected_return < nominal.expected_return - 0.1


def test_infinite_multipliers_at_radius_zero_count_only_where_visited():
    solution = robust_policy_evaluation(TWO_STATES, [0, 0], KL(), 0.0)
    assert solution.mean_multiplier == np.inf
    # √2·sd of V(s') at radius 0: √2 · .3 · V(0), seen 0.1·V(0) of the time; V(0) = 1/.19.
    assert solution.mean_slope == pytest.approx(np.sqrt(2) * 0.3 / 0.19 * 0.1 / 0.19)


def test_wasserstein_wants_the_dense_form():
    with pytest.raises(InputError, match=r"give mdp\.to_dense\(\)"):
        robust_value_iteration(TWO_STATES.to_sparse(), LINE, 0.1)


@pytest.mark.parametrize("radius", [-0.1, float("nan")])
def test_a_wrong_radius_is_an_error(radius):
    with pytest.raises(InputError, match="radius is"):
        robust_value_iteration(TWO_STATES, KL(), radius)


@pytest.mark.parametrize("states", [200, 800])
def test_large_systems_are_solved_sparsely_to_the_same_accuracy(states):
    """SuperLU up to 600 states, GMRES above: values and occupancy satisfy their equations."""
    mdp = garnet(states=states, actions=2, successors=4, discount=0.99, seed=0)
    solution = robust_policy_evaluation(mdp, np.full((states, 2), 0.5), KL(), 0.3)
    assert solution.converged
    assert solution.residual / 0.01 < 1e-8
    assert solution.occupancy.sum() == pytest.approx(1.0)
    kernel = solution.kernel * 0.5
    inflow = np.zeros(states)
    np.add.at(inflow, mdp.successors, kernel * solution.occupancy.sum(axis=1)[:, None, None])
    balance = 0.01 * mdp.initial + 0.99 * inflow
    np.testing.assert_allclose(solution.occupancy.sum(axis=1), balance, atol=1e-12)
