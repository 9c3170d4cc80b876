"""One's own environment in worlds: how it takes parameters, and whether it does so soundly."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from drspcrl.envs.batch import BatchEnv
from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.worlds.declare import Parameter

WARM_UP = 2000
"""Random steps over which a reading's spread is measured."""
_WARM_UP_ENVS = 8
_WARM_UP_SEED = 0x756E6974
_STEPS = 10  # of each episode that is compared


class SetWorld(gymnasium.Wrapper):
    """An environment whose world parameters are set by a function.

    Args:
        env: the environment.
        function: takes the unwrapped environment and the values by name, and returns nothing.
    """

    def __init__(self, env: gymnasium.Env, function: Callable[[Any, Mapping[str, float]], None]):
        super().__init__(env)
        self._function = function

    def set_world(self, values: Mapping[str, float]) -> None:
        """Give the environment other values of its parameters."""
        return self._function(self.env.unwrapped, values)


def check_set_world(env: BatchEnv, parameters: Sequence[Parameter]) -> None:
    """Try an environment's `set_world` before a training depends on it.

    A world that was left must be gone: the same episode is played in the simulator as it is, then
    in a distant world, then twice more in the simulator, and all but the second must be equal.

    Args:
        env: one environment of its own, which is reset.
        parameters: what it declares.

    Raises:
        InputError: `set_world` is missing, raises, returns something, or compounds.
    """
    nominal = {parameter.name: float(parameter.nominal) for parameter in parameters}
    away = {p.name: _distant(p) for p in parameters}
    env.simulation.set_world(0, nominal)
    before = _episode(env)
    again = _episode(env)
    for world in (away, nominal):
        env.simulation.set_world(0, world)
        after = _episode(env)
    env.simulation.set_world(0, nominal)
    twice = _episode(env)
    if not np.array_equal(before, again, equal_nan=True):
        return  # an environment with randomness of its own tells nothing here
    if not (np.array_equal(before, after) and np.array_equal(before, twice)):
        raise InputError(
            "set_world compounds: after another world was set and left again, the same episode "
            f"went differently; set {', '.join(nominal)} from the values that set_world is given, "
            "never from what they were before"
        )


def _distant(parameter: Parameter) -> float:
    """Another value of a parameter, one that makes sense."""
    sign = -1.0 if parameter.law == "below" else 1.0
    value = parameter.nominal + sign * parameter.size
    return float(min(max(value, parameter.low), parameter.high))


def random_observations(task: Any) -> np.ndarray:
    """What is read in a task under random actions, [n, O]."""
    env = make(task, _WARM_UP_ENVS, seed=_WARM_UP_SEED)
    try:
        random = np.random.default_rng(_WARM_UP_SEED)
        seen, shape = [env.reset()], (_WARM_UP_ENVS, *env.action_space.shape)
        low, high = env.action_space.low, env.action_space.high
        for _ in range(WARM_UP // _WARM_UP_ENVS):
            actions = low + (high - low) * random.random(shape)
            seen.append(env.step(actions.astype(env.action_space.dtype)).final_observation)
        return np.concatenate(seen).reshape(-1, int(np.prod(env.observation_space.shape)))
    finally:
        env.close()


def _episode(env: BatchEnv) -> np.ndarray:
    """Observations and rewards of the beginning of one episode, always the same one."""
    random = np.random.default_rng(0)
    seen = [env.reset(seeds=[(0,)]).ravel()]
    low, high = env.action_space.low, env.action_space.high
    for _ in range(_STEPS):
        action = low + (high - low) * random.random((1, *low.shape))
        step = env.step(action.astype(env.action_space.dtype))
        seen += [step.final_observation.ravel(), step.reward]
        if step.ended[0]:
            break
    return np.concatenate(seen)
