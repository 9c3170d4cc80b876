"""Faults: something breaks at one step of an episode, and may work again from a later one."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations.kernel import (
    Context,
    Kernel,
    NotInTaskError,
    check_range,
    needs_bounds,
    needs_physics,
)
from drspcrl.perturbations.physics import PhysicsScaleKernel
from drspcrl.perturbations.wrapper import PerturbationWrapper
from drspcrl.physics.streams import Draws


class FaultKernel(Kernel):
    """A perturbation that acts from step `onset` of an episode up to, and without, step `until`.

    Args:
        context: the environments.
        layer: where its physics is kept.
        onset: the first step with the fault, counted from 0.
        until: the first step without it again; None for a fault that stays.
    """

    def __init__(self, context: Context, layer: str, onset: int, until: int | None):
        super().__init__(context, layer)
        _check_steps(onset, until, context.time_limit)
        self._onset, self._until = onset, until
        self._step = np.zeros(context.num_envs, np.int64)

    def begin(self, ids: np.ndarray) -> None:
        """An episode begins, without the fault."""
        self._step[ids] = 0

    def broken(self, ids: np.ndarray) -> np.ndarray:
        """Which of `ids` have the fault in this step, bool[len(ids)]; the next call is the next."""
        step = self._step[ids]
        self._step[ids] += 1
        return (step >= self._onset) & (True if self._until is None else step < self._until)

    def memory(self) -> dict[str, np.ndarray]:
        """The steps."""
        return {"step": self._step}


def _check_steps(onset: int, until: int | None, limit: int | None) -> None:
    for name, step in (("onset", onset), ("until", until)):
        whole = isinstance(step, int | np.integer) and not isinstance(step, bool) and step >= 0
        if not whole and (step is not None or name == "onset"):
            raise InputError(f"{name} of a fault is {shown(step)}; give a step, 0, 1, 2, …")
    if until is not None and until <= onset:
        raise InputError(
            f"a fault from step {onset} until step {until} never acts; give a later until, or "
            "none for a fault that stays"
        )
    if limit is not None and onset >= limit:
        raise InputError(
            f"onset of a fault is step {onset}, and an episode of this task is over after "
            f"{limit} steps; give an earlier one"
        )


def _count(what: str, level: float) -> None:
    check_range(what, level, 0, np.inf, closed=False)
    if int(level) != level:
        raise InputError(f"{what} level is {shown(level)}; give a whole number")


def _chosen(drawn: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """As many random columns as each row is to have, bool, from uniform numbers."""
    order = np.argsort(np.argsort(drawn, axis=1), axis=1)
    return order < counts[:, None]


class StuckJointKernel(FaultKernel):
    """See `StuckJoint`."""

    stream = 9
    hooks = frozenset({"begin", "force"})

    def __init__(
        self,
        context: Context,
        layer: str,
        joints: Sequence[str] | None = None,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(context, layer, onset, until)
        self._physics = needs_physics(context.physics, "a stuck joint")
        self._joints = np.array(self._physics.joints(joints), int)
        if not len(self._joints):
            raise NotInTaskError("no motor of this task drives a joint", "no motor drives a joint")
        self.draws = Draws(context.num_envs, len(self._joints), ahead=False)
        self._sticks = np.zeros((context.num_envs, len(self._joints)), bool)
        self._stuck = np.zeros(context.num_envs, bool)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A number of joints."""
        _count("stuck joints", level)

    def check_task(self, level: float) -> None:
        """No more joints than there are."""
        check_range("stuck joints", level, 0, len(self._joints))

    def begin(self, ids: np.ndarray) -> None:
        """Draw which joints will stick; all of them move."""
        super().begin(ids)
        self._sticks[ids] = _chosen(self.take(ids), self.levels[ids])
        self._lock(ids, np.zeros(len(ids), bool))

    def force(self, ids: np.ndarray) -> None:
        """Lock joints at the onset, free them at the end."""
        broken = self.broken(ids)
        changed = broken != self._stuck[ids]
        if changed.any():
            self._lock(ids[changed], broken[changed])

    def _lock(self, ids: np.ndarray, broken: np.ndarray) -> None:
        self._stuck[ids] = broken
        self._physics.lock(ids, self._joints, self._sticks[ids] & broken[:, None], self.layer)

    def retire(self, ids: np.ndarray) -> None:
        """All joints move again."""
        self._lock(ids, np.zeros(len(ids), bool))

    def memory(self) -> dict[str, np.ndarray]:
        """Steps, and which joints stick."""
        return {**super().memory(), "sticks": self._sticks, "stuck": self._stuck}


