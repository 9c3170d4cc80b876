"""Your own environment, batched, perturbed and swept: nothing but a Gymnasium environment needed.

    python examples/own_environment.py
    cd examples && drspcrl train --env own_environment:crane --algorithm sac --out runs

A crane's trolley shall come to rest at a target with its load hanging still. The environment has a
MuJoCo model, so its physics can be perturbed; without one, action and observation perturbations
remain.
"""
# MuJoCo's compiled module has no stubs.
# pyright: reportAttributeAccessIssue=false

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box

from drspcrl.envs import make
from drspcrl.perturbations import Perturbation, label, sweep

XML = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="trolley">
      <joint name="rail" type="slide" axis="1 0 0" damping="2"/>
      <geom type="box" size=".2 .1 .05" mass="3"/>
      <body name="load">
        <joint name="rope" type="hinge" axis="0 1 0" damping=".01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -1" size=".02" mass=".1"/>
        <geom type="sphere" pos="0 0 -1" size=".1" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rail" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION


class Crane(gymnasium.Env):
    """Observe position and velocity of trolley and rope; pay for distance and swing."""

    frame_skip = 5

    def __init__(self):
        self.model = mujoco.MjModel.from_xml_string(XML)
        self.data = mujoco.MjData(self.model)
        self.dt = self.model.opt.timestep * self.frame_skip
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)

    def _observe(self) -> np.ndarray:
        return np.concatenate([self.data.qpos, self.data.qvel])

    def reset(self, *, seed=None, options=None):
        """Begin at rest, up to two metres from the target."""
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[0] = self.np_random.uniform(-2.0, 2.0)
        return self._observe(), {}

    def step(self, action):
        """Push the trolley."""
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, self.frame_skip)
        x, swing = self.data.qpos
        reward = 1.0 - 0.3 * abs(x) - abs(swing)
        return self._observe(), float(reward), bool(abs(x) > 3.0), False, {}

    # With these two a training that was stopped continues bit for bit; without them it continues
    # as well, but in new episodes.
    def get_state(self) -> np.ndarray:
        """Everything that decides the coming steps."""
        state = np.empty(mujoco.mj_stateSize(self.model, INTEGRATION))
        mujoco.mj_getState(self.model, self.data, state, INTEGRATION)
        return state

    def set_state(self, state: np.ndarray) -> None:
        """Continue from what `get_state` gave."""
        mujoco.mj_setState(self.model, self.data, state, INTEGRATION)


def controller(observations: np.ndarray) -> np.ndarray:
    """A policy is a function from observations to actions, here written by hand."""
    return np.clip(observations @ [[-1.6], [-3.5], [-1.6], [0.2]], -1.0, 1.0).astype(np.float32)


def crane() -> gymnasium.Env:
    return gymnasium.wrappers.TimeLimit(Crane(), 200)


def main(episodes: int = 20) -> dict[str, float]:
    """Print the mean return of one episode per start under several perturbations."""
    settings = [
        None,
        Perturbation("action", 0.3),
        Perturbation("observation", 0.1),
        Perturbation("action_delay", 3),
        Perturbation("environment", 0.3),
        (Perturbation("environment", 0.3), Perturbation("push", 0.02, {"frequency": 0.5})),
        *sweep("gear", [0.2, 0.5, 2.0]),
    ]
    results = {}
    for setting in settings:
        env = make(crane, num_envs=episodes, perturbations=setting)
        observation = env.reset(seeds=range(episodes))  # the same starts for every setting
        returns, running = np.zeros(episodes), np.ones(episodes, bool)
        while running.any():
            step = env.step(controller(observation))
            returns += running * step.reward
            running &= ~step.ended
            observation = step.observation
        results[label(setting)] = float(returns.mean())
        print(f"{label(setting):45s} {returns.mean():8.1f}")
    return results


if __name__ == "__main__":
    main()
