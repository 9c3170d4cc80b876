"""The Gymnasium side: an ordinary wrapper around one environment."""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import Context, Kernel, time_limit_of
from drspcrl.physics.parameters import Physics, physics_of

_ONE = np.zeros(1, int)
# One handle per environment, however many wrappers share it, so that all of them scale from the
# nominal values and none from what another has written.
_handles: WeakKeyDictionary[gymnasium.Env, Physics] = WeakKeyDictionary()


def _physics(env: gymnasium.Env) -> Physics | None:
    base = env.unwrapped
    if base not in _handles:
        made = physics_of([base])
        if made is None:
            return None
        _handles[base] = made
    return _handles[base]


class PerturbationWrapper(gymnasium.Wrapper, RecordConstructorArgs):
    """One environment with one perturbation.

    `reset(seed=…)` decides everything that is random in it, the wrapped environment included.

    Attributes:
        Kernel: what the perturbation does.
    """

    Kernel: ClassVar[type[Kernel]]

    def __init__(self, env: gymnasium.Env, level: float, **settings: Any):
        RecordConstructorArgs.__init__(self, level=level, **settings)
        gymnasium.Wrapper.__init__(self, env)
        self.Kernel.check_level(level)
        below = _wrappers_below(env)
        self._occurrence = sum(type(wrapper) is type(self) for wrapper in below)
        spaces = _box(env, "observation"), _box(env, "action")
        context = Context(1, *spaces, _physics(env), time_limit_of(env))
        self._kernel = self.Kernel(context, layer=f"{len(below):02d}", **settings)
        self._kernel.check_task(level)
        self._kernel.levels[:] = level
        self._seeded = False
        if self.Kernel.leaves_observation_space and level != self.Kernel.nominal:
            space = context.observation_space
            self.observation_space = Box(-np.inf, np.inf, space.shape, space.dtype.type)

    @property
    def level(self) -> float:
        """How strong the perturbation is."""
        return float(self._kernel.levels[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `gymnasium.Env.reset`."""
        if seed is not None or not self._seeded:
            self._kernel.seed(_ONE, [np.random.SeedSequence(seed)], self._occurrence)
            self._seeded = True
        self._kernel.begin(_ONE)
        observation, info = self.env.reset(seed=seed, options=options)
        if self._kernel.context.physics is not None:
            self._kernel.context.physics.verify()
        return self._observe(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step; see `gymnasium.Env.step`."""
        if "action" in self._kernel.hooks:
            action = self._kernel.action(_ONE, np.asarray(action)[None])[0]
        self._kernel.force(_ONE)
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "force" in self._kernel.hooks and self._kernel.context.physics is not None:
            self._kernel.context.physics.clear_forces()
        return self._observe(observation), reward, terminated, truncated, info

    def close(self) -> None:
        """Give the environment its nominal physics back, and close it."""
        self._kernel.retire(_ONE)
        self.env.close()

    def _observe(self, observation: Any) -> Any:
        if "observation" not in self._kernel.hooks:
            return observation
        return self._kernel.observation(_ONE, np.asarray(observation)[None])[0]


def _box(env: gymnasium.Env, which: str) -> Box:
    space = getattr(env, f"{which}_space")
    if not isinstance(space, Box):
        raise InputError(f"the {which} space is {space}; perturbations need a Box")
    return space


def _wrappers_below(env: gymnasium.Env) -> list[PerturbationWrapper]:
    found = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, PerturbationWrapper):
            found.append(env)
        env = env.env
    return found
