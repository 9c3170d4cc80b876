"""A user's own environment: where it comes from, and errors that say that it was its code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from drspcrl import named
from drspcrl.display import shown
from drspcrl.errors import InputError

Factory = Callable[..., gymnasium.Env]


class EnvironmentFailedError(InputError):
    """An environment's own code raised an error, or gave what no environment may give."""


def factory_of(name: str) -> Factory:
    """What makes the environment of a Gymnasium id, of `module:Id` or of `module:function`.

    It takes options such as `render_mode` as Gymnasium's `make` does, a user's function if it can.

    Raises:
        InputError: there is no such environment, or its module cannot be imported.
    """
    return _Imported(name) if ":" in name else _Registered(name, name)


class _Imported:
    """The environment `module:name`; another process imports the module, too."""

    def __init__(self, name: str):
        self._name = name
        self._maker()

    def __call__(self, **options: Any) -> gymnasium.Env:
        return self._maker()(**options)

    def _maker(self) -> Factory:
        module, (_, rest) = named.module_of(self._name), named.split(self._name)
        if rest in gymnasium.registry:
            return _Registered(rest, self._name)
        found: Any = named.attribute_of(module, rest)
        if callable(found):
            return found  # type: ignore[return-value]
        return _Registered(rest, self._name)  # an id without its version, or none at all


class _Registered:
    """An environment in Gymnasium's registry, whose entry another process gets to see as well."""

    def __init__(self, identifier: str, name: str):
        try:
            self._spec = gymnasium.spec(identifier)
        except gymnasium.error.Error as error:
            reason = str(error).split("\n")[0].rstrip(".")
            raise InputError(
                f"environment {shown(name)} is unknown ({reason}); {_REMEDY}"
            ) from None

    def __call__(self, **options: Any) -> gymnasium.Env:
        return gymnasium.make(self._spec, **options)


_REMEDY = (
    "give Hopper, HalfCheetah, Walker2d, Humanoid, a Gymnasium id, my_module:My-v0 for an id that "
    "my_module registers or a function or class in it (of a run folder: --trust my_module:My-v0), "
    "or in Python a function that makes an environment"
)


class Guarded(gymnasium.Wrapper):
    """Raises what goes wrong in an environment as an `EnvironmentFailedError` that names it.

    Else a file that it may not read would pass for a full disk, and `sys.exit()` for success.

    Args:
        factory: makes the environment.
        name: what to call it.
        number: which of several it is, None for one that is only looked at.
    """

    def __init__(self, factory: Factory, name: str, number: int | None = None):
        self._who = f"environment {name}" + ("" if number is None else f" (number {number})")
        with self.blamed("could not be made"):
            env = factory()
        if not isinstance(env, gymnasium.Env):
            raise EnvironmentFailedError(
                f"{self._who} could not be made: what should make it gave {type(env).__name__}; "
                "return a gymnasium.Env"
            )
        super().__init__(env)
        self._shape = env.observation_space.shape

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """See `gymnasium.Env`."""
        with self.blamed("failed in reset()"):
            observation, info = self.env.reset(**options)
        return self._checked(observation, "reset"), info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env`."""
        with self.blamed("failed in step()"):
            observation, reward, terminated, truncated, info = self.env.step(action)
        return self._checked(observation, "step"), reward, terminated, truncated, info

    def declared_parameters(self) -> Sequence[Any]:
        """What the environment declares of its worlds, its attribute `world_parameters`."""
        if not self.env.has_wrapper_attr("world_parameters"):
            return ()
        with self.blamed("failed in world_parameters"):
            declared = self.env.get_wrapper_attr("world_parameters")
            if callable(declared):
                raise EnvironmentFailedError(
                    f"{self._who}: its world_parameters is a method, where an attribute is read; "
                    "make it a sequence of drspcrl.worlds.Parameter, or put @property above it"
                )
            return tuple(declared)

    def set_world(self, values: Mapping[str, float]) -> None:
        """Give the environment other values of its world parameters.

        Raises:
            EnvironmentFailedError: it cannot take them.
        """
        own = None
        if self.env.has_wrapper_attr("set_world"):
            own = self.env.get_wrapper_attr("set_world")
        if not callable(own):
            raise EnvironmentFailedError(
                f"{self._who} has no set_world(values), and worlds declare the parameters "
                f"{', '.join(values)}; give it that method, or wrap it in "
                "drspcrl.worlds.SetWorld(env, function)"
            )
        with self.blamed(f"failed in set_world(), which was given {', '.join(values)}"):
            returned = own(dict(values))
        if returned is not None:
            raise EnvironmentFailedError(
                f"{self._who} returned {type(returned).__name__} from set_world(); it must change "
                "the environment and return nothing"
            )

    def close(self) -> None:
        """See `gymnasium.Env`."""
        with self.blamed("failed in close()"):
            self.env.close()

    def _checked(self, observation: Any, method: str) -> Any:
        if np.shape(observation) != self._shape:
            raise EnvironmentFailedError(
                f"{self._who} gave an observation of shape {np.shape(observation)} in {method}(); "
                f"its observation_space says {self._shape}"
            )
        return observation

    @contextmanager
    def blamed(self, what: str) -> Iterator[None]:
        """Raise an error of the environment's own code as an `EnvironmentFailedError`."""
        try:
            yield
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
            raise EnvironmentFailedError(
                f"{self._who} {what}: {reason} (--debug shows where)"
            ) from error
