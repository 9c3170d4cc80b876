"""What a world is when it is played: physics, noise, bias, bounds, and the same luck everywhere."""

import numpy as np
import pytest
import spiral

from drspcrl.envs import make
from drspcrl.evaluation.actor import Actor
from drspcrl.evaluation.stress.play import Player
from drspcrl.evaluation.stress.search_worlds import Question, _space
from drspcrl.evaluation.stress.space import Space


def quiet(steps, episodes=1):
    return


def player(env, worlds, act, width=4, envs=4, **question) -> Player:
    space, _ = _space(env, worlds, Question(**question))
    return Player(make(env, envs, threads=1), Actor(act), space, width, None, False)


def column(space: Space, name: str, x: float) -> np.ndarray:
    point = np.zeros((1, space.size))
    point[0, space.names.index(name)] = x
    return point


class Recorded(spiral.Spiral):
    """One whose actions are kept."""

    actions: list

    def step(self, action):
        self.actions.append(np.array(action))
        return super().step(action)


def test_every_world_meets_the_same_episodes():
    one = player(spiral.Spiral, {"sensor": 0.1, "sensor_unit": "absolute"}, spiral.act)
    points = np.repeat(column(one.space, "sensor", 2.0), 3, axis=0)
    returns, lost = one.play(points, [5, 6], quiet)
    np.testing.assert_array_equal(returns, np.tile(returns[0], (3, 1)))
    assert returns[0, 0] != returns[0, 1]
    assert not lost.any()
    others, _ = player(
        spiral.Spiral, {"sensor": 0.1, "sensor_unit": "absolute"}, spiral.act, envs=8
    ).play(points, [5, 6], quiet)
    np.testing.assert_array_equal(others, returns)


def test_sensor_bias_and_actuator_levels_are_what_they_say():
    seen = []

    def act(observations):
        seen.append(observations.copy())
        return np.zeros((len(observations), 2))

    class Still(Recorded):
        actions = []  # noqa: RUF012

        def step(self, action):
            super().step(action)
            self.x = np.zeros(2)
            return self.x.copy(), 0.0, False, self.steps >= 400, {}

    worlds = {"sensor": 0.1, "bias": 0.3, "actuator": 0.05, "sensor_unit": [1.0, 4.0]}
    one = player(Still, worlds, act, width=1, envs=1)
    point = column(one.space, "sensor", 2.0) + column(one.space, "bias:1", -1.0)
    one.play(point + column(one.space, "actuator", 3.0), [0], quiet)
    read = np.array(seen)[1:400, 0]
    # sd 2·.1 in units 1 and 4; bias −.3 in unit 4 on the second; sd 3·.05 of half the range, 10
    np.testing.assert_allclose(read.std(axis=0), [0.2, 0.8], rtol=0.15)
    np.testing.assert_allclose(read.mean(axis=0), [0.0, -1.2], atol=0.15)
    np.testing.assert_allclose(np.std(Still.actions[-399:], axis=0), [1.5, 1.5], rtol=0.15)


def test_physics_is_scaled_and_put_into_the_users_units():
    worlds = {"physics": {"mass": 0.2}, "sensor": 0, "actuator": 0}
    one = player("InvertedPendulum-v5", worlds, lambda o: 0 * o[:, :1])
    names = one.space.names
    assert all(name.startswith("mass:") for name in names)
    pole = names.index("mass:pole")
    one.play(column(one.space, "mass:pole", 2.0), [0], quiet)
    physics = one._env.physics
    scale = physics.scales[0, physics.names.index("mass:pole")]
    assert scale == pytest.approx(np.exp(0.4))
    assert one.space.value(pole, 2.0) == pytest.approx(np.exp(0.4))
    nominal = one.space.nominal["mass:pole"]
    assert one.space.words(pole, 2.0) == f"1.49 × nominal ({np.exp(0.4) * nominal:.3g})"


def test_points_stay_within_signs_bounds_and_radius():
    worlds = {
        "sensor": 0.1,
        "actuator": 0,
        "parameters": [
            {"name": "gain", "nominal": 1.0, "tolerance": 0.5, "low": 0.0},
            {"name": "load", "nominal": 2.0, "tolerance": 1.0, "law": "below"},
        ],
    }
    space, _ = _space(spiral.Spiral, worlds, Question())
    low, high = space.bounds
    np.testing.assert_allclose(low, [0.0, -2.0 + 1e-3, -np.inf])
    np.testing.assert_allclose(high, [np.inf, np.inf, 0.0])
    z = np.random.default_rng(0).standard_normal((500, 3))
    directions = space.directions(z)
    np.testing.assert_allclose(space.distance(directions), 1.0)
    for points in (space.at(directions, 4.0), space.inside(3 * z, 4.0)):
        assert np.all((points >= low) & (points <= high))
        assert np.all(space.distance(points) <= 4.0 * (1 + 1e-12))
        assert np.all(one_sided(points))


def one_sided(points: np.ndarray) -> np.ndarray:
    return (points[:, 0] >= 0) & (points[:, 2] <= 0)


def test_families_kinds_and_single_parameters():
    def names(*wanted):
        question = Question(parameters=list(wanted))
        return _space("Hopper", None, question)[0].names

    assert names("mass") == ("mass:torso", "mass:thigh", "mass:leg", "mass:foot")
    assert names("gravity", "sensor") == ("gravity", "sensor")
    assert names("mass:foot", "actuator") == ("mass:foot", "actuator")
    assert "sensor" not in names("physics")


def test_a_range_of_values_is_searched_in_the_models_own_unit():
    worlds = {"physics": {"mass:torso": {"low": 1.0, "high": 3.0}}, "sensor": 0, "actuator": 0}
    one = player("Hopper", worlds, lambda o: np.zeros((len(o), 3)))
    space, physics = one.space, one._env.physics
    torso = int(physics.components.select(["mass:torso"])[0])
    nominal = physics.nominal[torso]
    low, high = space.bounds
    # The whole range lies below the model's own 3.67, so that nothing above it is searched.
    assert high[0] == 0.0
    assert space.value(0, -1.0) == pytest.approx(1.0)
    assert space.value(0, low[0]) == pytest.approx(0.05)
    assert space.unit(0) == "the model's own unit"
    assert space.words(0, -0.5) == f"{(nominal + 1) / 2:.4g}"
    one.play(np.full((1, 1), -1.0), [5], quiet)
    assert one._env.physics._values["world"][0, torso] == pytest.approx(1.0)
