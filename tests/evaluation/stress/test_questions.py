"""What does not fit is refused before anything is played, in one line with a remedy."""

import numpy as np
import pytest
import spiral

from drspcrl.errors import InputError
from drspcrl.evaluation.stress import stress


def ask(policy=spiral.act, env=spiral.Spiral, worlds=spiral.WORLDS, **options):
    return stress(policy, env, worlds, **({"show": None, "episodes": 1, "budget": 500} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 1.0}, "limit is 1.0; give the share"),
        ({"limit": float("nan")}, "limit is nan"),
        ({"least": float("inf")}, "least is inf; give a return"),
        ({"within": 0}, "within is 0; give a distance in tolerances"),
        ({"reach": -1.0}, "reach is -1.0"),
        ({"shape": "cube"}, "choose one of ball, box"),
        ({"budget": 0}, "budget is 0; give a whole number"),
        ({"budget": 30}, "too small for one generation of 8 worlds .* give at least [0-9]+"),
        ({"episodes": True}, "episodes is True"),
        ({"steps": 0}, "steps is 0"),
        ({"parameters": []}, r"parameters is \[\]; name at least one of gain, twist, colour, load"),
        ({"parameters": ["mass"]}, "'mass' is not in this task; choose from gain, twist"),
        ({"parameters": ["sensor"]}, "has no tolerance in the worlds that are declared"),
        ({"worlds": {"sensors": 1}}, "unknown entry 'sensors'"),
        ({"worlds": {"physics": {"mass": 0.1}}}, "this task has no MuJoCo model"),
        ({"worlds": "nowhere.yaml"}, "worlds file nowhere.yaml"),
        ({"worlds": {"sensor_unit": [1.0]}}, "the task has 2 readings"),
        ({"plot": True}, "a figure needs a folder"),
        ({"policy": None}, "the policy is None"),
        ({"env": "Nowhere-v0"}, "environment 'Nowhere-v0' is unknown"),
    ],
)
def test_wrong_questions(options, message):
    with pytest.raises(InputError, match=message):
        ask(**options)


def test_a_policy_that_fails_in_the_simulator_already():
    with pytest.raises(InputError, match="fails in the simulator as it is: its nominal return is"):
        ask(least=39.0)


def test_a_nominal_return_of_nothing():
    class Nothing(spiral.Spiral):
        def step(self, action):
            x, _, escaped, over, info = super().step(action)
            return x, 0.0, escaped, over, info

    with pytest.raises(InputError, match="nominal return is 0, of which no share can be lost"):
        ask(env=Nothing)


def test_the_smallest_budget_that_is_named_is_enough():
    with pytest.raises(InputError) as refused:
        ask(budget=1)
    least = int(str(refused.value).split("give at least ")[1].split(",")[0])
    found = ask(budget=least, limit=0.0)
    assert found.episodes <= least
    assert found.nearest is not None
    assert found.nearest.distance == pytest.approx(spiral.DISTANCE, rel=0.1)
    with pytest.raises(InputError, match="too small"):
        ask(budget=least - 1, limit=0.0)


def test_actions_out_of_range_name_the_world():
    nominal = {"gain": spiral.GAIN, "twist": spiral.TWIST}
    own = [{"name": name, "nominal": x, "tolerance": 1.0} for name, x in nominal.items()]
    wide = {"sensor": 0, "actuator": 0, "parameters": own}
    with pytest.raises(InputError, match=r"out of range.*\(in the world gain -0.95"):
        ask(worlds=wide, policy=lambda o: -0.5 * o)
    assert ask(worlds=wide, policy=lambda o: -0.5 * o, limit=0.0, clip=True).nearest is not None


def test_set_world_that_compounds_is_refused():
    class Compounding(spiral.Spiral):
        def set_world(self, values):
            self.values["gain"] *= values["gain"] / spiral.GAIN

    with pytest.raises(InputError, match="set_world compounds"):
        ask(env=Compounding)


@pytest.mark.parametrize(
    ("beyond", "message"),
    [
        (0.5, r"observation\[0\] = nan in the world gain = 0.55, .* declare a smaller tolerance"),
        (0.6, r"= nan at its reset in the world gain 0\.[6-9]"),  # further than is tried first
    ],
)
def test_a_reset_that_gives_no_numbers_names_the_world(beyond, message):
    class Broken(spiral.Spiral):
        def reset(self, *, seed=None, options=None):
            x, info = super().reset(seed=seed)
            return (x * np.nan if self.values["gain"] > beyond else x), info

    with pytest.raises(InputError, match=message):
        ask(env=Broken, limit=0.0)
