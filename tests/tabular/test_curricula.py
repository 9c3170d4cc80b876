"""Every curriculum drives Algorithm 1 without estimates."""

import numpy as np
import pytest

from drspcrl.curricula import CURRICULA, Yoked, curriculum
from drspcrl.divergences import KL
from drspcrl.tabular import garnet, robust_policy_evaluation, robust_value_iteration
from drspcrl.tabular.self_paced import Training, train

MDP = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2)
BUDGET = 0.6


def trained(rule, iterations=40) -> Training:
    return train(MDP, KL(), rule, iterations=iterations, learning_rate=1.0, normalized=True)


def made(method, iterations=40):
    return curriculum(method, {"epsilon_budget": BUDGET}, iterations, MDP.discount, KL())


@pytest.mark.parametrize("method", CURRICULA)
def test_every_method_trains_and_stays_in_its_budget(method):
    run = trained(made(method))
    assert ((run.radii >= 0) & (run.radii <= BUDGET)).all()
    best = robust_value_iteration(MDP, KL(), BUDGET).expected_return
    start = robust_policy_evaluation(MDP, np.full((5, 2), 0.5), KL(), BUDGET).expected_return
    end = robust_policy_evaluation(MDP, run.policy, KL(), BUDGET).expected_return
    assert end <= best + 1e-9
    assert end > start + 0.5 * (best - start)  # all of them learn most of it


def test_methods_go_their_own_ways():
    radii = {method: trained(made(method), 12).radii for method in CURRICULA}
    assert (radii["vanilla"] == 0).all()
    assert (radii["nominal"] == 0).all()
    assert (radii["fixed"] == BUDGET).all()
    np.testing.assert_allclose(radii["linear"], BUDGET * np.arange(13) / 40)
    np.testing.assert_allclose(np.sqrt(radii["linear_radius"] / BUDGET), np.arange(13) / 40)
    assert len(np.unique(radii["domain_randomization"])) == 13
    assert (np.diff(radii["space"]) >= 0).all()
    assert radii["space"][-1] > 0
    assert radii["accel"].max() <= 0.2 * BUDGET
    assert (np.diff(radii["self_paced"]) > 0).all()


def test_yoked_replays_self_paced():
    paced = trained(made("self_paced"))
    yoked = trained(Yoked(start=0.0, iterations=40, curve=tuple(paced.radii.tolist())))
    np.testing.assert_allclose(yoked.radii, paced.radii, atol=1e-15)
    np.testing.assert_allclose(yoked.robust_returns, paced.robust_returns, rtol=1e-9)


def test_a_run_twice_as_long_takes_the_same_path_in_half_steps():
    short, long = trained(made("self_paced"), 40), trained(made("self_paced", 80), 80)
    assert long.radii[-1] == pytest.approx(short.radii[-1], rel=0.05)
