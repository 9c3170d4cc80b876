"""The adversary as a whole: it finds the worst simulator, repeats itself, and continues exactly."""

from dataclasses import replace

import linear_quadratic as lq
import numpy as np
import pytest

from drspcrl.baselines.wr2l import Adversary, State, positive_definite, worst_step
from drspcrl.config.baselines import WR2LSettings
from drspcrl.envs import BatchEnv, make
from drspcrl.errors import InputError

SMALL = WR2LSettings(epsilon=0.05, pairs=8, states=16)


def linear_quadratic(seeds, settings=SMALL) -> Adversary:
    env = BatchEnv(lq.LinearQuadratic(len(seeds) * 2 * settings.pairs))
    return Adversary(env, seeds, [settings] * len(seeds))


def zero(observations: np.ndarray) -> np.ndarray:
    return np.zeros((*observations.shape[:2], 3), np.float32)


def same(one: list[State], other: list[State]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.phi, b.phi)
        assert (a.updates, a.steps, a.mean_return) == (b.updates, b.steps, b.mean_return)


# Random directions need more of them for the same error.
@pytest.mark.parametrize(("hessian", "states"), [("sensitivity", 1000), ("zeroth_order", 10000)])
def test_it_finds_the_worst_simulator_of_the_linear_quadratic_task(hessian, states):
    settings = WR2LSettings(epsilon=1e-3, pairs=1000, states=states, hessian=hessian, bound=10.0)
    found = linear_quadratic(range(12), settings)
    phis = np.stack([state.phi for state in found.update(found.init(), lq.act)])
    S = np.mean(lq.covariances(np.zeros(3)), axis=0)
    # Units: the standard deviation of one step's change of (position, velocity), mean over both.
    F = lq.closed_loop(np.zeros(3)) - np.eye(2)
    unit = np.sqrt((F @ S @ F.T)[1, 1])
    corners = np.linalg.cholesky(S).T * np.sqrt(2)  # two states with covariance S
    A = lq.sensitivities(corners) / unit
    H = 2 * (A.T @ A / 2) / 2
    expected = worst_step(lq.return_gradient(np.zeros(3)), positive_definite(H, 1.0), 1e-3)
    error = phis.std(axis=0, ddof=1) / np.sqrt(len(phis))
    assert np.all(np.abs(phis.mean(axis=0) - expected) < 4 * error)
    assert np.all(error < 0.05 * np.linalg.norm(expected))
    assert all(lq.mean_return(phi) < lq.mean_return(np.zeros(3)) for phi in phis)


def test_the_gradient_is_taken_where_the_adversary_stands():
    found = linear_quadratic([5], replace(SMALL, pairs=500))
    far = State(np.array([0.5, 0.5, -1.5]), 0, 0, float("nan"))
    (state,) = found.update([far], lq.act)
    assert state.mean_return == pytest.approx(lq.mean_return(far.phi), rel=0.1)


def test_what_it_costs_is_counted():
    found = linear_quadratic([5])
    (state,) = found.update(found.init(), lq.act)
    # 16 episodes of 20 steps; 16 pairs (s, a), each once nominally and ± in 3 parameters.
    assert state.steps == 16 * 20 + 16 * (1 + 2 * 3)
    (state,) = found.update([state], lq.act)
    assert (state.steps, state.updates) == (2 * (16 * 20 + 16 * 7), 2)


def test_a_member_does_not_depend_on_the_others():
    together, alone = linear_quadratic([3, 4]), linear_quadratic([4])
    states = together.update(together.update(together.init(), lq.act), lq.act)
    same(states[1:], alone.update(alone.update(alone.init(), lq.act), lq.act))
    assert not np.array_equal(states[0].phi, states[1].phi)


def test_settings_of_a_run_have_a_prefix():
    names = {f"wr2l_{k}": v for k, v in vars(SMALL).items()}
    assert WR2LSettings.of({**names, "discount": 0.99}) == SMALL


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"pairs": 4}, "give 8"),
        ({"width": 0.0}, "must be above 0"),
        ({"hessian": "exact"}, "choose one of sensitivity, zeroth_order"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, match):
    env = BatchEnv(lq.LinearQuadratic(16))
    with pytest.raises(InputError, match=match):
        Adversary(env, [0], [replace(SMALL, **changes)])


def test_members_that_are_simulated_together_share_their_sizes():
    env = BatchEnv(lq.LinearQuadratic(32))
    with pytest.raises(InputError, match="wr2l_states differs"):
        Adversary(env, [0, 1], [SMALL, replace(SMALL, states=17)])


def hopper(pairs: int, states: int, seeds=(0,)) -> Adversary:
    settings = [replace(SMALL, pairs=pairs, states=states)] * len(seeds)
    return Adversary(make("Hopper", len(seeds) * 2 * pairs), seeds, settings)


def mean_return(adversary: Adversary, phi: np.ndarray) -> float:
    lanes = adversary.trials.lanes
    seeds = [(77, lane) for lane in range(lanes)]
    generators = [np.random.default_rng(0)]
    logs = np.broadcast_to(phi, (1, lanes, len(phi)))
    return adversary.trials.play(logs, seeds, zero, 1000, generators, 1).returns.mean()


def test_on_hopper_the_same_policy_fares_worse_in_the_adversary_s_simulator():
    found = hopper(16, 32)
    nominal = found.init()
    states = found.update(nominal, zero)
    assert mean_return(found, states[0].phi) < mean_return(found, nominal[0].phi) - 5.0
    scales = found.scales(states)
    assert scales.shape == (1, 19)
    assert np.all(scales > 0)
    assert np.abs(states[0].phi).max() <= SMALL.bound
    found.close()


def test_on_hopper_it_repeats_itself_and_continues_exactly():
    found, fresh = hopper(2, 6, (0, 1)), hopper(2, 6, (0, 1))
    first = found.update(found.init(), zero)
    second = found.update(first, zero)
    # A fresh adversary, and the state through plain arrays, as in a checkpoint.
    kept = [{k: np.asarray(v) for k, v in state._asdict().items()} for state in first]
    again = [
        State(k["phi"], int(k["updates"]), int(k["steps"]), float(k["mean_return"])) for k in kept
    ]
    same(fresh.update(again, zero), second)
    same(fresh.update(fresh.init(), zero), first)
    found.close()
    fresh.close()
