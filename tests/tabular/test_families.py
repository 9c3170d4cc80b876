"""Families of worlds: values in each, the worst case over the law, and what it is no bound for."""

import numpy as np
import pytest
from scipy.optimize import linprog

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import (
    MDP,
    WorldFamily,
    garnet,
    hull_values,
    mean_return,
    relay,
    robust_policy_evaluation,
    world_returns,
    world_values,
    worst_law,
)
from drspcrl.tabular.solvers import nominal_return
from theory import check_law_envelope

WORLDS = 6
PLACES = np.random.default_rng(3).normal(size=(WORLDS, 2))
DIVERGENCES = {
    "kl": KL(),
    "chi2": ChiSquared(),
    "tv": TotalVariation(),
    "cvar": CVaR(),
    "cressie_read": CressieRead(0.5),
    "w1": Wasserstein.between(PLACES),
    "w2": Wasserstein.between(PLACES, order=2.0),
}
RADII = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.8)


def random_family(seed: int, worlds: int = WORLDS, states: int = 5) -> WorldFamily:
    members = [
        garnet(states=states, actions=2, successors=3, discount=0.9, seed=100 * seed + k)
        for k in range(worlds)
    ]
    return WorldFamily(members, np.random.default_rng(seed).dirichlet(np.ones(worlds)))


FAMILY = random_family(0)
POLICY = np.random.default_rng(0).dirichlet(np.ones(2), size=5)


@pytest.mark.parametrize("policy", [POLICY, [0, 1, 1, 0, 1]], ids=["stochastic", "deterministic"])
def test_the_value_of_every_world_is_its_own_mdps(policy):
    returns = [nominal_return(world, policy) for world in FAMILY.worlds]
    np.testing.assert_allclose(world_returns(FAMILY, policy), returns, rtol=1e-14)
    assert mean_return(FAMILY, policy) == pytest.approx(FAMILY.law @ returns, rel=1e-14)
    # V = r + γPV where the world is held.
    values = world_values(FAMILY, policy)
    pi = POLICY if np.ndim(policy) == 2 else np.eye(2)[policy]
    backup = FAMILY.rewards + 0.9 * np.einsum("ksat,kt->ksa", FAMILY.transitions, values)
    np.testing.assert_allclose((pi * backup).sum(axis=-1), values, rtol=1e-13)


def test_two_worlds_by_hand():
    """One state that pays 1 or 2 for ever: J = 10 and 20. TV .1 moves .1 from the better one."""
    worlds = [MDP(np.ones((1, 1, 1)), np.array([[pay]]), 0.9, np.ones(1)) for pay in (1.0, 2.0)]
    family = WorldFamily(worlds, np.array([0.25, 0.75]))
    found = worst_law(family, [0], TotalVariation(), 0.1)
    np.testing.assert_allclose(found.returns, [10.0, 20.0])
    np.testing.assert_allclose(found.law, [0.35, 0.65])
    assert found.value == pytest.approx(16.5)
    assert found.multiplier == pytest.approx(10.0)
    assert mean_return(family, [0]) == pytest.approx(17.5)
    # The transport to a world at distance 2 costs 2 a unit: half as much is moved.
    apart = Wasserstein(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert worst_law(family, [0], apart, 0.1).value == pytest.approx(17.0)
    # KL saturates at log(1/.25): only the worse world is left.
    assert worst_law(family, [0], KL(), np.log(4)).value == pytest.approx(10.0)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
def test_the_worst_case_over_the_law_falls_from_the_mean_to_the_worst_world(divergence):
    found = [worst_law(FAMILY, POLICY, divergence, radius) for radius in (0.0, *RADII, 50.0)]
    values = np.array([one.value for one in found])
    assert values[0] == pytest.approx(mean_return(FAMILY, POLICY), rel=1e-14)
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] == pytest.approx(found[0].returns.min(), rel=1e-12)
    for one in found:
        assert one.converged
        assert one.law @ one.returns == pytest.approx(one.value, rel=1e-12)
        assert one.law.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=DIVERGENCES)
