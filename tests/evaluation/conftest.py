"""Policies to evaluate: small, but with a matrix product, so that batching could show."""

from collections.abc import Callable

import gymnasium
import numpy as np
import pytest

SIZES = {"Hopper": (11, 3), "HalfCheetah": (17, 6), "Walker2d": (17, 6), "Humanoid": (348, 17)}


def network(task: str, seed: int = 0, hidden: int = 64) -> Callable[[np.ndarray], np.ndarray]:
    """A random network whose actions are within the task's bounds."""
    observation, action = SIZES[task]
    random = np.random.default_rng(seed)
    first = (random.normal(size=(observation, hidden)) / np.sqrt(observation)).astype(np.float32)
    second = (random.normal(size=(hidden, action)) / np.sqrt(hidden)).astype(np.float32)
    bound = np.float32(0.4 if task == "Humanoid" else 1.0)

    def act(observations: np.ndarray) -> np.ndarray:
        return bound * np.tanh(np.tanh(observations.astype(np.float32) @ first) @ second)

    return act


class Counter(gymnasium.Env):
    """Each step's reward is the action; observation 1 counts steps; it ends after five."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-2.0, 3.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._start = self.np_random.uniform()
        self._step = 0
        return self._observation(), {}

    def step(self, action):
        self._step += 1
        return self._observation(), float(action[0]), self._step == 5, False, {}

    def _observation(self) -> np.ndarray:
        return np.array([self._start, self._step], np.float64)


@pytest.fixture
def make_network():
    return network


@pytest.fixture
def counter():
    return Counter
