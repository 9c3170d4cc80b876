"""One's own simulator takes parameters through `set_world`, and mistakes in it are told."""

from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from own_environments import Tank

from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.worlds import Declared, Parameter, SetWorld
from drspcrl.worlds.own import check_set_world, with_own_parameters

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


def check(kind, parameters=INFLOW) -> tuple[str, ...]:
    return check_set_world(make(kind, 1), parameters)


def test_a_sound_one_is_accepted_and_acts():
    assert check(Adjustable) == ()
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
    with pytest.raises(InputError, match=told):
        check(type("Unset", (Tank,), {"set_world": None}))
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
        (Raising, r"failed in set_world\(\), which was given inflow: KeyError: 'flow'"),
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


class Ranged(Adjustable):
    """Declares what may differ by itself, as an object and as plain data."""

    world_parameters = (
        Parameter("inflow", 0.1, 0.02),
        {"name": "unused", "nominal": 1.0, "tolerance": "5%", "law": "uniform"},
    )


def test_an_environment_declares_its_parameters_itself():
    env = make(Ranged, 1)
    found = with_own_parameters(Declared(), env)
    assert [(p.name, p.size) for p in found.parameters] == [("inflow", 0.02), ("unused", 0.05)]
    # What a file says of one of them takes its place; the others stay.
    wider = Parameter("inflow", 0.1, 0.05, "above")
    found = with_own_parameters(Declared(parameters=(wider,)), env)
    assert [p.size for p in found.parameters] == [0.05, 0.05]
    assert found.parameters[0] is wider
    # An environment that declares nothing takes what a file says.
    assert (
        with_own_parameters(Declared(parameters=INFLOW), make(Adjustable, 1)).parameters == INFLOW
    )


def test_an_unknown_parameter_is_told_with_those_that_exist():
    wrong = Declared(parameters=(Parameter("inflw", 0.1, 0.02),))
    with pytest.raises(
        InputError, match="unknown parameter 'inflw'; the environment has inflow, u"
    ):
        with_own_parameters(wrong, make(Ranged, 1))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            [{"name": "inflow"}],
            "world_parameters of the environment: .* give name, nominal and tol",
        ),
        ([*INFLOW, *INFLOW], "'inflow' is declared twice"),
        (3, r"failed in world_parameters: TypeError"),
        (lambda self: INFLOW, r"is a method, where an attribute is read; .* put @property above"),
    ],
)
def test_a_wrong_declaration_of_an_environment_is_told(given, told):
    kind = type("Wrong", (Adjustable,), {"world_parameters": given})
    with pytest.raises(InputError, match=told):
        with_own_parameters(Declared(), make(kind, 1))


def test_a_function_comes_with_its_parameters():
    env = make(lambda: SetWorld(Tank(), lambda env, values: None, INFLOW), 1)
    assert with_own_parameters(Declared(), env).parameters == INFLOW


def test_parameters_that_change_nothing_are_found():
    assert check(Ranged, with_own_parameters(Declared(), make(Ranged, 1)).parameters) == ("unused",)


class Fragile(Adjustable):
    """Fails where nothing but the end of the range leads."""

    def set_world(self, values):
        if values["inflow"] > 0.145:
            raise OverflowError("too much")
        super().set_world(values)


class Undefined(Adjustable):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        reward = reward if self.inflow > 0.06 else float("nan")
        return observation, reward, terminated, truncated, info


def test_the_ends_of_the_range_are_tried():
    with pytest.raises(InputError, match=r"failed in set_world\(\).*: OverflowError: too much"):
        check(Fragile)
    with pytest.raises(
        InputError, match=r"gave reward = nan in the world inflow = 0\.05; look for"
    ):
        check(Undefined)
