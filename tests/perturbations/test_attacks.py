"""Attacks on policies whose answer is known."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.evaluation import Suite
from drspcrl.perturbations import Perturbation, parse
from drspcrl.perturbations.attacks import (
    ActionDifference,
    CriticDescent,
    Search,
    Target,
    Uniform,
)

ROWS, SIZE = 5, 8


@dataclass
class Linear:
    """Actions W s."""

    weights: np.ndarray

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        return observations @ self.weights.T

    def vjp(self, observations: np.ndarray) -> Any:
        return self(observations), lambda cotangent: cotangent @ self.weights


@dataclass
class LinearCritic:
    """V = ⟨v, s⟩."""

    slope: np.ndarray

    def gradient(self, seen: np.ndarray, true: np.ndarray, policy: Any) -> np.ndarray:
        return np.broadcast_to(self.slope, seen.shape)


def attacked(attack, actions: int = 1, seed: int = 0):
    """A policy, its scale, radii that differ by row, and δ."""
    random = np.random.default_rng(seed)
    policy = Linear(random.normal(size=(actions, SIZE)))
    scale = random.uniform(0.1, 3.0, SIZE)
    critic = LinearCritic(random.normal(size=SIZE))
    observations = random.normal(size=(ROWS, SIZE))
    target = Target(observations, scale, policy, policy, critic)
    radius = np.linspace(0.0, 0.4, ROWS)[:, None]
    shift = attack.shift(target, radius, random.random((ROWS, attack.draws(SIZE))))
    return policy, scale, critic, radius, shift


@pytest.mark.parametrize("steps", [1, 10, 37])
def test_the_action_attack_on_a_linear_policy_is_the_closed_form(steps):
    """max |⟨w, D δ⟩| over |δ|∞ ≤ ε is ε‖D w‖₁, at δ = ± ε sign w."""
    for seed in range(5):
        policy, scale, _, radius, shift = attacked(ActionDifference(steps), seed=seed)
        closed = radius * np.sign(policy.weights[0] * scale)
        sign = np.sign(np.sum(shift * closed, axis=1, keepdims=True))
        np.testing.assert_allclose(shift, sign * closed, rtol=1e-9, atol=0)


def test_with_several_actions_it_comes_near_the_best_corner():
    """|W D δ|² is convex, so that its maximum is one of the 2^8 corners."""
    shares = []
    for seed in range(20):
        policy, scale, _, radius, shift = attacked(ActionDifference(20), actions=3, seed=seed)
        corners = np.array(list(product([-1.0, 1.0], repeat=SIZE)))
        best = np.linalg.norm(policy(corners * scale), axis=1).max()
        shares += list(np.linalg.norm(policy(shift * scale), axis=1)[1:] / (best * radius[1:, 0]))
    assert max(shares) <= 1 + 1e-9
    assert np.mean(shares) > 0.9  # of single starts some end at a lesser corner


def test_the_critic_attack_on_a_linear_critic_is_the_closed_form():
    _, scale, critic, radius, shift = attacked(CriticDescent(10))
    np.testing.assert_allclose(shift, -radius * np.sign(critic.slope * scale), rtol=1e-9, atol=0)


def test_questions_alone_find_the_closed_form():
    policy, scale, _, radius, shift = attacked(Search(400))
    moved = np.abs((scale * shift) @ policy.weights[0])
    best = radius[:, 0] * np.abs(policy.weights[0] * scale).sum()
    np.testing.assert_allclose(moved, best, rtol=1e-9)


def test_more_questions_are_never_worse():
    moved = []
    for queries in (1, 5, 25, 125):
        random = np.random.default_rng(3)
        policy = Linear(random.normal(size=(4, SIZE)))
        target = Target(np.zeros((ROWS, SIZE)), np.ones(SIZE), policy)
        drawn = random.random((ROWS, 125 * SIZE))[:, : queries * SIZE]
        shift = Search(queries).shift(target, np.ones((ROWS, 1)), drawn)
        moved.append(np.square(policy(shift)).sum(axis=1).mean())
    assert moved == sorted(moved)
    assert moved[-1] > 1.5 * moved[0]


@pytest.mark.parametrize("attack", [Uniform(), ActionDifference(), CriticDescent(), Search(10)])
def test_no_attack_leaves_its_box(attack):
    *_, radius, shift = attacked(attack, actions=2)
    assert np.all(np.abs(shift) <= radius)
    assert not np.any(shift[0])
    assert np.all(np.any(shift[1:], axis=1))


def test_the_random_attack_is_uniform():
    target = Target(np.zeros((1, SIZE)), np.ones(SIZE), Linear(np.ones((1, SIZE))))
    drawn = np.linspace(0.0, 1.0, SIZE)[None]
    shift = Uniform().shift(target, np.full((1, 1), 0.5), drawn)
    np.testing.assert_allclose(shift[0], np.linspace(-0.5, 0.5, SIZE), atol=1e-15)


def test_what_is_refused():
    attack = Perturbation("action_attack", 0.1)
    with pytest.raises(InputError, match=r"needs the policy, .* drspcrl\.evaluate"):
        attack.wrap(gymnasium.make("Hopper-v5"))
    with pytest.raises(InputError, match=r"needs the policy, .* drspcrl\.evaluate"):
        make("Hopper", perturbations=attack)
    for text, message in (
        ("action_attack=-0.1", "attack level is -0.1"),
        ("action_attack[steps=0]=0.1", "steps of an attack are 0; give 1 to 10,000"),
        ("query_attack[queries=1.5]=0.1", "queries of an attack are 1.5"),
        ("random_attack[steps=3]=0.1", r"got settings \['steps'\]"),
    ):
        with pytest.raises(InputError, match=message):
            parse(text)
    with pytest.raises(InputError, match="an attack is on what the policy sees, so it comes last"):
        Suite("wrong", [parse("action_attack=0.1,environment=0.2")])
    with pytest.raises(InputError, match="comes last, and once"):
        Suite("wrong", [parse("action_attack=0.1,query_attack=0.2")])
