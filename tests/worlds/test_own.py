"""One's own simulator takes parameters through `set_world`, and mistakes in it are told."""

from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from own_environments import Tank

from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.worlds import Parameter, SetWorld
from drspcrl.worlds.own import check_set_world

INFLOW = (Parameter("inflow", 0.1, 0.02),)


class Adjustable(Tank):
    """A tank whose inflow is a parameter."""

    inflow = 0.1

    def set_world(self, values):
        self.inflow = values["inflow"]

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.level += self.inflow
        return observation, reward - self.inflow, terminated, truncated, info


def check(kind, parameters=INFLOW) -> None:
    check_set_world(make(kind, 1), parameters)


def test_a_sound_one_is_accepted_and_acts():
    check(Adjustable)
    env = make(Adjustable, 2)
    env.simulation.set_world(1, {"inflow": 0.5})
    env.reset(seeds=[3, 3])
    rewards = env.step(np.zeros((2, 1), np.float32)).reward
    assert rewards[0] - rewards[1] == pytest.approx(0.4)


def test_wrappers_are_looked_through():
    check(lambda: gymnasium.wrappers.TimeLimit(Adjustable(), 5))


def test_a_function_does_as_well():
    def function(env, values):
        env.level_of = values["inflow"]

    class Plain(Tank):
        level_of = 0.1

        def step(self, action) -> Any:
            observation, _, *rest = super().step(action)
            return observation, self.level_of, *rest

    check(lambda: SetWorld(Plain(), function))
    env = make(lambda: SetWorld(Plain(), function), 1)
    env.simulation.set_world(0, {"inflow": 0.7})
    env.reset()
    assert env.step(np.zeros((1, 1), np.float32)).reward[0] == 0.7


def test_a_missing_set_world_names_the_remedy():
    told = r"has no set_world\(values\), and worlds declare the parameters inflow; give it that .*"
    with pytest.raises(InputError, match=told + r"drspcrl\.worlds\.SetWorld\(env, function\)"):
        check(Tank)
    with pytest.raises(InputError, match=r"takes no world parameters of its own \(inflow\); give"):
        check_set_world(make("probe/constant"), INFLOW)
    with pytest.raises(InputError, match=r"no world parameters of its own \(inflow\)"):
        check_set_world(make("Hopper"), INFLOW)
    with pytest.raises(InputError, match="probe/world has no parameter 'inflow'; it has theta"):
        check_set_world(make("probe/world"), INFLOW)


class Raising(Adjustable):
    def set_world(self, values):
        raise KeyError("flow")


class Returning(Adjustable):
    def set_world(self, values) -> Any:
        return self


class Compounding(Adjustable):
    def set_world(self, values):
        self.inflow = self.inflow * values["inflow"] / 0.1


class Adding(Adjustable):
    def set_world(self, values):
        self.inflow += values["inflow"]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Raising, r"Raising \(number 0\) failed in set_world\(\): KeyError: 'flow'"),
        (Returning, r"returned Returning from set_world\(\); it must change the environment and"),
        (Compounding, r"set_world compounds: .*; set inflow from the values that set_world is gi"),
        (Adding, r"set_world compounds: "),
    ],
)
def test_faults_of_set_world_are_told(kind, told):
    with pytest.raises(InputError, match=told) as error:
        check(kind)
    assert "\n" not in str(error.value)


def test_a_function_that_returns_something_is_told_too():
    with pytest.raises(InputError, match=r"returned dict from set_world\(\)"):
        check(lambda: SetWorld(Tank(), cast(Any, lambda env, values: dict(values))))


class Bounded(Adjustable):
    def set_world(self, values):
        if not 0.09 <= values["inflow"] <= 0.11:
            raise ValueError("no such inflow")
        super().set_world(values)


@pytest.mark.parametrize("law", ["normal", "above", "below"])
def test_the_try_stays_within_the_declared_bounds(law):
    check(Bounded, (Parameter("inflow", 0.1, 0.02, law, 0.09, 0.11),))


class Fickle(Compounding):
    resets = 0

    def reset(self, *, seed=None, options=None):
        self.resets += 1
        return super().reset(seed=self.resets, options=options)


def test_randomness_of_its_own_is_no_fault():
    check(Fickle)
