"""The best memoryless policies for a family of worlds, deterministic and randomised."""

from itertools import product

import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import (
    MDP,
    WorldFamily,
    best_policy,
    climbed_policy,
    crossings,
    garnet,
    mean_return,
    worst_law,
)
from drspcrl.tabular.self_paced import softmax
from drspcrl.tabular.world_pacing import law_gradient

CROSSINGS = crossings()
PLANK, BRIDGE, ROAD = range(3)


def random_family(seed: int) -> WorldFamily:
    worlds = [garnet(3, 3, 2, discount=0.9, seed=10 * seed + k) for k in range(4)]
    return WorldFamily(worlds, np.random.default_rng(seed).dirichlet(np.ones(4)))


@pytest.mark.parametrize("seed", range(2))
def test_the_best_policy_is_the_best_of_all(seed):
    family = random_family(seed)
    every = list(product(range(3), repeat=3))
    returns = [mean_return(family, np.array(policy)) for policy in every]
    np.testing.assert_array_equal(best_policy(family), every[int(np.argmax(returns))])
    worst = [worst_law(family, np.array(policy), KL(), 0.5).value for policy in every]
    np.testing.assert_array_equal(best_policy(family, KL(), 0.5), every[int(np.argmax(worst))])


def test_equal_actions_are_one_choice():
    """Twelve states with three actions are half a million policies, of which three differ."""
    policy = best_policy(CROSSINGS.at(0.0))
    np.testing.assert_array_equal(policy, [PLANK] + 11 * [0])
    assert best_policy(CROSSINGS.at(1.0))[0] == ROAD
    # A tilt prefers what bears the worst storm.
    assert best_policy(CROSSINGS.at(0.8))[0] == BRIDGE
    assert best_policy(CROSSINGS.at(0.8), KL(), 10.0)[0] == ROAD


@pytest.mark.parametrize(
    ("divergence", "tilt"),
    [(None, 0.0), (KL(), 0.3), (ChiSquared(), 0.3), (Wasserstein.between(np.arange(4.0)), 0.3)],
)
def test_the_gradient_by_central_differences(divergence, tilt):
    family, θ = random_family(5), np.random.default_rng(1).normal(size=(3, 3))
    value, gradient = law_gradient(family, θ, divergence, tilt)
    plain = mean_return(family, softmax(θ))
    assert value == pytest.approx(plain) if divergence is None else value < plain - 0.05
    for s, a in [(0, 0), (1, 2), (2, 1)]:
        shift = np.zeros((3, 3))
        shift[s, a] = 1e-5
        high, low = (law_gradient(family, θ + h, divergence, tilt)[0] for h in (shift, -shift))
        assert gradient[s, a] == pytest.approx((high - low) / 2e-5, rel=1e-6, abs=1e-9)


def keys() -> WorldFamily:
    """A door that action 0 opens in one world and action 1 in the other; behind it, 1 a step."""
    worlds = []
    for key in (0, 1):
        transitions = np.zeros((2, 2, 2))
        transitions[0, key, 1] = transitions[0, 1 - key, 0] = transitions[1, :, 1] = 1
        worlds.append(MDP(transitions, np.array([[0.0, 0.0], [1.0, 1.0]]), 0.9, np.eye(2)[0]))
    return WorldFamily(worlds, np.array([0.5, 0.5]))


def test_where_the_world_is_hidden_a_randomised_policy_may_be_best():
    """One key opens half of the doors: ½·.9·10 = 4.5. Each half of the time: .45·10/.55 = 8.18."""
    family = keys()
    assert mean_return(family, best_policy(family)) == pytest.approx(4.5)
    climbed = climbed_policy(family, logits=np.array([[1.5, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(climbed[0], 0.5, atol=1e-6)
    assert mean_return(family, climbed) == pytest.approx(4.5 / 0.55)


@pytest.mark.parametrize("divergence", [None, KL()])
def test_the_climb_ends_at_least_as_high_as_the_best_deterministic_policy(divergence):
    tilt = 0.0 if divergence is None else 0.4

    def value(family, policy):
        return worst_law(family, policy, KL(), tilt).value

    for seed in range(3):
        family = random_family(seed)
        best = best_policy(family, divergence, tilt)
        # From near the best deterministic policy; this is a local search.
        climbed = climbed_policy(family, divergence, tilt, logits=4.0 * np.eye(3)[best])
        assert value(family, climbed) >= value(family, best) - 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: best_policy(WorldFamily([garnet(12, 4, 2)], np.ones(1))), "too many to try"),
        (lambda: best_policy(random_family(0), tilt=0.1), "without a divergence"),
        (lambda: climbed_policy(random_family(0), tilt=0.1), "without a divergence"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
