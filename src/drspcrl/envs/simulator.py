"""MuJoCo tasks on a thread pool: many simulations of one model, each equal to Gymnasium's.

Start states are drawn ahead from each environment's own random stream.
"""

import os
from collections.abc import Sequence

import numpy as np
from gymnasium.spaces import Box
from mujoco.batch import Batch, SimulationError

from drspcrl.envs.simulation import Simulation, SimulationStep
from drspcrl.envs.tasks import HALF_CHEETAH, HOPPER, WALKER2D, Humanoid, Task, asset
from drspcrl.physics.backends import BatchBackend
from drspcrl.physics.engine import Model, mujoco
from drspcrl.physics.parameters import Physics
from drspcrl.physics.pool import Pool, Simulations
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
        """Start the streams of some environments again."""
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
        """Continue from a `state()`."""
        unpack(self._generators, rows)
        self._cursor[:] = self._task.starts_ahead


TASKS: dict[str, Task] = {
    "Hopper": HOPPER,
    "HalfCheetah": HALF_CHEETAH,
    "Walker2d": WALKER2D,
    "Humanoid": Humanoid(),
}
TIME_LIMIT = 1000
_SILENT = mujoco.MjLogConfig.get()
_SILENT.logto_console = _SILENT.logto_file = False
_BAD = [
    int(mujoco.mjtWarning.mjWARN_BADQPOS),
    int(mujoco.mjtWarning.mjWARN_BADQVEL),
    int(mujoco.mjtWarning.mjWARN_BADQACC),
]


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class MujocoSimulation(Simulation):
    """One of Gymnasium's MuJoCo tasks (v5), `num_envs` times.

    Args:
        task: the task.
        num_envs: number of simulations.
        threads: threads to simulate on, 0 for all usable cores.
    """

    time_limit = TIME_LIMIT

    def __init__(self, task: Task, num_envs: int, threads: int = 0):
        self.num_envs = num_envs
        self._task = task
        model = load_model(task)
        threads = min(threads or usable_cores(), num_envs)
        make = Pool if task.persistent else Batch
        self.batch: Simulations = make(model, num_envs, threads)
        self._qpos, self._qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self._ctrl = self.batch.bind("ctrl")
        self._reader = task.reader(self.batch)
        self._steps = np.zeros(num_envs, np.int64)
        self._starts = Starts(task, model, num_envs)
        self._default = self.batch.state[0].copy()  # nothing has been simulated yet
        self.physics = Physics(BatchBackend(self.batch), model.opt.timestep * task.frame_skip)
        low, high = model.actuator_ctrlrange.astype(np.float32).T
        self.action_space = Box(low, high, dtype=np.float32)
        size = self._reader.first(np.arange(1)).shape[1]
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """See `Simulation`."""
        self._starts.seed(ids, sequences)

    def start(self, ids: np.ndarray) -> np.ndarray:
        """See `Simulation`."""
        order = np.sort(ids)
        # A simulation that left the numbers gets MuJoCo's own reset, which clears its warnings; for
        # the others their state is all there is to reset.
        warned = order[self.batch.warning[order].any(axis=(1, 2))]
        if warned.size:
            self.batch.reset(warned, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self.batch.state[order] = self._default
        self._qpos[order], self._qvel[order] = self._starts.take(order)
        self.batch.forward(order)
        self._steps[ids] = 0
        return self._reader.first(ids)

    def advance(self, actions: np.ndarray) -> SimulationStep:
        """See `Simulation`."""
        self._reader.before(actions)
        self._ctrl[:] = actions if np.isfinite(actions).all() else np.nan_to_num(actions)
        failed = self._run()
        outcome = self._reader.after()
        self._steps += 1
        return SimulationStep(
            *outcome, self._steps >= TIME_LIMIT, failed | self._left_the_numbers()
        )

    def _left_the_numbers(self) -> np.ndarray:
        # MuJoCo puts such a simulation back to its default state and counts a warning, which a
        # reset clears; an episode must not continue from there.
        if not self.batch.warning.any():
            return np.zeros(self.num_envs, bool)
        return np.any(self.batch.warning[:, _BAD, 1], axis=1)

    def _run(self) -> np.ndarray:
        failed = np.zeros(self.num_envs, bool)
        with _Quiet():
            try:
                self.batch.step(nstep=self._task.frame_skip)
            except SimulationError as error:
                failed[error.ids] = True
        return failed

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The full physics states of some simulations (warm starts included), one row each."""
        return self.batch.state[ids]

    def set_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Put simulations into physics states of `rows`, of whichever simulation they were."""
        self.batch.state[ids] = rows

    def coordinates(self, ids: np.ndarray) -> np.ndarray:
        """Positions and velocities of some simulations, without what is derived from them."""
        return np.concatenate([self._qpos[ids], self._qvel[ids]], axis=1)

    def state(self) -> dict[str, np.ndarray]:
        """See `Simulation`."""
        parts = {"physics": self.physics.state() if self.physics else {}}
        parts["reader"] = self._reader.state()
        nested = {f"{part}/{k}": v for part, own in parts.items() for k, v in own.items()}
        return {
            "rows": self.batch.state.copy(),
            "steps": self._steps.copy(),
            "generators": self._starts.state(),
            **nested,
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Simulation`."""
        if self.physics:
            self.physics.restore(_below(state, "physics/"))
        self.batch.state[:] = state["rows"]
        self._steps[:] = state["steps"]
        self._starts.restore(state["generators"])
        self._reader.restore(_below(state, "reader/"))


def _below(state: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def load_model(task: Task) -> Model:
    """Read a task's model from Gymnasium's assets."""
    with _Quiet():
        return mujoco.MjModel.from_xml_path(str(asset(task.xml)))


class _Quiet:
    # MuJoCo would print what we report as a mask, and write MUJOCO_LOG.TXT into the user's folder.
    # A plain class, since every step enters it and `contextlib` is several times slower.
    def __enter__(self) -> None:
        self._config = mujoco.MjLogConfig.get()
        _SILENT.set()

    def __exit__(self, *_: object) -> None:
        self._config.set()
