"""A user's module with environments of their own: registered ids, a class, a function."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit


class Tank(gymnasium.Env):
    """A level that random inflow moves; reward is its negative square."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.level, self.last = self.np_random.random(), 0.0
        return self.reading(), {}

    def reading(self) -> np.ndarray:
        return np.array([self.level, self.last])

    def step(self, action):
        self.last = float(action[0])
        self.level += 0.1 * self.last + 0.05 * self.np_random.normal()
        return self.reading(), -(self.level**2), bool(abs(self.level) > 1.5), False, {}


class SavedTank(Tank):
    """One that can be saved."""

    def get_state(self):
        return {"level": self.level, "last": np.array([self.last])}

    def set_state(self, state):
        self.level, self.last = state["level"], float(state["last"][0])


def make_tank() -> gymnasium.Env:
    return TimeLimit(Tank(), 20)


def make_saved_tank() -> gymnasium.Env:
    return TimeLimit(SavedTank(), 20)


gymnasium.register("Tank-v0", entry_point="own_environments:Tank", max_episode_steps=20)
gymnasium.register("SavedTank-v0", entry_point="own_environments:SavedTank", max_episode_steps=20)
