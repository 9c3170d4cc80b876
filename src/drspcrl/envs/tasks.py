"""The four tasks as Gymnasium v5 defines them, written for a batch.

The order of operations is Gymnasium's, so that rewards and observations are equal bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from drspcrl.physics.engine import Model
    from drspcrl.physics.pool import Simulations


class TaskStep(NamedTuple):
    """What a task makes of the simulators' states after a step."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray


class Task(ABC):
    """The part of an environment that is not physics.

    Attributes:
        xml: name of the model among Gymnasium's assets.
        frame_skip: physics steps per environment step.
        persistent: whether the task needs one full `MjData` per simulation.
        starts_ahead: how many starts to draw at once; results do not depend on it.
    """

    xml: str
    frame_skip: int
    persistent: bool = False
    starts_ahead: int = 16

    @abstractmethod
    def starts(self, model: Model, generator: np.random.Generator, count: int) -> np.ndarray:
        """Draw the start positions and velocities of the next episodes, [count, nq + nv].

        The numbers, and where they leave the generator, are those of `count` single draws.
        """

    @abstractmethod
    def reader(self, batch: Simulations) -> Reader:
        """Make what reads observations and rewards out of a batch."""


class Reader(ABC):
    """Reads observations and rewards out of a batch of simulations."""

    @abstractmethod
    def first(self, ids: np.ndarray) -> np.ndarray:
        """The observations of simulations whose episodes have just begun."""

    @abstractmethod
    def before(self, actions: np.ndarray) -> None:
        """Remember what the reward needs from before the step."""

    @abstractmethod
    def after(self) -> TaskStep:
        """The outcome of the step that was just taken."""

    def state(self) -> dict[str, np.ndarray]:
        """What is remembered between steps."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a `state()`."""
        return


def asset(name: str) -> Path:
    """The path of one of Gymnasium's own models."""
    import gymnasium

    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name


def uniform_starts(
    model: Model, generator: np.random.Generator, count: int, scale: float
) -> np.ndarray:
    """Starts with uniform noise, see `Task.starts`: one draw for all, in Gymnasium's order."""
    rows = generator.uniform(-scale, scale, (count, model.nq + model.nv))
    rows[:, : model.nq] += model.qpos0
    return rows


@dataclass(frozen=True)
class Planar(Task):
    """Hopper, HalfCheetah and Walker2d: run forward along x.

    Attributes:
        xml: name of the model among Gymnasium's assets.
        frame_skip: physics steps per environment step.
        control_weight: cost of squared actions.
        reset_noise: scale of the start noise.
        gaussian_velocity: start velocities are normal, not uniform.
        velocity_limit: observed velocities are clipped to ± this.
        healthy: which states (qpos but for x, qvel) are healthy; None where a fall does not exist.
        starts_ahead: how many starts to draw at once.
    """

    xml: str
    frame_skip: int
    control_weight: float
    reset_noise: float
    gaussian_velocity: bool = False
    velocity_limit: float = np.inf
    healthy: Callable[[np.ndarray], np.ndarray] | None = None
    starts_ahead: int = 16

    def starts(self, model: Model, generator: np.random.Generator, count: int) -> np.ndarray:
        """See `Task`."""
        scale = self.reset_noise
        if not self.gaussian_velocity:
            return uniform_starts(model, generator, count, scale)
        rows = np.empty((count, model.nq + model.nv))
        for row in rows:
            row[: model.nq] = model.qpos0 + generator.uniform(-scale, scale, model.nq)
            row[model.nq :] = scale * generator.standard_normal(model.nv)
        return rows

    def reader(self, batch: Simulations) -> Reader:
        """See `Task`."""
        return _PlanarReader(self, batch)


class _PlanarReader(Reader):
    def __init__(self, task: Planar, batch: Simulations):
        self._task = task
        self._qpos, self._qvel = batch.bind("qpos"), batch.bind("qvel")
        self._seconds = batch.model.opt.timestep * task.frame_skip
        self._x = self._qpos[:, 0].copy()
        self._control_cost = np.zeros(batch.nsim)

    def _state(self, ids: np.ndarray | slice) -> np.ndarray:
        return np.concatenate([self._qpos[ids, 1:], self._qvel[ids]], axis=1)

    def _clip(self, state: np.ndarray) -> np.ndarray:
        limit = self._task.velocity_limit
        if not np.isinf(limit):
            velocity = state[:, -self._qvel.shape[1] :]
            np.minimum(velocity, limit, out=velocity)
            np.maximum(velocity, -limit, out=velocity)
        return state

    def first(self, ids: np.ndarray) -> np.ndarray:
        return self._clip(self._state(ids))

    def before(self, actions: np.ndarray) -> None:
        self._x = self._qpos[:, 0].copy()
        # Summed in the actions' own precision, as Gymnasium does.
        self._control_cost = self._task.control_weight * np.sum(np.square(actions), axis=1)

    def after(self) -> TaskStep:
        state = self._state(slice(None))
        reward = (self._qpos[:, 0] - self._x) / self._seconds
        terminated = np.zeros(len(reward), bool)
        if self._task.healthy is not None:
            healthy = self._task.healthy(state)
            reward = reward + healthy * 1.0
            terminated = ~healthy
        return TaskStep(self._clip(state), reward - self._control_cost, terminated)


def _hopper_healthy(state: np.ndarray) -> np.ndarray:
    standing = (state[:, 0] > 0.7) & (np.abs(state[:, 1]) < 0.2)
    magnitude = np.abs(state)
    if magnitude.max() < 100.0:  # nearly always, and quickly seen
        return standing
    return standing & (magnitude[:, 1:].max(axis=1) < 100.0)  # false for what is no number, too


