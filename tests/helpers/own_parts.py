"""One part of each kind, as a user would write it in a module of their own."""

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.config.field import number
from drspcrl.config.learners import DDPGSettings
from drspcrl.curricula import Setup, Signal
from drspcrl.divergences import CressieRead
from drspcrl.evaluation import Suite
from drspcrl.learners.ddpg import DDPG
from drspcrl.learners.uncertainty import Uncertainty
from drspcrl.perturbations import Perturbation
from drspcrl.perturbations.kernel import Kernel, check_range
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.transitions.nominal import Draws, Noise, Scales, Transition


@dataclass(frozen=True)
class QuietSettings(DDPGSettings):
    """DDPG's numbers and one more."""

    calm: float = number(0.5, "share of the actor's action that is taken", above=0, most=1)


@dataclass(frozen=True)
class Quiet(DDPG):
    """A learner: DDPG whose evaluated actions are smaller."""

    Settings: ClassVar[type[DDPGSettings]] = QuietSettings
    calm: float = 0.5

    @classmethod
    def of(cls, settings: Any, uncertainty: Uncertainty) -> "Quiet":
        """With its own number."""
        return cls(settings.hidden, settings.actor_every, uncertainty, settings.calm)

    def act_deterministic(self, state: Any, observations: Array) -> Array:
        """Smaller than DDPG's."""
        return self.calm * super().act_deterministic(state, observations)


@dataclass(frozen=True)
class HalfChiSquared(CressieRead):
    """A divergence: half of χ², by its generator alone."""

    power: float = 2.0


@dataclass(frozen=True)
class UniformSensor(Noise):
    """A nominal model: sensor noise that is uniform."""

    def sample(self, state: Any, key: Array, scales: Scales, transition: Transition, n: int) -> Any:
        """η alone."""
        shape = (n, transition.next_observation.shape[-1])
        zeros = jnp.zeros(shape)
        error = jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)
        actions = jnp.zeros((n, transition.action.shape[-1]))
        return Draws(zeros, jnp.asarray(scales.sensor) * error, actions, jnp.zeros(n))


@dataclass(frozen=True)
class Stairs:
    """A curriculum: a tenth of the budget more at every iteration."""

    budget: float

    def __init__(self, setup: Setup):
        object.__setattr__(self, "budget", setup.settings.epsilon_budget)

    def init(self, seed: int) -> dict[str, Any]:
        """On the ground."""
        return {"steps": 0}

    def epsilon(self, state: dict[str, Any]) -> float:
        """As high as it is now."""
        return min(1.0, 0.1 * state["steps"]) * self.budget

    def update(self, state: dict[str, Any], signal: Signal) -> dict[str, Any]:
        """One step."""
        return {"steps": state["steps"] + 1}


class WeakMotorsKernel(Kernel):
    """Actions lose the fraction `level` of their size."""

    stream = 100
    hooks = frozenset({"action"})

    @classmethod
    def check_level(cls, level: float) -> None:
        """A fraction."""
        check_range("weak motors", level, 0.0, 1.0)

    def action(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """What arrives."""
        return (actions * (1.0 - self.column(ids, actions))).astype(actions.dtype)


class WeakMotors(PerturbationWrapper):
    """A perturbation."""

    Kernel = WeakMotorsKernel

    def __init__(self, env: gymnasium.Env, level: float):
        super().__init__(env, level)


SUITE = Suite("weak_motors", (None, Perturbation("own_parts:WeakMotors", 1.0)), "a suite")
