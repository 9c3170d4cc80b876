# %% [markdown]
# # Your own simulator, its tolerances, and a policy that holds within them
#
# Open it in JupyterLab with jupytext, or make a notebook of it:
# `jupytext --to ipynb examples/notebooks/own_simulator.py`. It takes about two minutes on two
# cores; set `STEPS` lower to see it through quickly.

# %%
import importlib
import sys
from pathlib import Path

import drspcrl
from drspcrl import TrainConfig
from drspcrl.export import export, read_source

STEPS = 50_000
EPISODES = 20
WORLD_EPISODES = 8  # episodes in each world of the search for a failing one

# %% [markdown]
# ## The simulator
# Any Gymnasium environment with Box spaces. `set_world` takes the values of a world before each
# episode. Trainings import it by name, so it is a file of its own.

# %%
CODE = '''
import gymnasium
import numpy as np


class Tank(gymnasium.Env):
    """Keep the level of a tank at 1 while water flows out through a hole."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.hole, self.pump = 1.0, 1.0

    def set_world(self, values):
        self.hole, self.pump = values["hole"], values["pump"]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.level, self.steps = 0.5 + 0.5 * self.np_random.random(), 0
        return self.seen(), {}

    def step(self, action):
        inflow = self.pump * (1.0 + float(action[0]))
        outflow = self.hole * np.sqrt(max(self.level, 0.0))
        self.level = float(np.clip(self.level + 0.1 * (inflow - outflow), 0.0, 5.0))
        self.steps += 1
        return self.seen(), -abs(self.level - 1.0), False, self.steps >= 100, {}

    def seen(self):
        return np.array([self.level, self.level - 1.0], np.float32)
'''
Path("notebook_tank.py").write_text(CODE)
sys.path.insert(0, str(Path.cwd()))
tank = importlib.import_module("notebook_tank")

# %% [markdown]
# ## What may differ
# One world is one hole, one pump and one level of noise, for a whole episode.

# %%
tolerances = {
    "sensor": 0.05,
    "actuator": 0.05,
    "parameters": [
        {"name": "hole", "nominal": 1.0, "tolerance": "20%"},
        {"name": "pump", "nominal": 1.0, "tolerance": 0.3, "law": "below", "low": 0.1},
    ],
}

# %% [markdown]
# ## Train a plain and a robust policy

# %%
plain, robust = drspcrl.train(
    TrainConfig(
        tank.Tank,
        "ppo",
        out=Path("tank-runs"),
        methods=("vanilla", "self_paced"),
        steps=STEPS,
        worlds=tolerances,
    )
)

# %% [markdown]
# ## How well do they hold?

# %%
for run in (plain, robust):
    table = drspcrl.evaluate(drspcrl.load_policy(run), tank.Tank, "noise", episodes=EPISODES)
    noisy = table["perturbation"] != "none"
    print(f"{run.name}: {table['return'][~noisy].mean():.1f}, {table['return'][noisy].mean():.1f}")

# %% [markdown]
# ## Where does the robust one break?
# The nearest world with a return below −20, in units of the tolerances.

# %%
policy = drspcrl.load_policy(robust)
budget = 250 * WORLD_EPISODES
found = drspcrl.stress(
    policy, tank.Tank, tolerances, least=-20.0, budget=budget, episodes=WORLD_EPISODES
)
print(found)

# %% [markdown]
# ## Take it away
# `.onnx` and `.h` work alike; `.npz` needs NumPy alone.

# %%
print(export(read_source(robust), Path("tank.npz")).path)
