"""A user's environment that can be saved continues bit for bit; any other says that it cannot."""

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from own_environments import SavedTank, Tank, make_saved_tank

from drspcrl.envs import make
from drspcrl.envs.snapshot import NotPlainError, decode, encode
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation

TREE = {
    "array": np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2],
    "empty": np.zeros((0, 3), np.float32),
    "single": np.array(3.5),
    "swapped": np.arange(3, dtype=">f8"),
    "scalar": np.float64(0.1),
    "numbers": [1, 2.5, -0.0, float("inf"), True, None, 2**100],
    "nested": {"tuple": (1, ("deep", [np.array([True])])), "dict": {}, "": "é"},
}


def assert_same(one, two) -> None:
    assert type(one) is type(two)
    if isinstance(one, np.ndarray | np.generic):
        assert one.dtype.newbyteorder("=") == two.dtype
        np.testing.assert_array_equal(one, two, strict=one.dtype == two.dtype)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            assert_same(one[key], two[key])
    elif isinstance(one, list | tuple):
        for left, right in zip(one, two, strict=True):
            assert_same(left, right)
    else:
        assert one == two


def test_plain_trees_come_back_as_they_were():
    back = decode(encode(TREE))
    assert_same(TREE, back)
    back["array"][0, 0] = 9  # the caller's own
    assert TREE["array"][0, 0] == 0


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (np.array([object()]), "an array of object"),
        ({"a": [1, np.array(["text"])]}, r"an array of <U4 at \['a'\]\[1\]"),
        ({"a": {1}}, r"set at \['a'\]"),
        ({3: 1}, "the key 3; keys are texts"),
        (np.random.default_rng(0), r"numpy\.random.*Generator"),
        (np.array([1j]), "an array of complex128"),
    ],
)
def test_anything_else_is_refused(tree, told):
    with pytest.raises(NotPlainError, match=told):
        encode(tree)


@pytest.mark.parametrize("content", [b"", b"half a state", encode(TREE)[:-40]])
def test_bytes_that_are_no_state(content):
    with pytest.raises(ValueError, match="no saved state"):
        decode(content)


def act(step: int) -> np.ndarray:
    return np.sin(np.arange(3) + step).astype(np.float32)[:, None]


def play(env, first: int, steps: int = 30) -> list[tuple]:
    """Steps over the ends of episodes and their time limits."""
    outcomes = [env.step(act(first + k)) for k in range(steps)]
    return [(s.observation.tolist(), s.reward.tolist(), s.ended.tolist()) for s in outcomes]


class Carrying(gymnasium.ObservationWrapper):
    """A user's wrapper with something that it carries over."""

    total = 0.0

    def observation(self, observation):
        self.total += 0.1
        return observation + self.total

    def get_state(self):
        return self.total

    def set_state(self, state):
        self.total = state


class OtherGenerator(SavedTank):
    """One whose generator is of another kind than Gymnasium's."""

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.Generator(np.random.MT19937(seed))
        return super().reset()


class Growing(SavedTank):
    """One whose state is longer in each step, and in each environment in another way."""

    def reset(self, **options):
        self.past = [0.0] * int(100 * self.level) if options.get("seed") is None else []
        return super().reset(**options)

    def step(self, action):
        self.past.append(self.level)
        return super().step(action)

    def get_state(self):
        return super().get_state() | {"past": self.past}

    def set_state(self, state):
        super().set_state(state)
        self.past = state["past"]


ONE = np.float32(1.0)
CASES = {
    "registered": "own_environments:SavedTank-v0",
    "function": make_saved_tank,
    "class": SavedTank,
    "wrapper": lambda: Carrying(wrappers.RescaleAction(make_saved_tank(), -ONE, ONE)),
    "generator": lambda: wrappers.TimeLimit(OtherGenerator(), 7),
    "growing": lambda: wrappers.TimeLimit(Growing(), 9),
}


@pytest.mark.parametrize("case", CASES)
def test_a_restored_environment_continues_bit_for_bit(case):
    settings = [None, Perturbation("action", 0.2), Perturbation("observation", 0.1)]
    env = make(CASES[case], 3, seed=1, perturbations=settings)
    assert env.can_restore
    env.reset()
    play(env, 0, 17)  # the time limit is within what follows
    saved = env.state()
    onwards = play(env, 17)
    assert any(any(ended) for _, _, ended in onwards) or case == "class"
    fresh = make(CASES[case], 3, seed=2, perturbations=settings)
    fresh.restore(saved)
    assert play(fresh, 17) == onwards
    env.restore(saved)
    assert play(env, 17) == onwards


def test_the_generator_stays_the_same_object():
    env = make(SavedTank, 1)
    env.reset()
    (base,) = (e.unwrapped for e in env.simulation._vector.envs)  # type: ignore[attr-defined]
    source = base.np_random
    env.restore(env.state())
    assert base.np_random is source


@pytest.mark.parametrize(
    "factory",
    [
        Tank,
        "Pendulum-v1",
        "InvertedPendulum-v5",  # whose set_state takes positions and velocities
        lambda: wrappers.TimeAwareObservation(make_saved_tank()),
        lambda: gymnasium.Wrapper(SavedTank()),
        lambda: wrappers.NormalizeReward(SavedTank()),
    ],
    ids=["tank", "pendulum", "mujoco", "time", "unknown", "statistics"],
)
def test_what_cannot_be_saved_says_so(factory):
    env = make(factory)
    env.reset()
    assert not env.can_restore
    with pytest.raises(InputError, match="cannot save its state"):
        env.state()


def test_a_state_that_only_code_could_bring_back_is_refused():
    class Code(SavedTank):
        def get_state(self):
            return {"level": self.level, "source": self.np_random}  # type: ignore[dict-item]

    env = make(Code)
    env.reset()
    with pytest.raises(InputError, match=r"get_state\(\) of Code gave .*Generator at \['source'\]"):
        env.state()


@pytest.mark.parametrize("method", ["get_state", "set_state"])
def test_errors_in_these_methods_are_the_environments(method):
    class Forgetful(SavedTank):
        def forget(self):
            raise KeyError(method)

    env, saved = make(Forgetful), make(SavedTank)
    env.reset()
    saved.reset()
    override = {"get_state": lambda s: s.forget(), "set_state": lambda s, state: s.forget()}
    setattr(Forgetful, method, override[method])
    with pytest.raises(InputError, match=rf"Forgetful \(number 0\) failed in {method}\(\): KeyEr"):
        env.restore(saved.state())


def test_a_state_of_other_wrappers_is_refused():
    env = make(SavedTank)
    env.reset()
    with pytest.raises(InputError, match="saved state of SavedTank does not fit"):
        make(make_saved_tank).restore(env.state())
