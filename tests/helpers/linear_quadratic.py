"""A linear-quadratic task with scalable parameters, and its return and sensitivities by hand.

State x = (position, velocity), action u = K x:
    position' = position + h velocity
    velocity' = velocity + h (−c velocity − k position + b u)
with c = damping, k = gravity (as a spring), b = gear, each times its scale. The reward is
−(x·x + u²/10), an episode has 20 steps, and starts are standard normal.
"""

from collections.abc import Sequence

import numpy as np
from gymnasium.spaces import Box

from drspcrl.envs.simulation import Simulation, SimulationStep

STEP, LENGTH, CONTROL = 0.1, 20, 0.1
NOMINAL = np.array([0.8, 2.0, 1.5])
GAIN = np.array([-0.6, -0.9])


class Parameters:
    """What the task needs of `drspcrl.envs.Physics`; `stiffness` is there and does nothing."""

    names = ("damping:slide", "gravity", "stiffness:slide", "gear:motor")

    def __init__(self, num_envs: int):
        self.scales = np.ones((num_envs, len(self.names)))

    def set_scales(self, ids, scales, layer="caller"):
        self.scales[ids] = scales

    def clear_forces(self):
        return


class LinearQuadratic(Simulation):
    """The task, `num_envs` times; a state row is (position, velocity)."""

    def __init__(self, num_envs: int):
        self.num_envs = num_envs
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = Box(-10.0, 10.0, (1,), np.float32)
        self.physics = Parameters(num_envs)  # type: ignore[assignment]
        self._x, self._steps = np.zeros((num_envs, 2)), np.zeros(num_envs, np.int64)
        self._generators = [np.random.default_rng(0)] * num_envs

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        for i, sequence in zip(ids, sequences, strict=True):
            self._generators[i] = np.random.default_rng(sequence)

    def start(self, ids: np.ndarray) -> np.ndarray:
        self._steps[ids] = 0
        self._x[ids] = [self._generators[i].standard_normal(2) for i in ids]
        return self._x[ids]

    def advance(self, actions: np.ndarray) -> SimulationStep:
        position, velocity = self._x.T
        u = actions[:, 0]
        reward = -(position**2 + velocity**2 + CONTROL * u**2)
        c, k, b = NOMINAL[:, None] * self.physics.scales[:, [0, 1, 3]].T  # type: ignore[union-attr]
        force = -c * velocity - k * position + b * u
        self._x = np.stack([position + STEP * velocity, velocity + STEP * force], axis=1)
        self._steps += 1
        nobody = np.zeros(self.num_envs, bool)
        return SimulationStep(self._x.copy(), reward, nobody, self._steps >= LENGTH, nobody)

    def rows(self, ids: np.ndarray) -> np.ndarray:
        return self._x[ids]

    def set_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._x[ids] = rows

    def coordinates(self, ids: np.ndarray) -> np.ndarray:
        return self._x[ids]

    def state(self):
        raise NotImplementedError

    def restore(self, state):
        raise NotImplementedError


def act(observations: np.ndarray) -> np.ndarray:
    """The policy u = K x."""
    return observations.astype(float) @ GAIN[:, None]


def closed_loop(phi: np.ndarray) -> np.ndarray:
    """F with x' = F x in the simulator of log scales φ (damping, gravity, gear)."""
    c, k, b = NOMINAL * np.exp(phi)
    return np.eye(2) + STEP * np.array([[0.0, 1.0], [-k + b * GAIN[0], -c + b * GAIN[1]]])


def covariances(phi: np.ndarray) -> list[np.ndarray]:
    """E[x xᵀ] at each step."""
    found, F = [np.eye(2)], closed_loop(phi)
    while len(found) < LENGTH:
        found.append(F @ found[-1] @ F.T)
    return found


def mean_return(phi: np.ndarray) -> float:
    """J(φ) = −Σ_t tr(M Σ_t), M the cost of x under the policy."""
    M = np.eye(2) + CONTROL * np.outer(GAIN, GAIN)
    return -float(sum(np.trace(M @ S) for S in covariances(phi)))


def return_gradient(phi: np.ndarray) -> np.ndarray:
    """∂J/∂φ from differences of the closed form."""
    rows = 1e-5 * np.eye(3)
    return np.array([mean_return(phi + e) - mean_return(phi - e) for e in rows]) / 2e-5


def sensitivities(x: np.ndarray) -> np.ndarray:
    """∂velocity'/∂φ at φ = 0 for states [S, 2], [S, 3]; the position does not move with φ."""
    c, k, b = NOMINAL
    return STEP * np.stack([-c * x[:, 1], -k * x[:, 0], b * (x @ GAIN)], axis=1)