def test_the_return_falls_with_the_tilt_as_the_multiplier_says(divergence):
    checks = [check_law_envelope(FAMILY, POLICY, divergence, radius) for radius in RADII]
    comparable = [check for check in checks if check.comparable]
    assert len(comparable) >= 5  # kinks are rare
    for check in comparable:
        assert check.relative_error < 1e-5
    assert min(check.analytic for check in comparable) < -0.1


def test_the_slope_in_the_root_is_finite_where_the_multiplier_is_not():
    zero = worst_law(FAMILY, POLICY, KL(), 0.0)
    spread = np.sqrt(FAMILY.law @ (zero.returns - zero.value) ** 2)
    assert zero.multiplier == np.inf
    assert zero.slope == pytest.approx(np.sqrt(2) * spread, rel=1e-12)


def nonlinear_hull(family: WorldFamily, policy: np.ndarray) -> np.ndarray:
    """The hull's value by plain sweeps of its own equation."""
    values = np.zeros(family.shape[0])
    support = family.law > 0
    for _ in range(600):
        backup = family.rewards[support] + family.discount * family.transitions[support] @ values
        values = (policy * backup.min(axis=0)).sum(axis=-1)
    return values


@pytest.mark.parametrize("seed", range(8))
def test_held_worlds_are_at_least_the_rectangular_hull_of_their_support(seed):
    """E_q J ≥ min over the support ≥ hull, for every ball on the support, and strictly here."""
    generator = np.random.default_rng(seed)
    law = generator.dirichlet(np.ones(WORLDS))
    law[seed % WORLDS] = 0.0
    family = random_family(seed).under(law / law.sum())
    policy = generator.dirichlet(np.ones(2), size=5)
    hull = hull_values(family, policy)
    np.testing.assert_allclose(hull, nonlinear_hull(family, policy), atol=1e-11)
    support = family.law > 0
    least = world_values(family, policy)[support].min(axis=0)
    assert (hull < least - 0.1).all()  # nature gains by choosing again in every (s,a)
    for name in ("kl", "chi2", "tv", "cvar", "cressie_read"):
        for radius in (0.1, 1.0, 10.0):
            found = worst_law(family, policy, DIVERGENCES[name], radius)
            assert (found.law[~support] == 0).all()
            assert found.value >= world_returns(family, policy)[support].min() - 1e-12
            assert found.value > family.initial @ hull


def test_the_hull_of_one_world_is_the_world():
    one = FAMILY.under(np.eye(WORLDS)[2])
    np.testing.assert_allclose(hull_values(one, POLICY), world_values(one, POLICY)[2], rtol=1e-14)


def test_held_worlds_are_no_ball_around_the_mean_kernel_and_no_redrawing():
    """World 1 moves A to B, world 2 moves B to the goal, γ = .9; the goal pays 1 a step.

    Held, neither world arrives: 0. Redrawn, B is left with ½ a step: V_B = .45·10/.55 = 8.18, and
    V_A = .45·V_B/.55 = 6.69. A KL ball of .3 around every row takes ½ to q = .1336, so that
    V_A = 10·(.9q/(1 − .9(1 − q)))² = 2.98.
    """
    family = relay()
    np.testing.assert_array_equal(world_returns(family, [0, 0, 0]), [0.0, 0.0])
    redrawn = family.redrawn()
    assert nominal_return(redrawn, [0, 0, 0]) == pytest.approx(10 * (0.45 / 0.55) ** 2)
    assert round(nominal_return(redrawn, [0, 0, 0]), 2) == 6.69
    rectangular = robust_policy_evaluation(redrawn, [0, 0, 0], KL(), 0.3)
    assert round(rectangular.expected_return, 2) == 2.98
    q = rectangular.kernel[0, 0, 1]
    assert q == pytest.approx(0.1336, abs=5e-5)
    assert q * np.log(2 * q) + (1 - q) * np.log(2 * (1 - q)) == pytest.approx(0.3)
    assert rectangular.expected_return == pytest.approx(10 * (0.9 * q / (0.1 + 0.9 * q)) ** 2)
    # So no law over held worlds is above either of them, while the hull stays below, at 0.
    held = worst_law(family, [0, 0, 0], KL(), 0.3).value
    hull = family.initial @ hull_values(family, [0, 0, 0])
    assert hull <= held == 0.0 < rectangular.expected_return < nominal_return(redrawn, [0, 0, 0])


