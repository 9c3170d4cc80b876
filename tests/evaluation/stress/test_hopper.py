"""On Hopper the search finds a worse world than a random search of the same cost."""

from pathlib import Path

import numpy as np
import pytest

from drspcrl.evaluation.stress import search_worlds, stress
from drspcrl.policy import load_policy

RUNS = Path(__file__).resolve().parents[3] / "studies" / "results" / "protocol"
EPISODES, STEPS, FRESH = 2, 200, 100


def random_worst(player, worlds: int, radius: float, seed: int) -> np.ndarray:
    """The worst of so many worlds drawn on the sphere, judged by the search's own episodes."""
    space, random = player.space, np.random.default_rng((7, seed))
    z = random.standard_normal((worlds, space.size))
    z = np.where(space.bounds[0] == 0, np.abs(z), z)  # noise levels are never below 0
    points = space.at(space.directions(z), radius)
    seeds = search_worlds._seeds(seed, 0, EPISODES)
    returns, _ = player.play(points, seeds, lambda steps, episodes=1: None)
    return points[np.argmin(returns.mean(axis=1))]


def test_noise_or_physics_that_breaks_a_hopper_is_found():
    policy = load_policy(RUNS / "Hopper-ppo" / "Hopper-ppo-self_paced-s0")
    found = stress(
        policy, "Hopper", parameters=["gravity", "sensor"],
        budget=420, episodes=2, steps=30, reach=4.0, show=None, threads=1,
    )  # fmt: skip
    assert found.worst.fresh.value < found.nominal.value
    assert found.space.names == ("gravity", "sensor")
    assert found.worst.distance <= 2 * (1 + 1e-9)


@pytest.mark.long
def test_it_beats_a_random_search_of_the_same_cost(monkeypatch):
    policy = load_policy(RUNS / "Hopper-ppo" / "Hopper-ppo-self_paced-s0")
    returns_of_both, search = [], search_worlds._search

    def random_search_too(question, space, ledger, info):
        result, player = search(question, space, ledger, info), ledger._play_worlds.__self__
        worlds = ledger.played // EPISODES
        other = random_worst(player, worlds, question.within, question.seed)
        seeds = search_worlds._seeds(question.seed, 5, FRESH)
        both = np.array([result.worst.point, other])
        returns, _ = player.play(both, seeds, lambda steps, episodes=1: None)
        returns_of_both.append(returns.mean(axis=1))
        print(f"seed {question.seed}: found, random", *np.round(returns_of_both[-1], 1), flush=True)
        return result

    monkeypatch.setattr(search_worlds, "_search", random_search_too)
    for seed in range(10):
        stress(
            policy, "Hopper",
            budget=2000, episodes=EPISODES, steps=STEPS, seed=seed, show=None,
        )  # fmt: skip
    won = sum(found < other for found, other in returns_of_both)
    assert won >= 9, returns_of_both
