"""The episode in a clip is the evaluation's own."""

import numpy as np
import pytest

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.evaluation import Suite, evaluate
from drspcrl.perturbations import Perturbation
from drspcrl.video.episodes import Episode

SETTING = (Perturbation("scale", 1.5, {"parameter": "mass:torso"}), Perturbation("action", 0.3))


def lean(observations: np.ndarray) -> np.ndarray:
    """A policy whose actions depend on what it sees."""
    return np.clip(observations[:, 1:4] * [1.0, -2.0, 0.5] + 0.1, -1.0, 1.0)


def still(observations: np.ndarray) -> np.ndarray:
    return np.zeros((len(observations), 3))


@pytest.mark.parametrize("setting", [(), SETTING], ids=["nominal", "perturbed"])
def test_returns_and_lengths_are_those_of_an_evaluation(setting):
    policies = {"lean": lean, "still": still}
    episode = Episode(make("Hopper", 2), policies, setting, seed=3, number=1)
    for _ in episode.play():
        pass
    for player in episode.players:
        suite = Suite("one", [setting])
        table = evaluate(policies[player.name], "Hopper", suite, episodes=2, seed=3, show=None)
        assert player.returns == table.returns[1]
        assert player.steps == table.length[1]
        assert player.ending == "fell"
    assert episode.players[0].steps != episode.players[1].steps


def test_each_ending_is_told_once_and_has_its_name():
    episode = Episode(make("Hopper", 2), {"lean": lean, "still": still}, ())
    told = [ended for ended in episode.play() if ended]
    assert sorted(k for ended in told for k in ended) == [0, 1]
    whole = Episode(make("HalfCheetah", 1), {"still": lambda o: np.zeros((len(o), 6))}, ())
    assert sum(1 for _ in whole.play()) == 1000
    assert whole.players[0].ending == "time limit"


def test_the_same_seed_is_the_same_world_for_every_policy():
    episode = Episode(make("Hopper", 2), {"one": lean, "two": lean}, SETTING)
    for _ in episode.play():
        one, two = episode.players
        assert one.returns == two.returns


def test_wrong_actions_name_the_policy_and_the_step():
    episode = Episode(make("Hopper", 2), {"good": lean, "bad": lambda o: np.ones((64, 2))}, ())
    with pytest.raises(InputError, match=r"bad, step 0: .* shape \(64, 2\)"):
        next(episode.play())


def test_a_world_that_the_task_does_not_have():
    wrong = [Perturbation("scale", 2.0, {"parameter": "mass:arm"})]
    with pytest.raises(InputError, match=r"mass:arm.*choose from mass:torso, mass:thigh"):
        Episode(make("Hopper", 1), {"lean": lean}, wrong)
