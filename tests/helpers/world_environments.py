"""A user's environment that takes parameters of its world, and that can be saved."""

from collections.abc import Mapping

import gymnasium
import numpy as np
from own_environments import SavedTank

from drspcrl.worlds import Parameter


class WorldTank(SavedTank):
    """A tank whose leak and pump are parameters of its world."""

    leak, pump = 0.0, 0.1

    def set_world(self, values: Mapping[str, float]) -> None:
        self.leak, self.pump = values["leak"], values["pump"]

    def step(self, action):
        self.last = float(action[0])
        inflow = self.pump * self.last + 0.05 * self.np_random.normal()
        self.level = (1 - self.leak) * self.level + inflow
        return self.reading(), -(self.level**2), bool(abs(self.level) > 1.5), False, {}

    def reading(self) -> np.ndarray:
        return np.array([self.level, self.last])


class DeclaredTank(WorldTank):
    """Says itself what may differ; the last of it has no effect."""

    world_parameters = (
        Parameter("leak", 0.0, 0.05, "above"),
        Parameter("pump", 0.1, "10%"),
        Parameter("colour", 1.0, 0.1),
    )


gymnasium.register(
    "DeclaredTank-v0", entry_point="world_environments:DeclaredTank", max_episode_steps=20
)
gymnasium.register("WorldTank-v0", entry_point="world_environments:WorldTank", max_episode_steps=20)
