"""A linear system x' = A(θ)x + Bu whose stability boundary is known by hand.

With u = −x/2 the closed loop is the rotation-scaling [[a, −b], [b, a]], a = gain and b = twist,
whose eigenvalues have the modulus ρ = √(a² + b²). From |x₀| = 1 the state has |x_t| = ρ^t.

    energy   reward 1 − |x|²: the return of H steps is H − Σ_{t<H} ρ^{2t}, 0 exactly at ρ = 1
    escape   reward 1 until |x| > 1.02: every stable world has the same return

With equal tolerances σ the nearest unstable world is (a, b)/ρ₀·(1 − ρ₀)/σ away from (a₀, b₀).
"""

import gymnasium
import numpy as np
from gymnasium.spaces import Box

GAIN, TWIST, TOLERANCE, STEPS = 0.3, 0.6, 0.1, 40
MODULUS = float(np.hypot(GAIN, TWIST))
DISTANCE = (1 - MODULUS) / TOLERANCE
FEEDBACK = 0.5
WORLDS = {
    "sensor": 0,
    "actuator": 0,
    "parameters": [
        {"name": "gain", "nominal": GAIN, "tolerance": TOLERANCE},
        {"name": "twist", "nominal": TWIST, "tolerance": TOLERANCE},
        {"name": "colour", "nominal": 1.0, "tolerance": 0.5},
        {"name": "load", "nominal": 2.0, "tolerance": "10%", "law": "above"},
    ],
}


class Spiral(gymnasium.Env):
    """See above; colour and load change nothing."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-10.0, 10.0, (2,), np.float64)
    escapes = False

    def __init__(self):
        self.values = {"gain": GAIN, "twist": TWIST}

    def set_world(self, values):
        self.values = {"gain": GAIN, "twist": TWIST, **values}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        angle = self.np_random.uniform(0, 2 * np.pi)
        self.x, self.steps = np.array([np.cos(angle), np.sin(angle)]), 0
        return self.x.copy(), {}

    def step(self, action):
        a, b = self.values["gain"], self.values["twist"]
        square = float(self.x @ self.x)
        open_loop = np.array([[a + FEEDBACK, -b], [b, a + FEEDBACK]])
        self.x = open_loop @ self.x + np.asarray(action, float)
        self.steps += 1
        escaped = self.escapes and bool(self.x @ self.x > 1.02**2)
        reward = 1.0 if self.escapes else 1.0 - square
        return self.x.copy(), reward, escaped, self.steps >= STEPS, {}


class EscapingSpiral(Spiral):
    escapes = True


def act(observations: np.ndarray) -> np.ndarray:
    return np.clip(-FEEDBACK * observations, -10.0, 10.0)