class StuckJoint(PerturbationWrapper):
    """`level` joints hold the angle that they have at step `onset`, until step `until`.

    A joint is locked by dry friction that no motor overcomes. Which ones it is, is drawn for each
    episode.

    Args:
        env: environment with a MuJoCo model.
        level: how many joints.
        joints: names of those that may stick; by default all that a motor drives.
        onset: the first step with the fault, counted from 0.
        until: the first step without it again; None for a fault that stays.
    """

    Kernel = StuckJointKernel

    def __init__(
        self,
        env: gymnasium.Env,
        level: float,
        joints: Sequence[str] | None = None,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(env, level, joints=joints, onset=onset, until=until)


class DeadSensorKernel(FaultKernel):
    """See `DeadSensor`."""

    stream = 10
    hooks = frozenset({"begin", "observation"})
    leaves_observation_space = True

    def __init__(
        self,
        context: Context,
        layer: str,
        readings: Sequence[int] | None = None,
        zero: bool = False,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(context, layer, onset, until)
        space = context.observation_space
        size = int(np.prod(space.shape))
        self._readings = _indices("reading", readings, size)
        self._zero = zero
        self.draws = Draws(context.num_envs, len(self._readings), ahead=False)
        self._dead = np.zeros((context.num_envs, size), bool)
        self._last = np.zeros((context.num_envs, *space.shape), space.dtype)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A number of readings."""
        _count("dead sensors", level)

    def check_task(self, level: float) -> None:
        """No more readings than there are."""
        check_range("dead sensors", level, 0, len(self._readings))

    def begin(self, ids: np.ndarray) -> None:
        """Draw which readings will die."""
        super().begin(ids)
        dead = np.zeros((len(ids), self._dead.shape[1]), bool)
        dead[:, self._readings] = _chosen(self.take(ids), self.levels[ids])
        self._dead[ids] = dead

    def observation(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """Dead readings stay what they were before the onset, or read 0."""
        first = self._step[ids] == 0
        broken = self.broken(ids)
        keep = ~broken | first  # with a fault from the first step on there is no earlier reading
        self._last[ids[keep]] = observations[keep]
        dead = (self._dead[ids] & broken[:, None]).reshape(observations.shape)
        held = np.zeros((), observations.dtype) if self._zero else self._last[ids]
        return np.where(dead, held, observations).astype(observations.dtype)

    def memory(self) -> dict[str, np.ndarray]:
        """Steps, which readings die, and what they last were."""
        return {**super().memory(), "dead": self._dead, "last": self._last}


class DeadSensor(PerturbationWrapper):
    """`level` observed numbers stay what they were before step `onset`, until step `until`.

    Which ones it is, is drawn for each episode.

    Args:
        env: environment.
        level: how many numbers.
        readings: the numbers that may die, by their place in the observation; by default all.
        zero: whether a dead one reads 0 instead of its last value.
        onset: the first step with the fault, counted from 0.
        until: the first step without it again; None for a fault that stays.
    """

    Kernel = DeadSensorKernel

    def __init__(
        self,
        env: gymnasium.Env,
        level: float,
        readings: Sequence[int] | None = None,
        zero: bool = False,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(env, level, readings=readings, zero=zero, onset=onset, until=until)


class AuthorityLossKernel(FaultKernel):
    """See `AuthorityLoss`."""

    stream = 0  # draws nothing
    hooks = frozenset({"begin", "action"})

    def __init__(
        self,
        context: Context,
        layer: str,
        actuators: Sequence[int] | None = None,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(context, layer, onset, until)
        space = context.action_space
        needs_bounds(space, "authority loss")
        size = int(np.prod(space.shape))
        self._weak = np.isin(np.arange(size), _indices("actuator", actuators, size))
        self._neutral = np.clip(np.zeros(space.shape), space.low, space.high)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A share."""
        check_range("authority loss", level, 0.0, 1.0)

    def action(self, ids: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Move weak actions towards doing nothing."""
        levels = self.column(ids, actions)
        broken = self.broken(ids).reshape(levels.shape) & (levels > 0)
        weak = broken & self._weak.reshape(actions.shape[1:])
        left = self._neutral + (1.0 - levels) * (actions - self._neutral)
        return np.where(weak, left, actions).astype(actions.dtype)


class AuthorityLoss(PerturbationWrapper):
    """Actions lose the share `level` of their effect from step `onset` until step `until`.

    Args:
        env: environment with a bounded action space.
        level: share in [0, 1]; 1 leaves the action 0 (or nearest to it).
        actuators: the components of the action that are weak; by default all.
        onset: the first step with the fault, counted from 0.
        until: the first step without it again; None for a fault that stays.
    """

    Kernel = AuthorityLossKernel

    def __init__(
        self,
        env: gymnasium.Env,
        level: float,
        actuators: Sequence[int] | None = None,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(env, level, actuators=actuators, onset=onset, until=until)


class PhysicsShiftKernel(FaultKernel):
    """See `PhysicsShift`."""

    stream = 0  # draws nothing
    hooks = frozenset({"begin", "force"})
    nominal = 1.0

    def __init__(
        self,
        context: Context,
        layer: str,
        parameter: str,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(context, layer, onset, until)
        self._physics = needs_physics(context.physics, "a shift of physics")
        self._selected = self._physics.components.select([parameter])
        self._shifted = np.zeros(context.num_envs, bool)

    @classmethod
    def check_level(cls, level: float) -> None:
        """A positive factor."""
        PhysicsScaleKernel.check_level(level)

    def begin(self, ids: np.ndarray) -> None:
        """Begin with nominal physics."""
        super().begin(ids)
        self._shift(ids, np.zeros(len(ids), bool))

    def force(self, ids: np.ndarray) -> None:
        """Shift physics at the onset, and back at the end."""
        broken = self.broken(ids)
        changed = broken != self._shifted[ids]
        if changed.any():
            self._shift(ids[changed], broken[changed])

    def _shift(self, ids: np.ndarray, broken: np.ndarray) -> None:
        self._shifted[ids] = broken
        scales = np.ones((len(ids), len(self._physics.names)))
        scales[:, self._selected] = np.where(broken, self.levels[ids], 1.0)[:, None]
        self._physics.set_scales(ids, scales, self.layer)

    def retire(self, ids: np.ndarray) -> None:
        """Back to nominal."""
        self._shift(ids, np.zeros(len(ids), bool))

    def memory(self) -> dict[str, np.ndarray]:
        """Steps, and where physics is shifted."""
        return {**super().memory(), "shifted": self._shifted}


class PhysicsShift(PerturbationWrapper):
    """One physics parameter is `level` times its value from step `onset` until step `until`.

    Args:
        env: environment with a MuJoCo model.
        level: positive factor.
        parameter: `mass`, `mass:torso`, `friction`, …, as in `PhysicsScale`.
        onset: the first step with the shift, counted from 0.
        until: the first step without it again; None for a shift that stays.
    """

    Kernel = PhysicsShiftKernel

    def __init__(
        self,
        env: gymnasium.Env,
        level: float,
        parameter: str,
        onset: int = 0,
        until: int | None = None,
    ):
        super().__init__(env, level, parameter=parameter, onset=onset, until=until)


def _indices(what: str, given: Sequence[int] | None, size: int) -> np.ndarray:
    """Places of numbers in an observation or an action; all of them where none are given."""
    if given is None:
        return np.arange(size)
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    whole = all(isinstance(k, int) and not isinstance(k, bool) and 0 <= k < size for k in listed)
    if not listed or not whole or len(set(listed)) != len(listed):
        raise InputError(
            f"{what}s of a fault are {shown(given)}; give some of 0 to {size - 1}, each once, or "
            "none for all"
        )
    return np.array(listed)