def _walker_healthy(state: np.ndarray) -> np.ndarray:
    height, tilt = state[:, 0], state[:, 1]
    return (height > 0.8) & (height < 2.0) & (np.abs(tilt) < 1.0)


HOPPER = Planar(
    "hopper.xml",
    frame_skip=4,
    control_weight=1e-3,
    reset_noise=5e-3,
    velocity_limit=10.0,
    healthy=_hopper_healthy,
)
HALF_CHEETAH = Planar(
    "half_cheetah.xml",
    frame_skip=5,
    control_weight=0.1,
    reset_noise=0.1,
    gaussian_velocity=True,
    starts_ahead=1,  # uniform and normal numbers in turns are no cheaper in blocks
)
WALKER2D = Planar(
    "walker2d_v5.xml",
    frame_skip=4,
    control_weight=1e-3,
    reset_noise=5e-3,
    velocity_limit=10.0,
    healthy=_walker_healthy,
)


if TYPE_CHECKING:
    from drspcrl.physics.engine import Model
    from drspcrl.physics.pool import Pool, Simulations


class Humanoid(Task):
    """Walk forward without falling over."""

    xml = "humanoid.xml"
    frame_skip = 5
    persistent = True
    reset_noise = 1e-2
    forward_weight = 1.25
    healthy_reward = 5.0
    control_weight = 0.1
    contact_weight = 5e-7
    contact_limit = 10.0

    def starts(self, model: Model, generator: np.random.Generator, count: int) -> np.ndarray:
        """See `Task`."""
        return uniform_starts(model, generator, count, self.reset_noise)

    def reader(self, batch: Simulations) -> Reader:
        """See `Task`."""
        from drspcrl.physics.pool import Pool

        assert isinstance(batch, Pool)  # which persistent tasks get
        return _HumanoidReader(self, batch)


class _HumanoidReader(Reader):
    def __init__(self, task: Humanoid, batch: Pool):
        self._task, self._batch = task, batch
        self._qpos, self._qvel = batch.bind("qpos"), batch.bind("qvel")
        self._ctrl, self._xipos = batch.bind("ctrl"), batch.bind("xipos")
        self._inertia, self._velocity = batch.bind("cinert"), batch.bind("cvel")
        self._actuation = batch.bind("qfrc_actuator")
        self._contact = batch.bind("cfrc_ext")
        self._centre = np.zeros((batch.nsim, 2))
        # After a restoration the batch has no positions until its next step.
        self._restored: np.ndarray | None = None
        self._unknown = False
        self._seconds = batch.model.opt.timestep * task.frame_skip

    def _mass_centre(self, ids: np.ndarray | slice) -> np.ndarray:
        positions = (self._xipos if self._restored is None else self._restored)[ids]
        masses = self._batch.expanded("body_mass")
        if masses is None:
            mass = self._batch.model.body_mass
            return (np.einsum("b,nbj->nj", mass, positions) / mass.sum())[:, :2]
        masses = masses[ids]
        total = masses.sum(axis=1, keepdims=True)
        return (np.einsum("nb,nbj->nj", masses, positions) / total)[:, :2]

    def _observe(self, ids: np.ndarray | slice) -> np.ndarray:
        qpos = self._qpos[ids]
        parts = (
            qpos[:, 2:],
            self._qvel[ids],
            self._inertia[ids, 1:].reshape(len(qpos), -1),
            self._velocity[ids, 1:].reshape(len(qpos), -1),
            self._actuation[ids, 6:],
            self._contact[ids, 1:].reshape(len(qpos), -1),
        )
        return np.concatenate(parts, axis=1)

    def first(self, ids: np.ndarray) -> np.ndarray:
        if self._restored is not None:
            self._restored[ids] = self._xipos[ids]
        self._centre[ids] = self._mass_centre(ids)
        observation = self._observe(ids)
        observation[:, -self._contact[0, 1:].size :] = 0.0  # as a reset leaves them in Gymnasium
        return observation

    def before(self, actions: np.ndarray) -> None:
        # The centre of mass is kept from the last reading, unless masses may have changed since.
        if self._batch.expanded("body_mass") is not None and not self._unknown:
            self._centre[:] = self._mass_centre(slice(None))

    def after(self) -> TaskStep:
        task, everyone = self._task, slice(None)
        # A step leaves cfrc_ext alone; Gymnasium asks for it by this function, too.
        self._batch.apply("mj_rnePostConstraint")
        self._restored, self._unknown = None, False
        centre = self._mass_centre(everyone)
        velocity = ((centre - self._centre) / self._seconds)[:, 0]
        self._centre = centre
        healthy = (self._qpos[:, 2] > 1.0) & (self._qpos[:, 2] < 2.0)
        rewards = task.forward_weight * velocity + healthy * task.healthy_reward
        squares = np.square(self._contact).reshape(len(healthy), -1)
        contact = np.clip(
            task.contact_weight * np.sum(squares, axis=1), -np.inf, task.contact_limit
        )
        control = task.control_weight * np.sum(np.square(self._ctrl), axis=1)
        return TaskStep(self._observe(everyone), rewards - (control + contact), ~healthy)

    def state(self) -> dict[str, np.ndarray]:
        centre = {"centre": self._centre.copy()}
        if self._batch.expanded("body_mass") is None:
            return centre
        positions = self._xipos if self._restored is None else self._restored
        return {**centre, "positions": positions.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._centre = state["centre"].copy()
        found = state.get("positions")  # states of earlier versions have none
        self._restored = None if found is None else found.copy()
        self._unknown = found is None
