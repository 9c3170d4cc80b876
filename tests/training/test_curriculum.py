"""The curricula of a population: each member's own, all from one signal."""

from pathlib import Path

import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.errors import InputError
from drspcrl.training import TrainConfig
from drspcrl.training.curriculum import Curricula

METHODS = ("vanilla", "nominal", "fixed", "linear", "self_paced", "self_paced:pacing=3", "yoked")


def curricula(methods=METHODS, seeds=(0,)) -> Curricula:
    given = {"methods": methods, "seeds": seeds, "uncertainty": "transitions"}
    config = TrainConfig("Hopper", "sac", Path("runs"), **given)
    return Curricula(config, length=100_000, divergence=KL())


def told(members: int, slope: float = 0.5) -> dict[str, np.ndarray]:
    numbers = ("multiplier", "robust_value", "start_value", "value_spread", "reward_scale")
    signal = {name: np.ones(members) for name in numbers}
    return {**signal, "slope": np.full(members, slope), "draws": np.ones((members, 4, 8))}


def test_every_member_follows_its_own_method():
    population = curricula()
    np.testing.assert_allclose(population.epsilon[:3], [0.0, 0.0, 1.0])
    for _ in range(10):
        population.update(told(7), np.zeros(7))
    ε = population.epsilon
    assert ε[3] == pytest.approx(0.1)  # a tenth of the run
    # ρ ← ρ − λ(slope/E|r| + 2α(ρ − 1)) with λ = 2/100, from 0: ρ* = 1 − slope/2α
    for k, α in ((4, 1.0), (5, 3.0)):
        ρ = (1 - 0.25 / α) * (1 - (1 - 0.04 * α) ** 10)
        assert ε[k] == pytest.approx(ρ**2)


def test_yoked_members_use_the_mean_of_the_self_paced_in_the_same_iteration():
    methods = ("yoked", "self_paced", "self_paced:pacing=3", "yoked:pacing=3")
    population = curricula(methods, (0, 1))
    slopes = np.linspace(0.1, 0.8, 8)
    for _ in range(3):
        ε = population.update(told(8) | {"slope": slopes}, np.zeros(8))
        assert len(np.unique(ε[2:6])) == 4
        np.testing.assert_allclose(ε[:2], ε[2:4].mean())
        np.testing.assert_allclose(ε[6:], ε[4:6].mean())  # each its own variant's


def test_nobody_to_follow_is_an_error_before_training():
    with pytest.raises(InputError, match="'yoked' replays the mean radius of 'self_paced', which"):
        curricula(("fixed", "yoked"))
    with pytest.raises(InputError, match="of 'self_paced:pacing=3', which is not among"):
        curricula(("self_paced", "yoked:pacing=3"))


def test_saved_and_restored_continues_the_same():
    methods = ("domain_randomization", "accel", "space", "self_paced:epsilon_spread=0.1")
    one, other = curricula(methods, (0, 1)), curricula(methods, (0, 1))
    draws = np.random.default_rng(0).normal(size=(8, 4, 8))
    for _ in range(5):
        one.update(told(8) | {"draws": draws}, np.zeros(8))
    other.restore(one.trees())
    for _ in range(5):
        ε = one.update(told(8) | {"draws": draws}, np.zeros(8))
        np.testing.assert_array_equal(other.update(told(8) | {"draws": draws}, np.zeros(8)), ε)


def test_nothing_moves_before_anything_is_known():
    population = curricula(("self_paced", "space", "accel"))
    before = population.epsilon
    unknown = {name: np.full_like(values, np.nan) for name, values in told(3).items()}
    for nothing in ({}, unknown):
        np.testing.assert_array_equal(population.update(nothing, np.full(3, np.nan)), before)
