"""Other Gymnasium environments: same-step resets, seeds, physics, and spaces that do not fit."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation, wrap


class Counter(gymnasium.Env):
    """A user's own environment: ends when its count, which starts at a random place, is 5."""

    def __init__(self, action_space: gymnasium.Space | None = None):
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = action_space or Box(-1.0, 1.0, (1,), np.float32)
        self.count = 0

    def _observe(self):
        return np.array([self.count, self.offset])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.offset = int(self.np_random.integers(4)), self.np_random.random()
        return self._observe(), {}

    def step(self, action):
        self.count += 1
        return self._observe(), float(action[0]), self.count >= 5, False, {}


def test_equals_gymnasiums_same_step_mode():
    mine = make(Counter, 3)
    theirs = SyncVectorEnv([Counter] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    first, _ = theirs.reset(seed=[1, 2, 3])
    np.testing.assert_array_equal(mine.reset(seeds=[1, 2, 3]), first)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(40):
        actions = rng.uniform(-1, 1, (3, 1)).astype(np.float32)
        step = mine.step(actions)
        observation, reward, terminated, truncated, info = theirs.step(actions)
        np.testing.assert_array_equal(step.observation, observation)
        np.testing.assert_array_equal(step.reward, reward)
        np.testing.assert_array_equal(step.terminated, terminated)
        np.testing.assert_array_equal(step.truncated, truncated)
        final = observation.copy()
        for i in np.flatnonzero(terminated | truncated):
            final[i] = info["final_obs"][i]
            assert final[i][0] == 5
            ends += 1
        np.testing.assert_array_equal(step.final_observation, final)
    assert ends > 10


@pytest.mark.parametrize(
    "setting", [None, (Perturbation("action", 0.3), Perturbation("observation", 0.1))]
)
def test_pendulum_equals_its_wrapped_self_through_time_limits(setting):
    env = make("Pendulum-v1", 2, perturbations=setting)
    singles = [wrap(gymnasium.make("Pendulum-v1"), setting) for _ in range(2)]
    first = env.reset(seeds=[5, 6])
    for i, single in enumerate(singles):
        np.testing.assert_array_equal(first[i], single.reset(seed=5 + i)[0])
    rng = np.random.default_rng(0)
    truncations = 0
    for _ in range(450):
        actions = rng.uniform(-2, 2, (2, 1)).astype(np.float32)
        step = env.step(actions)
        for i, single in enumerate(singles):
            observation, reward, terminated, truncated, _ = single.step(actions[i])
            np.testing.assert_array_equal(step.final_observation[i], observation)
            assert step.reward[i] == reward
            assert (step.terminated[i], step.truncated[i]) == (terminated, truncated)
            if truncated:
                truncations += 1
                observation, _ = single.reset()
            np.testing.assert_array_equal(step.observation[i], observation)
    assert truncations == 4
    assert env.observation_space.dtype == first.dtype == np.float32


def test_mujoco_environments_of_others_have_physics():
    setting = (Perturbation("environment", 0.4), Perturbation("push", 0.2))
    env = make("InvertedPendulum-v5", 2, perturbations=setting)
    singles = [wrap(gymnasium.make("InvertedPendulum-v5"), setting) for _ in range(2)]
    env.reset(seeds=[5, 6])
    for i, single in enumerate(singles):
        single.reset(seed=5 + i)
    for _ in range(60):
        step = env.step(np.zeros((2, 1), np.float32))
        for i, single in enumerate(singles):
            observation, _, terminated, truncated, _ = single.step(np.zeros(1, np.float32))
            np.testing.assert_array_equal(step.final_observation[i], observation)
            if terminated or truncated:
                single.reset()
    assert not np.all(env.physics.scales == 1.0)


@pytest.mark.slow
def test_one_process_each():
    actions = np.full((2, 1), 0.5, np.float32)
    here, there = make("Pendulum-v1", 2, seed=3), make("Pendulum-v1", 2, seed=3, processes=True)
    np.testing.assert_array_equal(here.reset(), there.reset())
    for _ in range(210):
        mine, theirs = here.step(actions), there.step(actions)
        np.testing.assert_array_equal(mine.observation, theirs.observation)
        np.testing.assert_array_equal(mine.final_observation, theirs.final_observation)
    there.close()


def test_members_do_not_depend_on_the_batch():
    def rows(n):
        env = make(lambda: TimeLimit(Counter(), 3), n, seed=8)
        actions = np.zeros((n, 1), np.float32)
        return [env.reset()[0], *(env.step(actions).observation[0] for _ in range(9))]

    np.testing.assert_array_equal(rows(1), rows(4))


class Broken(Counter):
    """Gives a number that is none after a while."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return (
            observation * (np.nan if self.count == 4 else 1.0),
            reward,
            terminated,
            truncated,
            info,
        )


def test_observations_that_are_no_numbers_count_as_divergence():
    env = make(Broken, 2)
    observation = env.reset()
    seen = 0
    for _ in range(12):
        step = env.step(np.zeros((2, 1), np.float32))
        assert np.isfinite(step.observation).all()
        np.testing.assert_array_equal(
            step.final_observation[step.diverged], observation[step.diverged]
        )
        seen += step.diverged.sum()
        observation = step.observation
    assert seen > 2


def test_spaces_that_do_not_fit():
    with pytest.raises(InputError, match=r"action space is Discrete\(2\), not a Box"):
        make("CartPole-v1")
    with pytest.raises(InputError, match=r"action space .* is unbounded; give it bounds"):
        make(lambda: Counter(Box(-np.inf, np.inf, (1,))))

    class Nested(Counter):
        def __init__(self):
            super().__init__()
            self.observation_space = gymnasium.spaces.Dict({"a": Box(0, 1)})

    with pytest.raises(InputError, match=r"observation space is Dict.*FlattenObservation"):
        make(Nested)


def test_physics_where_there_is_none():
    with pytest.raises(InputError, match="needs a MuJoCo model"):
        make(Counter, 2, perturbations=Perturbation("environment", 0.1))
    with pytest.raises(InputError, match="needs a MuJoCo model"):
        make("Pendulum-v1", 2, perturbations=Perturbation("push", 0.1))
