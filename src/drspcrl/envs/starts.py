"""Start states of many environments, drawn ahead from each one's own random stream."""

from collections.abc import Sequence

import numpy as np

from drspcrl.envs.tasks import Task
from drspcrl.physics.engine import Model
from drspcrl.physics.streams import generator, pack, unpack


class Starts:
    """The next start positions and velocities of every environment.

    Resets come one here, one there, in nearly every step of a large batch, so they must cost a
    gather and no loop in Python. Each environment's starts are drawn some episodes ahead; which
    ones it gets does not depend on how many, and neither does `state`.

    Args:
        task: draws starts.
        model: the task's model.
        num_envs: number of environments.
    """

    def __init__(self, task: Task, model: Model, num_envs: int):
        self._task, self._model = task, model
        self._block = np.zeros((num_envs, task.starts_ahead, model.nq + model.nv))
        self._cursor = np.full(num_envs, task.starts_ahead)
        # Placeholders until seed() is called for an environment.
        self._generators = [generator(np.random.SeedSequence(0)) for _ in range(num_envs)]
        self._marks = [source.bit_generator.state for source in self._generators]

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """Start the streams of some environments anew."""
        for i, sequence in zip(ids, sequences, strict=True):
            self._generators[i] = generator(sequence)
        self._cursor[ids] = self._task.starts_ahead

    def take(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The positions and velocities of the next episodes of `ids`, one row each."""
        for i in ids[self._cursor[ids] == self._task.starts_ahead]:
            self._refill(i)
        taken = self._block[ids, self._cursor[ids]]
        self._cursor[ids] += 1
        return taken[:, : self._model.nq], taken[:, self._model.nq :]

    def _refill(self, i: int) -> None:
        source = self._generators[i]
        self._marks[i] = source.bit_generator.state
        self._block[i] = self._task.starts(self._model, source, self._task.starts_ahead)
        self._cursor[i] = 0

    def state(self) -> np.ndarray:
        """Every stream just behind its last start taken, as `streams.pack` writes it."""
        streams = []
        for i, used in enumerate(self._cursor):
            source = self._generators[i]
            if used < self._task.starts_ahead:
                source = generator(np.random.SeedSequence(0))
                source.bit_generator.state = self._marks[i]
                self._task.starts(self._model, source, used)
            streams.append(source)
        return pack(streams)

    def restore(self, rows: np.ndarray) -> None:
        """Go on from a `state()`."""
        unpack(self._generators, rows)
        self._cursor[:] = self._task.starts_ahead
