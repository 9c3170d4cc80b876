"""Humanoid as Gymnasium v5 defines it, written for a batch, contact forces included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from drspcrl.envs.tasks import Outcome, Reader, Task, uniform_starts

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
        self._seconds = batch.model.opt.timestep * task.frame_skip

    def _mass_centre(self, ids: np.ndarray | slice) -> np.ndarray:
        positions = self._xipos[ids]
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
        self._centre[ids] = self._mass_centre(ids)
        observation = self._observe(ids)
        observation[:, -self._contact[0, 1:].size :] = 0.0  # as a reset leaves them in Gymnasium
        return observation

    def before(self, actions: np.ndarray) -> None:
        return  # the centre of mass is kept from the last reading

    def after(self) -> Outcome:
        task, everyone = self._task, slice(None)
        # A step leaves cfrc_ext alone; Gymnasium asks for it by this function, too.
        self._batch.apply("mj_rnePostConstraint")
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
        return Outcome(self._observe(everyone), rewards - (control + contact), ~healthy)

    def state(self) -> dict[str, np.ndarray]:
        return {"centre": self._centre.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._centre = state["centre"].copy()
