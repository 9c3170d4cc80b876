"""Random forces on all bodies: process noise that the simulator itself integrates."""

import gymnasium
import numpy as np

from drspcrl.perturbations.kernel import Context, Kernel, check_range, needs_physics
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.physics.streams import Draws


class GustsKernel(Kernel):
    """See `Gusts`."""

    stream = 8
    hooks = frozenset({"force"})

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        self._physics = needs_physics(context.physics, "gusts")
        self._weights = self._physics.body_weights
        self.draws = Draws(context.num_envs, 3 * len(self._weights), normal=True)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A standard deviation in body weights."""
        check_range("gusts", level, 0.0, np.inf, closed=False)

    def force(self, ids: np.ndarray) -> None:
        """Push every body during the coming step."""
        drawn = self.take(ids).reshape(len(ids), len(self._weights), 3)
        forces = self.levels[ids][:, None, None] * self._weights[:, None] * drawn
        for k in range(len(self._weights)):
            self._physics.add_force(ids, 1 + k, forces[:, k])


class Gusts(PerturbationWrapper):
    """A Gaussian force on the centre of mass of every body, drawn anew at each step.

    Args:
        env: environment with a MuJoCo model.
        level: standard deviation of each of a force's three components, in units of the body's own
            nominal weight.
    """

    Kernel = GustsKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)
