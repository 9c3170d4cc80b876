"""One's own environment in worlds: how it takes parameters, and whether it does so soundly."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.envs.batch import BatchEnv
from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.worlds.declare import Declared, Parameter

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
        parameters: what the environment declares; none for those of a worlds file alone.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        function: Callable[[Any, Mapping[str, float]], None],
        parameters: Sequence[Parameter] = (),
    ):
        super().__init__(env)
        self._function = function
        if parameters:
            self.world_parameters = tuple(parameters)

    def set_world(self, values: Mapping[str, float]) -> None:
        """Give the environment other values of its parameters."""
        return self._function(self.env.unwrapped, values)


def with_own_parameters(worlds: Declared, env: BatchEnv) -> Declared:
    """What is declared, with the parameters that an environment declares itself.

    A parameter of the same name that a user declares takes the place of the environment's.

    Raises:
        InputError: a parameter that the environment does not have, or a declaration of its own that
            does not fit.
    """
    given = tuple(env.simulation.world_parameters)
    if not given:
        return worlds
    try:
        own = {p.name: p for p in Declared(parameters=given).parameters}
    except InputError as error:
        raise InputError(f"world_parameters of the environment: {error}") from None
    for parameter in worlds.parameters:
        if parameter.name not in own:
            raise InputError(
                f"worlds: unknown parameter {shown(parameter.name)}; the environment has "
                f"{', '.join(own)}"
            )
    theirs = {parameter.name: parameter for parameter in worlds.parameters}
    return replace(worlds, parameters=tuple((own | theirs).values()))


def check_set_world(
    env: BatchEnv, parameters: Sequence[Parameter], budget: float = 1.0
) -> tuple[str, ...]:
    """Try an environment's `set_world` before a training depends on it.

    A world that was left must be gone: the same episode is played in the simulator as it is, then
    in distant worlds, then twice more in the simulator, and all of the simulator's must be equal.

    Args:
        env: one environment of its own, which is reset.
        parameters: what it declares.
        budget: ε_budget; the ends of what it reaches are tried.

    Returns:
        Parameters that changed nothing in the first steps of the episode.

    Raises:
        InputError: `set_world` is missing, raises, returns something, or compounds, or a world has
            readings that are no numbers.
    """
    nominal = {p.name: float(p.nominal) for p in parameters}
    away = {p.name: _distant(p) for p in parameters}
    before, again = _played(env, nominal), _episode(env)
    low, high = ({p.name: _within(p, p.ends(budget)[k]) for p in parameters} for k in (0, 1))
    for world in (low, high, away):
        _played(env, world)
    after, twice = _played(env, nominal), _played(env, nominal)
    if not np.array_equal(before, again):
        return ()  # an environment with randomness of its own tells nothing here
    if not (np.array_equal(before, after) and np.array_equal(before, twice)):
        raise InputError(
            "set_world compounds: after another world was set and left again, the same episode "
            f"went differently; set {', '.join(nominal)} from the values that set_world is given, "
            "never from what they were before"
        )
    alone = {p.name: nominal | {p.name: away[p.name]} for p in parameters if p.size}
    still = (name for name, world in alone.items() if np.array_equal(before, _played(env, world)))
    return tuple(still)


def _distant(parameter: Parameter) -> float:
    """Another value of a parameter, one that makes sense."""
    sign = -1.0 if parameter.law == "below" else 1.0
    return _within(parameter, parameter.nominal + sign * parameter.size)


def _within(parameter: Parameter, value: float) -> float:
    return float(min(max(value, parameter.low), parameter.high))


def _played(env: BatchEnv, world: Mapping[str, float]) -> np.ndarray:
    """`_episode` in a world; an `InputError` where it has readings that are no numbers."""
    env.simulation.set_world(0, world)
    seen = _episode(env)
    for fault in env.take_faults().values():
        where = ", ".join(f"{name} = {value:g}" for name, value in world.items())
        raise InputError(
            f"the environment gave {fault.reading} in the world {where}; look for it in the "
            "environment, or declare a smaller tolerance or bounds (low, high)"
        )
    return seen


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
