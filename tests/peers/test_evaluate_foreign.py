"""Policies of other libraries, evaluated for real, each in an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drspcrl.evaluation import EvaluationTable

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]
# The exact torch release that has a build without CUDA everywhere.
REQUIREMENTS = {
    "sb3": ["torch==2.13.0", "stable-baselines3==2.9.2"],
    "sbx": ["torch==2.13.0", "sbx-rl==0.28.0"],
}

# A plain loop, one observation at a time, is what the table must agree with; not bit for bit, as
# a product of one row rounds differently from one of a block.
AGREES = """
import sys
import gymnasium, numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from drspcrl.evaluation import episode_seed, evaluate

def by_hand(policy, episode):
    env = gymnasium.make("Hopper-v5")
    observation, _ = env.reset(seed=episode_seed(0, None, episode))
    returns, over = 0.0, False
    while not over:
        action, _ = policy.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        returns, over = returns + reward, terminated or truncated
    return returns

model = PPO("MlpPolicy", "Hopper-v5", n_steps=64, seed=0, device="cpu").learn(64)
tables = [evaluate(model, "Hopper", "quick", 10, simulations=n) for n in (3, 40)]
np.testing.assert_array_equal(tables[0].returns, tables[1].returns)
np.testing.assert_allclose(
    tables[0].returns[:10], [by_hand(model, k) for k in range(10)], rtol=1e-3)

# As the Zoo trains: the observations' normaliser is part of the policy.
vector = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Hopper-v5")]))
model = PPO("MlpPolicy", vector, n_steps=64, seed=0, device="cpu").learn(64)
policy = lambda o: model.predict(vector.normalize_obs(o), deterministic=True)[0]
assert len(evaluate(policy, "Hopper", "quick", 2)) == 8

# Sampled actions go through predict; the policy network alone is a policy, too.
assert len(evaluate(model.policy, "Hopper", "quick", 2, deterministic=False)) == 8
assert "jax" not in sys.modules
"""

MODULE = """
import torch
from drspcrl.errors import InputError
from drspcrl.evaluation import evaluate
try:
    evaluate(torch.nn.Linear(11, 3), "Hopper", "quick", 1)
except InputError as error:
    assert "torch.as_tensor" in str(error), error
else:
    raise AssertionError("a module that takes tensors was accepted")
"""


def run(peer: str, *arguments: str | Path) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "peer_env.py", peer, "--", f"--editable={ROOT}",
         *REQUIREMENTS[peer]],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    python = made.stdout.splitlines()[-1]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("PYTHONPATH", None)
    subprocess.run([python, "-W", "ignore", *arguments], check=True, env=environment, cwd=ROOT)


@pytest.mark.parametrize(
    ("peer", "example", "options"),
    [
        ("sb3", "evaluate_sb3.py", ("--steps", "64")),
        ("sb3", "evaluate_torch.py", ()),
        ("sbx", "evaluate_sbx.py", ("--steps", "150")),
    ],
)
def test_the_examples_work(peer, example, options, tmp_path):
    out = tmp_path / "table.csv"
    run(peer, ROOT / "examples" / example, *options, "--episodes", "2", "--out", out)
    table = EvaluationTable.from_csv(out)
    assert len(table) == 32
    assert table.info["env"] == "Hopper"
    assert np.all(np.isfinite(table.returns))
    assert np.all(table.length >= 1)


def test_stable_baselines3_agrees_with_a_plain_loop():
    run("sb3", "-c", AGREES)


def test_a_torch_module_is_told_how_to_be_wrapped():
    run("sb3", "-c", MODULE)
