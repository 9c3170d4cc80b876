"""From simulations to pictures: MuJoCo models are drawn here, other tasks draw themselves."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

from drspcrl.display import brief, shown
from drspcrl.envs import BatchEnv, make, task_names
from drspcrl.envs.own import Factory, factory_of
from drspcrl.errors import InputError
from drspcrl.named import refuse_imports
from drspcrl.physics.engine import mujoco
from drspcrl.video.graphics import open_renderer

_CAMERA = "track"  # Gymnasium's models have it; it follows the robot
_UNKNOWN_PERIOD = 1.0 / 30.0


class Scene(ABC):
    """Simulations that can be drawn.

    Attributes:
        env: The simulations.
        period: Seconds between two actions.
    """

    env: BatchEnv
    period: float

    @abstractmethod
    def pose(self, k: int) -> Any:
        """What has to be kept of simulation k to draw it later; None where that is impossible."""

    @abstractmethod
    def draw(self, k: int, pose: Any) -> np.ndarray:
        """Simulation k in a pose, uint8 [height, width, 3]."""

    def close(self) -> None:
        """Release simulations and graphics."""
        self.env.close()


def scene_of(task: str, count: int, size: tuple[int, int], trust: Collection[str] = ()) -> Scene:
    """Simulations of a task, to be drawn at a size (width, height).

    Raises:
        InputError: An unknown task, or one that cannot be drawn.
    """
    if task.removesuffix("-v5") in task_names():
        return _OwnTask(task, count, size)
    refuse_imports(task, trust)
    kept = _Kept(task)
    env = make(kept, count, threads=1)
    bases = [made.unwrapped for made in kept.made[-count:]]
    if env.simulation.physics is not None:
        return _MujocoTask(env, bases, size)
    return _SelfDrawn(env, kept.made[-count:], size)


class _Stage:
    """Draws one MuJoCo model."""

    def __init__(self, model: Any, size: tuple[int, int]):
        self._model, self._data = model, mujoco.MjData(model)
        self._renderer = open_renderer(model, *size)
        names = [model.camera(i).name for i in range(model.ncam)]
        self._camera = _CAMERA if _CAMERA in names else _free_camera(model)

    def draw(self, pose: tuple[np.ndarray, ...]) -> np.ndarray:
        """The model in a pose: positions, and those of bodies moved by hand."""
        data = self._data
        data.qpos[:], data.mocap_pos[:], data.mocap_quat[:] = pose
        mujoco.mj_forward(self._model, data)
        self._renderer.update_scene(data, self._camera)
        return self._renderer.render()

    def close(self) -> None:
        """Release the graphics."""
        self._renderer.close()


def _free_camera(model: Any) -> Any:
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    return camera


class _OwnTask(Scene):
    """A task on the thread pool: one model, drawn for all of its simulations."""

    def __init__(self, task: str, count: int, size: tuple[int, int]):
        from drspcrl.envs.simulator import TASKS, MujocoSimulation, load_model

        self.env = make(task, count, threads=1)
        simulation = self.env.simulation
        assert isinstance(simulation, MujocoSimulation)
        self._simulation = simulation
        model = load_model(TASKS[task.removesuffix("-v5")])
        self._positions = model.nq
        self._mocap = np.zeros((model.nmocap, 3)), np.zeros((model.nmocap, 4))
        self.period = self.env.physics.step_seconds
        self._stage = _Stage(model, size)

    def pose(self, k: int) -> Any:
        coordinates = self._simulation.coordinates(np.array([k]))[0]
        return coordinates[: self._positions], *self._mocap

    def draw(self, k: int, pose: Any) -> np.ndarray:
        return self._stage.draw(pose)

    def close(self) -> None:
        super().close()
        self._stage.close()


class _MujocoTask(Scene):
    """Gymnasium environments with a MuJoCo model each."""

    def __init__(self, env: BatchEnv, bases: list[Any], size: tuple[int, int]):
        self.env, self._bases = env, bases
        self.period = env.physics.step_seconds
        self._stages = [_Stage(base.model, size) for base in bases]

    def pose(self, k: int) -> Any:
        data = self._bases[k].data
        return data.qpos.copy(), data.mocap_pos.copy(), data.mocap_quat.copy()

    def draw(self, k: int, pose: Any) -> np.ndarray:
        return self._stages[k].draw(pose)

    def close(self) -> None:
        super().close()
        for stage in self._stages:
            stage.close()


class _SelfDrawn(Scene):
    """Gymnasium environments that draw themselves, as they are now."""

    def __init__(self, env: BatchEnv, environments: list[gymnasium.Env], size: tuple[int, int]):
        self.env, self._environments, self._size = env, environments, size
        self.period = _period_of(environments[0])
        if environments[0].render_mode != "rgb_array":
            raise InputError(
                "this task cannot be drawn: it has neither a MuJoCo model nor the render mode "
                f"rgb_array; its render modes are {environments[0].metadata.get('render_modes')}"
            )

    def pose(self, k: int) -> Any:
        return None

    def draw(self, k: int, pose: Any) -> np.ndarray:
        try:
            picture: Any = self._environments[k].render()
        except gymnasium.error.Error as error:
            raise InputError(f"this task cannot be drawn: {error}") from None
        image = Image.fromarray(np.asarray(picture, np.uint8)).convert("RGB")
        image.thumbnail(self._size)  # keeps its proportions
        canvas = Image.new("RGB", self._size, "black")
        corner = [(full - own) // 2 for full, own in zip(self._size, image.size, strict=True)]
        canvas.paste(image, (corner[0], corner[1]))
        return np.asarray(canvas)


def _period_of(env: gymnasium.Env) -> float:
    seconds = getattr(env.unwrapped, "dt", None)
    rate = env.metadata.get("render_fps")
    if isinstance(seconds, int | float) and seconds > 0:
        return float(seconds)
    return 1.0 / rate if isinstance(rate, int | float) and rate > 0 else _UNKNOWN_PERIOD


class _Kept:
    """Makes Gymnasium environments and keeps them, to look at what they simulate."""

    def __init__(self, task: str):
        self._task = task
        self.made: list[gymnasium.Env] = []

    def __call__(self) -> gymnasium.Env:
        """One more environment, which draws itself if it can."""
        make = factory_of(self._task)
        try:
            plain = make()
            if "rgb_array" in (plain.metadata.get("render_modes") or ()) and not _has_model(plain):
                plain.close()
                plain = _drawing(make)
        except (gymnasium.error.Error, ImportError) as error:
            raise InputError(
                f"environment {shown(self._task)} cannot be made: {brief(error)}"
            ) from None
        self.made.append(plain)
        return plain


def _drawing(make: Factory) -> gymnasium.Env:
    try:
        return make(render_mode="rgb_array")
    except TypeError:  # a function of one's own without that option
        return make()


def _has_model(env: gymnasium.Env) -> bool:
    return type(getattr(env.unwrapped, "model", None)).__name__ == "MjModel"
