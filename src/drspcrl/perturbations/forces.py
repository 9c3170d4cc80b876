"""Forces on bodies: a push of one, constant or swinging, and random gusts on all."""

from collections.abc import Sequence

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
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
    """A Gaussian force on the centre of mass of every body, drawn again at each step.

    Args:
        env: environment with a MuJoCo model.
        level: standard deviation of each of a force's three components, in units of the body's own
            nominal weight.
    """

    Kernel = GustsKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


class ExternalPushKernel(Kernel):
    """See `ExternalPush`."""

    stream = 4
    hooks = frozenset({"begin", "force"})

    def __init__(
        self,
        context: Context,
        layer: str,
        body: str | None = None,
        direction: Sequence[float] = (1.0, 0.0, 0.0),
        frequency: float = 0.0,
    ):
        super().__init__(context, layer)
        self._physics = needs_physics(context.physics, "an external push")
        self._body = self._physics.body(body)
        self._direction = _unit(direction)
        check_range("push frequency", frequency, 0.0, np.inf, closed=False)
        self._frequency = frequency
        self.draws = Draws(context.num_envs, 1, ahead=False)
        self._phase = np.zeros(context.num_envs)
        self._step = np.zeros(context.num_envs, np.int64)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A force in body weights."""
        check_range("push", level, 0.0, np.inf, closed=False)

    def begin(self, ids: np.ndarray) -> None:
        """Draw where in its period the push begins."""
        self._phase[ids] = self.take(ids)[:, 0]
        self._step[ids] = 0

    def force(self, ids: np.ndarray) -> None:
        """Push during the coming step."""
        size = self.levels[ids] * self._physics.weight
        if self._frequency:
            seconds = self._step[ids] * self._physics.step_seconds
            size = size * np.sin(2.0 * np.pi * (self._frequency * seconds + self._phase[ids]))
        self._step[ids] += 1
        self._physics.add_force(ids, self._body, size[:, None] * self._direction)

    def memory(self) -> dict[str, np.ndarray]:
        """Phase and time."""
        return {"phase": self._phase, "step": self._step}


class ExternalPush(PerturbationWrapper):
    """A force on a body's centre of mass, held over each environment step.

    Args:
        env: environment with a MuJoCo model.
        level: size (or amplitude) of the force, in units of the nominal weight of all bodies.
        body: name of the body; the first that moves by default.
        direction: world direction, of any length.
        frequency: in hertz; 0 is a constant push, otherwise it swings as a sine whose phase is
            drawn at each reset.
    """

    Kernel = ExternalPushKernel

    def __init__(
        self,
        env: gymnasium.Env,
        level: float,
        body: str | None = None,
        direction: Sequence[float] = (1.0, 0.0, 0.0),
        frequency: float = 0.0,
    ):
        super().__init__(env, level, body=body, direction=direction, frequency=frequency)


def _unit(direction: Sequence[float]) -> np.ndarray:
    vector = np.asarray(direction, float)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)) or not np.any(vector):
        raise InputError(f"push direction is {shown(direction)}; give three numbers, not all 0")
    return vector / np.linalg.norm(vector)
