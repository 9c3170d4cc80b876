"""Perturbed actions: noise and delay."""

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import Context, Kernel, check_range, needs_bounds
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.physics.streams import Draws


class ActionNoiseKernel(Kernel):
    """See `ActionNoise`."""

    stream = 1
    hooks = frozenset({"action"})

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        needs_bounds(context.action_space, "action noise")
        self.draws = Draws(context.num_envs, 1 + int(np.prod(context.action_space.shape)))

    @classmethod
    def check_level(cls, level: float) -> None:
        """A probability."""
        check_range("action noise", level, 0.0, 1.0)

    def action(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Replace whole actions with probability `level`."""
        space = self.context.action_space
        # The random action is drawn even when it is not used, so the streams stay in step.
        coin, uniform = np.split(self.take(ids), [1], axis=1)
        random = space.low + (space.high - space.low) * uniform.reshape(actions.shape)
        replaced = coin.reshape(self.column(ids, actions).shape) < self.column(ids, actions)
        return np.where(replaced, random.astype(space.dtype), actions).astype(actions.dtype)


class ActionNoise(PerturbationWrapper):
    """With probability `level` the action is replaced by one drawn uniformly from its space.

    Args:
        env: environment with a bounded action space.
        level: probability in [0, 1].
    """

    Kernel = ActionNoiseKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


class ActionDelayKernel(Kernel):
    """See `ActionDelay`."""

    stream = 0  # draws nothing
    hooks = frozenset({"begin", "action"})
    longest = 32

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        space = context.action_space
        self._past = np.zeros((context.num_envs, self.longest + 1, *space.shape))
        self._neutral = np.clip(np.zeros(space.shape), space.low, space.high)
        self._step = np.zeros(context.num_envs, np.int64)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A whole number of steps."""
        check_range("action delay", level, 0, cls.longest)
        if int(level) != level:
            raise InputError(f"action delay level is {shown(level)}; give a whole number of steps")

    def begin(self, ids: np.ndarray) -> None:
        """Fill the line with the neutral action."""
        self._past[ids] = self._neutral
        self._step[ids] = 0

    def action(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Hand out the action of `level` steps ago."""
        length = self.longest + 1
        now = self._step[ids]
        self._past[ids, now % length] = actions
        self._step[ids] += 1
        return self._past[ids, (now - self.levels[ids].astype(int)) % length].astype(actions.dtype)

    def memory(self) -> dict[str, np.ndarray]:
        """The line."""
        return {"past": self._past, "step": self._step}


class ActionDelay(PerturbationWrapper):
    """Actions arrive `level` steps late; before the first one the action is 0 (or nearest to it).

    Args:
        env: environment.
        level: whole number of steps, at most 32.
    """

    Kernel = ActionDelayKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)
