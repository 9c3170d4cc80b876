"""Perturbed observations: noise, bias and dropout."""

import gymnasium
import numpy as np

from drspcrl.perturbations.kernel import Context, Kernel, check_range, needs_float
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.physics.streams import Draws


class ObservationNoiseKernel(Kernel):
    """See `ObservationNoise`."""

    stream = 2
    hooks = frozenset({"observation"})
    leaves_observation_space = True

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        needs_float(context.observation_space, "observation noise")
        size = int(np.prod(context.observation_space.shape))
        self.draws = Draws(context.num_envs, size, normal=True)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A standard deviation."""
        check_range("observation noise", level, 0.0, np.inf, closed=False)

    def observation(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """Add independent noise to every number."""
        noise = self.take(ids).reshape(observations.shape)
        return _shifted(observations, self.column(ids, observations) * noise)


class ObservationNoise(PerturbationWrapper):
    """Independent Gaussian noise of standard deviation `level` on every observed number.

    Args:
        env: environment with floating-point observations.
        level: standard deviation, in the observation's own units.
    """

    Kernel = ObservationNoiseKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


class ObservationBiasKernel(Kernel):
    """See `ObservationBias`."""

    stream = 6
    hooks = frozenset({"begin", "observation"})
    leaves_observation_space = True

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        shape = context.observation_space.shape
        needs_float(context.observation_space, "observation bias")
        self.draws = Draws(context.num_envs, int(np.prod(shape)), normal=True, ahead=False)
        self._bias = np.zeros((context.num_envs, *shape))

    @classmethod
    def check_level(cls, level: float) -> None:
        """A standard deviation."""
        check_range("observation bias", level, 0.0, np.inf, closed=False)

    def begin(self, ids: np.ndarray) -> None:
        """Draw the bias of the episode."""
        drawn = self.take(ids).reshape(len(ids), *self._bias.shape[1:])
        self._bias[ids] = self.column(ids, drawn) * drawn

    def observation(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """Add the episode's bias."""
        return _shifted(observations, self._bias[ids])

    def memory(self) -> dict[str, np.ndarray]:
        """The biases."""
        return {"bias": self._bias}


class ObservationBias(PerturbationWrapper):
    """A constant error on every observed number, drawn again for each episode from N(0, level²).

    Args:
        env: environment with floating-point observations.
        level: standard deviation, in the observation's own units.
    """

    Kernel = ObservationBiasKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


class ObservationDropoutKernel(Kernel):
    """See `ObservationDropout`."""

    stream = 5
    hooks = frozenset({"observation"})
    leaves_observation_space = True

    def __init__(self, context: Context, layer: str):
        super().__init__(context, layer)
        self.draws = Draws(context.num_envs, int(np.prod(context.observation_space.shape)))

    @classmethod
    def check_level(cls, level: float) -> None:
        """A probability."""
        check_range("observation dropout", level, 0.0, 1.0)

    def observation(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """Read 0 where the coin says so."""
        lost = self.take(ids).reshape(observations.shape) < self.column(ids, observations)
        return np.where(lost, np.zeros((), observations.dtype), observations)


class ObservationDropout(PerturbationWrapper):
    """Every observed number independently reads 0 with probability `level`.

    Args:
        env: environment.
        level: probability in [0, 1].
    """

    Kernel = ObservationDropoutKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


def _shifted(observations: np.ndarray, shift: np.ndarray) -> np.ndarray:
    # Adding 0 would turn -0.0 into 0.0; level 0 is to change no bit.
    moved = (observations + shift).astype(observations.dtype)
    return np.where(shift == 0.0, observations, moved)
