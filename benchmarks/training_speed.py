"""Environment steps per second of a whole training, beside Stable-Baselines3 and SBX.

    python benchmarks/training_speed.py [seconds]

HalfCheetah-v5, one member, the same networks, batch sizes and updates per step. Peers live in
environments that this script makes. Every library trains for some seconds after its first update,
in turn, and once more in the opposite order; a cell is the best stretch of three seconds, because
machines are shared and a neighbour's work slows some stretches and not others. Beside it, how far
that is from what the machine allows: the operations of the updates over the rate of one large
matrix product, and the share of the physics at `mujoco.batch`'s own rate.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = {
    "Stable-Baselines3": (
        "sb3",
        ["torch==2.13.0", "stable-baselines3==2.9.2"],
        "stable_baselines3",
    ),
    "SBX": ("sbx", ["torch==2.13.0", "sbx-rl==0.28.0"], "sbx"),
}
ROWS = ("ppo", "sac", "ddpg", "robust sac, n = 8")

# One program for both peers, which share their interface.
PEER = """
import importlib, sys, time
import gymnasium
from stable_baselines3.common.callbacks import BaseCallback
module, algorithm, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])

class Clock(BaseCallback):
    # Counts from the end of the first learning, when everything is compiled, to that of the last.
    def __init__(self, warmup, seconds):
        super().__init__()
        self.warmup, self.seconds, self.begun, self.best = warmup, seconds, None, 0.0
    def mark(self):
        if self.num_timesteps < self.warmup:
            return True
        now = time.monotonic()
        if self.begun is None:
            self.begun = self.stretch = now
            self.first = self.num_timesteps
        if now - self.stretch > 3:
            self.best = max(self.best, (self.num_timesteps - self.first) / (now - self.stretch))
            self.stretch, self.first = now, self.num_timesteps
        if now - self.begun > self.seconds:
            print(self.best)
            return False
        return True

class OnPolicy(Clock):
    def _on_rollout_start(self):
        self.go_on = self.mark()
    def _on_step(self):
        return self.go_on

class OffPolicy(Clock):
    def _on_step(self):
        return self.mark()

env = gymnasium.make("HalfCheetah-v5")
layers = dict(net_arch=[64, 64] if algorithm == "ppo" else [256, 256])
learner = getattr(importlib.import_module(module), algorithm.upper())
if algorithm == "ppo":
    model, clock = learner("MlpPolicy", env, policy_kwargs=layers, seed=0), OnPolicy(4096, seconds)
else:
    model = learner("MlpPolicy", env, batch_size=256, learning_starts=256, train_freq=1,
                    gradient_steps=1, buffer_size=100_000, policy_kwargs=layers, seed=0)
    clock = OffPolicy(600, seconds)
model.learn(10**9, callback=clock)
"""


def peer_rate(python: str, module: str, algorithm: str, seconds: float) -> float:
    command = [python, "-c", PEER, module, algorithm, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} {algorithm}: {done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


OURS = """
import json, sys, time
import jax
import numpy as np
from drspcrl.trainer.algorithms import make_loop
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.settings import resolve
from drspcrl.trainer.uncertainty import member_uncertainty
name, seconds = sys.argv[1], float(sys.argv[2])
begun = time.monotonic()
algorithm, robust = name.split(",")[0].split()[-1], name.startswith("robust")
changes = {} if algorithm == "ppo" else {"learning_starts": 256, "buffer_size": 100_000}
settings = resolve(algorithm, changes, 10**6)
collector = Collector("HalfCheetah", [0], settings["envs_per_member"])
device = jax.devices()[0]
uncertainty = member_uncertainty(settings, [0.3]) if robust else None
loop = make_loop(algorithm, settings, collector, [0], 10**6, device, device, uncertainty)
while loop.steps < (4096 if algorithm == "ppo" else 600):
    loop.iterate()
jax.block_until_ready(loop.state)
rate, end = 0.0, time.monotonic() + seconds
while time.monotonic() < end:
    stretch, first = time.monotonic(), loop.steps
    while time.monotonic() - stretch < 3:
        loop.iterate()
    jax.block_until_ready(loop.state)
    rate = max(rate, (loop.steps - first) / (time.monotonic() - stretch))
actions = np.zeros((1, collector.envs, collector.action_size), np.float32)
begun, steps = time.monotonic(), 0
while time.monotonic() - begun < 2:
    collector.step(actions)
    steps += collector.envs
physics = steps / (time.monotonic() - begun)
side = 2048
product = jax.jit(lambda a, b: a @ b)
a = jax.numpy.ones((side, side))
jax.block_until_ready(product(a, a))
begun, times = time.monotonic(), 0
while time.monotonic() - begun < 2:
    jax.block_until_ready(product(a, a))
    times += 1
flops = times * 2 * side**3 / (time.monotonic() - begun)
print(json.dumps({"rate": rate, "physics": physics, "flops": flops}))
"""


def own(name: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-c", OURS, name, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# Multiply-adds are two operations. A forward pass of a batch of 256 through 256 × 256 hidden units
# on HalfCheetah is F; a gradient costs two more, one more where only the input's is wanted.
FORWARD = 2 * 256 * (23 * 256 + 256 * 256 + 256)
UPDATES = {"sac": 16 * FORWARD, "ddpg": (2 + 3 + (3 + 2) / 2) * FORWARD}


def of_the_limit(name: str, found: dict[str, float]) -> str:
    if name not in UPDATES:
        return f"physics {found['rate'] / found['physics']:.0%} of the time"
    learning = found["rate"] * UPDATES[name] / found["flops"]
    return f"updates {learning:.0%} of the matrix-product rate"


def peer_pythons() -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "scripts"))
    from peer_env import peer_python

    editable = f"--editable={ROOT}"
    return {
        label: str(peer_python(name, [*requirements, editable]))
        for label, (name, requirements, _) in PEERS.items()
    }


def main(seconds: float) -> None:
    pythons = peer_pythons()
    best: dict[str, dict[str, float]] = {name: {} for name in ROWS}
    ours: dict[str, dict[str, float]] = {}
    for turn in range(2):
        for name in ROWS:
            algorithm = name.split(",")[0].split()[-1]
            order = ["ours", *(PEERS if algorithm == name else ["Stable-Baselines3"])]
            for library in order if turn == 0 else order[::-1]:
                if library == "ours":
                    found = own(name, seconds)
                    rate = found["rate"]
                    if rate >= best[name].get("ours", 0.0):
                        ours[name] = found
                elif algorithm != name:  # the plain peer has been measured in its own row
                    rate = best[algorithm][library]
                else:
                    rate = peer_rate(pythons[library], PEERS[library][2], algorithm, seconds)
                best[name][library] = max(rate, best[name].get(library, 0.0))
                print(f"{time.strftime('%X')} {name}: {library} {rate:.0f}", file=sys.stderr)
    print("| steps/s | drspcrl | Stable-Baselines3 | SBX | of the limit |\n|---|---|---|---|---|")
    for name in ROWS:
        cells = [f"{best[name]['ours']:,.0f}"]
        for library in PEERS:
            rate = best[name].get(library)
            cells.append(f"{rate:,.0f} (× {best[name]['ours'] / rate:.1f})" if rate else "–")
        print(f"| {name} | " + " | ".join([*cells, of_the_limit(name, ours[name])]) + " |")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
