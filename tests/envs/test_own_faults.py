"""What goes wrong in a user's environment is told as that."""

import os
from types import SimpleNamespace

import gymnasium
import numpy as np
import own_environments
import pytest
from gymnasium.spaces import Box

from drspcrl.envs import make
from drspcrl.errors import InputError

STILL = np.zeros((2, 1), np.float32)


class Failing(own_environments.Tank):
    """Does in one of its methods what it is told to."""

    where, error = "step", ValueError("two\nlines")

    def fail(self, where):
        if where == self.where:
            raise self.error

    def reset(self, **options):
        self.fail("reset")
        return super().reset(**options)

    def step(self, action):
        self.fail("step")
        return super().step(action)

    def close(self):
        self.fail("close")


def failing(where: str, error: BaseException) -> type[gymnasium.Env]:
    return type("Failing", (Failing,), {"where": where, "error": error})


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (PermissionError(13, "Permission denied", "log.txt"), "PermissionError: .*'log.txt'"),
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit(), "SystemExit \\("),
    ],
)
def test_errors_name_environment_and_method(error, told):
    env = make(failing("step", error), 2)
    env.reset()
    with pytest.raises(InputError, match=rf"number 0\) failed in step\(\): {told}") as caught:
        env.step(STILL)
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"failed in reset\(\)"):
        make(failing("reset", error), 2).reset()
    with pytest.raises(InputError, match=r"failed in close\(\)"):
        make(failing("close", error))


def test_ctrl_c_is_not_an_error_of_the_environment():
    env = make(failing("step", KeyboardInterrupt()), 2)
    env.reset()
    with pytest.raises(KeyboardInterrupt):
        env.step(STILL)


def test_what_cannot_be_made():
    def missing():
        return open(os.devnull + "/nothing")

    with pytest.raises(InputError, match=r"missing.* could not be made: NotADirectoryError"):
        make(missing)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"gave SimpleNamespace; return a gymnasium\.Env"):
        make(SimpleNamespace)  # type: ignore[arg-type]


@pytest.mark.parametrize("which", ["observation", "action"])
def test_an_empty_box_is_refused(which):
    empty = Box(-1.0, 1.0, (0,), np.float32)
    kind = type("Empty", (own_environments.Tank,), {f"{which}_space": empty})
    with pytest.raises(InputError, match=rf"{which} space Box.* is empty.* shape such as \(1,\)"):
        make(kind)


def test_observations_of_another_shape_than_their_space():
    class Longer(own_environments.Tank):
        def reading(self):
            return np.zeros(3)

    with pytest.raises(InputError, match=r"shape \(3,\) in reset\(\); its .* says \(2,\)"):
        make(Longer).reset()


class Wrong(own_environments.Tank):
    """The second of its kind gives a wrong reading in its third step."""

    made, steps, value, place = 0, 0, np.nan, "observation"

    def __init__(self):
        type(self).made += 1
        self.number = self.made

    def step(self, action):
        self.steps += 1
        observation, reward, terminated, truncated, info = super().step(action)
        if (self.number, self.steps) == (3, 3):  # the first is only looked at
            if self.place == "reward":
                reward = self.value
            else:
                observation[1] = self.value
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("place", "value", "reading"),
    [
        ("observation", np.nan, "observation[1] = nan"),
        ("observation", -np.inf, "observation[1] = -inf"),
        ("observation", 1e39, "observation[1] = 1e+39"),  # infinite in single precision
        ("reward", np.inf, "reward = inf"),
    ],
)
def test_readings_that_are_no_finite_numbers_are_told_once(place, value, reading):
    env = make(type("Wrong", (Wrong,), {"place": place, "value": value, "made": 0}), 2)
    env.reset()
    told = []
    for _ in range(5):
        env.step(STILL)
        told.append({i: fault.reading for i, fault in env.take_faults().items()})
    assert told == [{}, {}, {1: reading}, {}, {}]


def test_a_first_observation_that_is_no_number_is_told():
    class Lost(own_environments.Tank):
        def reading(self):
            return np.array([np.nan, 0.0])

    env = make(Lost, 2)
    env.reset()
    faults = env.take_faults()
    assert [fault.starting for fault in faults.values()] == [True, True]


def test_simulators_of_the_package_have_no_such_faults():
    env = make("Hopper", 1)
    env.reset()
    env.step(np.full((1, 3), np.nan, np.float32))
    assert env.take_faults() == {}
