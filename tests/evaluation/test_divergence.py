"""A simulation that leaves the numbers is counted, and nobody else notices."""

import numpy as np

from drspcrl.evaluation import Suite, evaluate
from drspcrl.perturbations import Perturbation

MILD = [None, Perturbation("action", 0.2)]
# Motors a billion times too strong: MuJoCo gives up within a few steps.
WILD = Perturbation("scale", 1e9, {"parameter": "gear"})


def test_divergence_in_physics_is_counted_and_stays_where_it_is(make_network):
    policy = make_network("HalfCheetah")
    suite = Suite("wild", [*MILD, WILD])
    table = evaluate(policy, "HalfCheetah", suite, episodes=2, simulations=6)
    alone = evaluate(policy, "HalfCheetah", Suite("mild", MILD), episodes=2, simulations=4)
    np.testing.assert_array_equal(table.returns[:4], alone.returns)
    assert table.diverged.tolist() == [False] * 4 + [True] * 2
    assert np.all(table.length[4:] < 1000)
    assert table.info["diverged"] == {"scale[gear]=1000000000": 2}
    assert alone.info["diverged"] == {}


def test_an_environment_that_gives_nan_is_counted(counter):
    class Breaks(counter):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            # In about half of the episodes; the start state is the observation's first number.
            broken = self._start > 0.5 and self._step == 3
            return observation, np.nan if broken else reward, *rest

    table = evaluate(
        lambda o: np.ones((len(o), 1)), Breaks, Suite("one", [None]), episodes=60, simulations=7
    )
    assert 10 < table.diverged.sum() < 50
    assert set(table.length[table.diverged]) == {3}
    assert set(table.returns[~table.diverged]) == {5.0}
    assert table.info["diverged"] == {"none": int(table.diverged.sum())}
