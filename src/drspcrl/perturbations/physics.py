"""Perturbed physics: random parameters, and one parameter at a multiple of its value or a value."""

from collections.abc import Sequence

import gymnasium
import numpy as np

from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import Context, Kernel, check_range, needs_physics
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.physics.components import DEFAULT_PARAMETERS
from drspcrl.physics.streams import Draws


class PhysicsNoiseKernel(Kernel):
    """See `PhysicsNoise`."""

    stream = 3
    hooks = frozenset({"begin"})

    def __init__(
        self, context: Context, layer: str, parameters: Sequence[str] = DEFAULT_PARAMETERS
    ):
        super().__init__(context, layer)
        self._physics = needs_physics(context.physics, "physics noise")
        components = self._physics.components
        if tuple(parameters) == DEFAULT_PARAMETERS:  # as far as the model has them
            families = {name.split(":")[0] for name in components.names}
            parameters = [family for family in DEFAULT_PARAMETERS if family in families]
        if not len(parameters):
            raise InputError("physics noise got no parameters; name some, e.g. ['mass', 'gravity']")
        self._selected = components.select(parameters)
        self.draws = Draws(context.num_envs, len(self._selected), ahead=False)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A relative deviation below 1, where masses would vanish."""
        check_range("physics noise", level, 0.0, 1.0, closed=False)

    def begin(self, ids: np.ndarray) -> None:
        """Draw the physics of the episode."""
        scales = np.ones((len(ids), len(self._physics.names)))
        scales[:, self._selected] += self.levels[ids][:, None] * (2.0 * self.take(ids) - 1.0)
        self._physics.set_scales(ids, scales, self.layer)

    def retire(self, ids: np.ndarray) -> None:
        """Back to nominal."""
        self._physics.set_scales(ids, np.ones(len(self._physics.names)), self.layer)


class PhysicsNoise(PerturbationWrapper):
    """At each reset every component is scaled by its own factor, uniform in [1 − level, 1 + level].

    Args:
        env: environment with a MuJoCo model (`env.unwrapped.model` and `.data`).
        level: relative deviation in [0, 1).
        parameters: `mass`, `friction`, `damping`, `armature`, `gravity`, `gear`, `stiffness`, or
            one component such as `mass:torso`; by default the first six, as far as the model has
            them. Bodies scale with their inertia; what is nominally 0 stays 0.
    """

    Kernel = PhysicsNoiseKernel

    def __init__(
        self, env: gymnasium.Env, level: float, parameters: Sequence[str] = DEFAULT_PARAMETERS
    ):
        super().__init__(env, level, parameters=parameters)


class PhysicsScaleKernel(Kernel):
    """See `PhysicsScale`."""

    stream = 0  # draws nothing
    hooks = frozenset({"begin"})
    nominal = 1.0

    def __init__(self, context: Context, layer: str, parameter: str):
        super().__init__(context, layer)
        self._physics = needs_physics(context.physics, "physics scale")
        self._selected = self._physics.components.select([parameter])

    @classmethod
    def check_level(cls, level: float) -> None:
        """A positive factor."""
        check_range("physics scale", level, 1e-6, np.inf, closed=False)

    def begin(self, ids: np.ndarray) -> None:
        """Set the factor."""
        scales = np.ones((len(ids), len(self._physics.names)))
        scales[:, self._selected] = self.levels[ids][:, None]
        self._physics.set_scales(ids, scales, self.layer)

    def retire(self, ids: np.ndarray) -> None:
        """Back to nominal."""
        self._physics.set_scales(ids, np.ones(len(self._physics.names)), self.layer)


class PhysicsScale(PerturbationWrapper):
    """One physics parameter is `level` times its nominal value; 1 changes nothing.

    Args:
        env: environment with a MuJoCo model.
        level: positive factor.
        parameter: `mass` (all bodies), `mass:torso` (one of them), `friction`, …
    """

    Kernel = PhysicsScaleKernel

    def __init__(self, env: gymnasium.Env, level: float, parameter: str):
        super().__init__(env, level, parameter=parameter)


class PhysicsValueKernel(Kernel):
    """See `PhysicsValue`."""

    stream = 0  # draws nothing
    hooks = frozenset({"begin"})
    nominal = np.nan  # no level changes nothing, but that of the model itself

    def __init__(self, context: Context, layer: str, parameter: str):
        super().__init__(context, layer)
        self._physics = needs_physics(context.physics, "physics value")
        self._selected = self._physics.components.select([parameter])
        if parameter.split(":")[0] == "gravity":
            raise InputError(
                "gravity is a vector, which a value does not set; take scale[gravity], a factor"
            )

    @classmethod
    def check_level(cls, level: float) -> None:
        """A value that is not negative."""
        check_range("physics value", level, 0.0, np.inf, closed=False)

    def begin(self, ids: np.ndarray) -> None:
        """Set the value."""
        values = np.full((len(ids), len(self._physics.names)), np.nan)
        values[:, self._selected] = self.levels[ids][:, None]
        self._physics.set_values(ids, values, self.layer)

    def retire(self, ids: np.ndarray) -> None:
        """Back to the model's own."""
        self._physics.set_values(ids, np.full(len(self._physics.names), np.nan), self.layer)


class PhysicsValue(PerturbationWrapper):
    """One number of the model is `level`, and nothing follows from it.

    This is what M2TD3 and RRLS do. A mass changes without its inertia, a friction in its sliding
    coefficient alone, and constants that MuJoCo derives from them stay. `PhysicsScale` is the
    change that a real body would undergo.

    Args:
        env: environment with a MuJoCo model.
        level: the value, in the model's own unit.
        parameter: `mass:torso`, `friction:floor`, or `friction` for all geoms.
    """

    Kernel = PhysicsValueKernel

    def __init__(self, env: gymnasium.Env, level: float, parameter: str):
        super().__init__(env, level, parameter=parameter)