def transport_program(returns, law, cost, budget):
    """The least Σ q J over couplings of the law that cost at most the budget, by HiGHS."""
    n = len(law)
    rows = np.kron(np.eye(n), np.ones(n))
    found = linprog(
        np.tile(returns, n), A_ub=cost.reshape(1, -1), b_ub=[budget], A_eq=rows, b_eq=law
    )
    return found.fun


@pytest.mark.parametrize("order", [1.0, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_worst_law_of_a_transport_ball_has_one_atom_more_than_the_nominal_law(order, seed):
    """A linear program with one budget beside n marginals has a vertex of n + 1 moves.

    Around the simulator alone, n = 1, these are two atoms, of which the simulator may be one.
    """
    generator = np.random.default_rng(seed)
    places = np.concatenate([np.zeros((1, 2)), generator.normal(size=(23, 2))])
    family = random_family(seed, worlds=24, states=4)
    policy = generator.dirichlet(np.ones(2), size=4)
    divergence = Wasserstein.between(places, order)
    for atoms in (1, 3):
        law = np.zeros(24)
        law[:atoms] = 1 / atoms
        for radius in (0.2, 0.6, 1.0):
            found = worst_law(family.under(law), policy, divergence, radius)
            assert (found.law > 1e-12).sum() <= atoms + 1
            cost = divergence.cost**order
            best = transport_program(found.returns, law, cost, radius**order)
            assert found.value == pytest.approx(best, rel=1e-9)


def test_atoms_beyond_the_nominal_law_may_be_more_than_two():
    """Each of three nominal worlds has a bad neighbour of its own: three new atoms."""
    pays = [2.0, 2.0, 2.0, 1.0, 1.1, 1.2]
    worlds = [MDP(np.ones((1, 1, 1)), np.array([[pay]]), 0.5, np.ones(1)) for pay in pays]
    family = WorldFamily(worlds, np.array([1, 1, 1, 0, 0, 0]) / 3)
    places = np.array([0.0, 10.0, 20.0, 1.0, 11.0, 21.0])
    found = worst_law(family, [0], Wasserstein.between(places), 1.0)
    np.testing.assert_allclose(found.law, [0, 0, 0, 1 / 3, 1 / 3, 1 / 3], atol=1e-12)


ONE = garnet(states=3, actions=2, successors=2, discount=0.9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WorldFamily([], np.ones(0)), "give at least one MDP"),
        (lambda: WorldFamily([ONE, "storm"], np.ones(2) / 2), "'str'"),  # type: ignore[list-item]
        (lambda: WorldFamily([ONE], np.ones(2) / 2), r"law has shape \(2,\); it must be \(1,\)"),
        (lambda: WorldFamily([ONE, ONE], np.ones(2)), "must sum to 1"),
        (lambda: WorldFamily([ONE, ONE], np.array([1.5, -0.5])), "cannot be negative"),
        (
            lambda: WorldFamily([ONE, garnet(3, 2, 2, discount=0.8)], np.ones(2) / 2),
            r"worlds\[1\] has discount 0.8, worlds\[0\] has 0.9; all worlds",
        ),
        (lambda: WorldFamily([ONE, garnet(4, 2, 2, 0.9)], np.ones(2) / 2), r"shape \(4, 2\)"),
        (
            lambda: WorldFamily(
                [ONE.to_dense(), MDP(ONE.to_dense().transitions, ONE.rewards, 0.9, np.eye(3)[0])],
                np.ones(2) / 2,
            ),
            r"worlds\[1\] has initial \[1.0, 0.0, 0.0\]",
        ),
        (lambda: worst_law(FAMILY, POLICY, KL(), -0.1), "radius is -0.1"),
        (lambda: world_values(FAMILY, [0, 0, 0, 0, 7]), "actions from 0 to 7"),
        (lambda: worst_law(FAMILY, POLICY, Wasserstein(np.zeros((1, 1))), 0.1), "6 values, but"),
    ],
)
def test_wrong_families_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
