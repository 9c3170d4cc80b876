"""Environment steps per second of a whole training, beside Stable-Baselines3 and SBX.

    python benchmarks/training_speed.py [rounds]

HalfCheetah-v5, one member, the same networks, batch sizes and updates per step. Peers live in
environments that this script makes. All libraries of a row are started, train until everything is
compiled, and then train in turn, three seconds each and to the end of an iteration, round after
round, while the others wait: a neighbour's work on a shared machine slows all of them alike. A
rate is the median of its rounds, a ratio the median of the ratios within a round, with the middle
half of them. Beside it, how far that is from what the machine allows: the operations of the updates
over the rate of one large matrix product, and the share of the physics at `mujoco.batch`'s own
rate, in the same turns.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PEERS = {
    "Stable-Baselines3": ("sb3", ["torch==2.13.0", "stable-baselines3==2.9.2"]),
    "SBX": ("sbx", ["torch==2.13.0", "sbx-rl==0.28.0"]),
}
MODULES = {"Stable-Baselines3": "stable_baselines3", "SBX": "sbx"}
OURS, ROBUST, PHYSICS, PRODUCTS = "drspcrl", "robust, n = 8", "physics", "matrix products"
ROWS = {
    "ppo": (OURS, "Stable-Baselines3", "SBX", PHYSICS),
    "sac": (OURS, ROBUST, "Stable-Baselines3", "SBX", PRODUCTS),
    "ddpg": (OURS, "Stable-Baselines3", "SBX", PRODUCTS),
}

# What all trainees share: they wait for a line, work for as long as it says, and answer what they
# did and how long it took.
TURNS = """
import sys, time

class Turns:
    def __init__(self, count):
        self.count, self.end = count, 0.0

    def over(self):
        # Called after each piece of work; returns when the next one may begin. Counting waits for
        # work that is still under way, so it comes before the clock is read.
        if time.monotonic() < self.end:
            return
        if self.end:
            done = self.count() - self.first
            print(done, time.monotonic() - self.begun, flush=True)
        else:
            print("ready", flush=True)
        line = sys.stdin.readline()
        if not line:
            sys.exit()
        self.first, self.begun = self.count(), time.monotonic()
        self.end = self.begun + float(line)
"""

# One program for both peers, which share their interface.
PEER = """
import importlib
import gymnasium
from stable_baselines3.common.callbacks import BaseCallback
module, algorithm = sys.argv[1:]

class Trainee(BaseCallback):
    # On-policy learners are stopped between a learning and the next rollout.
    def _init_callback(self):
        self.turns = Turns(lambda: self.num_timesteps)
    def _on_rollout_start(self):
        if algorithm == "ppo" and self.num_timesteps >= 4096:
            self.turns.over()
    def _on_step(self):
        if algorithm != "ppo" and self.num_timesteps >= 600:
            self.turns.over()
        return True

env = gymnasium.make("HalfCheetah-v5")
layers = dict(net_arch=[64, 64] if algorithm == "ppo" else [256, 256])
learner = getattr(importlib.import_module(module), algorithm.upper())
if algorithm == "ppo":
    model = learner("MlpPolicy", env, policy_kwargs=layers, seed=0)
else:
    model = learner("MlpPolicy", env, batch_size=256, learning_starts=256, train_freq=1,
                    gradient_steps=1, buffer_size=100_000, policy_kwargs=layers, seed=0)
model.learn(10**9, callback=Trainee())
"""

OWN = """
import jax
import numpy as np
from drspcrl.training.loop import make_loop
from drspcrl.training.collector import Collector
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty
what, algorithm = sys.argv[1:]
changes = {} if algorithm == "ppo" else {"learning_starts": 256, "buffer_size": 100_000}
settings = resolve(algorithm, changes, 10**6)
collector = Collector("HalfCheetah", [0], settings.learner.envs_per_member)

def train():
    device = jax.devices()[0]
    uncertainty = member_uncertainty(settings, [0.3]) if what.startswith("robust") else None
    loop = make_loop(algorithm, settings, collector, [0], 10**6, device, device, uncertainty)
    while loop.steps < (4096 if algorithm == "ppo" else 600):
        loop.iterate()
    turns = Turns(lambda: jax.block_until_ready(loop.state) and loop.steps)
    while True:
        turns.over()
        loop.iterate()

def simulate():
    actions, steps = np.zeros((1, collector.envs, collector.action_size), np.float32), 0
    collector.reset()
    turns = Turns(lambda: steps)
    while True:
        turns.over()
        collector.step(actions)
        steps += collector.envs

def multiply(side=2048):
    product, operations = jax.jit(lambda a, b: a @ b), 0
    square = jax.numpy.ones((side, side))
    jax.block_until_ready(product(square, square))
    turns = Turns(lambda: operations)
    while True:
        turns.over()
        jax.block_until_ready(product(square, square))
        operations += 2 * side**3

{"physics": simulate, "matrix products": multiply}.get(what, train)()
"""


@dataclass(frozen=True)
class Trainee:
    """One program that works only when it is asked to."""

    name: str
    process: subprocess.Popen[str]
    errors: IO[str]

    @classmethod
    def start(cls, name: str, algorithm: str, pythons: dict[str, str]) -> Self:
        """Started, and alone until it is compiled."""
        program, python = (PEER, pythons[name]) if name in pythons else (OWN, sys.executable)
        command = [python, "-c", TURNS + program, MODULES.get(name, name), algorithm]
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads fills up
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=errors)
        trainee = cls(name, process, errors)
        if (said := trainee.answer()) != "ready\n":
            raise RuntimeError(f"{name} said {said!r} before it was ready")
        return trainee

    def rate(self, seconds: float) -> float:
        """Its turn: work per second, in steps or, of matrix products, in operations."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; why is said by `answer`
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
        work, took = self.answer().split()
        return float(work) / float(took)

    def answer(self) -> str:
        """What it says when its work is done."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise RuntimeError(f"{self.name} ended: {self.errors.read()[-2000:]}")
        return line

    def end(self) -> None:
        """Close its input, at which it ends."""
        try:
            self.process.communicate(timeout=30)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()


def in_turns(algorithm: str, pythons: dict[str, str], rounds: int) -> dict[str, np.ndarray]:
    """The rates of a row's programs, one for each round; the order turns around each time."""
    with contextlib.ExitStack() as ends:
        trainees = []
        for name in ROWS[algorithm]:
            trainees.append(Trainee.start(name, algorithm, pythons))
            ends.callback(trainees[-1].end)
        rates: dict[str, list[float]] = {trainee.name: [] for trainee in trainees}
        for turn in range(rounds):
            for trainee in trainees[:: 1 if turn % 2 == 0 else -1]:
                rates[trainee.name].append(trainee.rate(3.0))
            row = ", ".join(f"{name} {found[-1]:.4g}" for name, found in rates.items())
            print(f"{time.strftime('%X')} {algorithm}: {row}", file=sys.stderr, flush=True)
    return {name: np.asarray(found) for name, found in rates.items()}


# Multiply-adds are two operations. A forward pass of a batch of 256 through 256 × 256 hidden units
# on HalfCheetah is F; a gradient costs two more, one more where only the input's is wanted.
FORWARD = 2 * 256 * (23 * 256 + 256 * 256 + 256)
UPDATES = {"sac": 16 * FORWARD, "ddpg": (2 + 3 + (3 + 2) / 2) * FORWARD}
ROBUST_UPDATE = 38 * FORWARD


def of_the_limit(algorithm: str, rates: dict[str, np.ndarray], name: str) -> str:
    if algorithm == "ppo":
        return f"physics {np.median(rates[name] / rates[PHYSICS]):.0%} of the time"
    operations = ROBUST_UPDATE if name == ROBUST else UPDATES[algorithm]
    share = np.median(rates[name] * operations / rates[PRODUCTS])
    return f"updates {share:.0%} of the matrix-product rate"


def peer_pythons() -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "scripts"))
    from peer_env import peer_python

    editable = f"--editable={ROOT}"
    return {
        label: str(peer_python(name, [*requirements, editable]))
        for label, (name, requirements) in PEERS.items()
    }


def cell(peer: np.ndarray, ours: np.ndarray) -> str:
    low, middle, high = np.quantile(ours / peer, (0.25, 0.5, 0.75))
    return f"{np.median(peer):,.0f} (× {middle:.2f}; {low:.2f} to {high:.2f})"


def main(rounds: int) -> None:
    pythons = peer_pythons()
    measured = {algorithm: in_turns(algorithm, pythons, rounds) for algorithm in ROWS}
    print("| steps/s | drspcrl | Stable-Baselines3 | SBX | of the limit |\n|---|---|---|---|---|")
    for algorithm, rates in measured.items():
        for name in (OURS, ROBUST):
            if name not in rates:
                continue
            label = algorithm if name == OURS else f"robust {algorithm}, n = 8, their plain one"
            cells = [label, f"{np.median(rates[name]):,.0f}"]
            cells += [cell(rates[peer], rates[name]) for peer in PEERS]
            print("| " + " | ".join([*cells, of_the_limit(algorithm, rates, name)]) + " |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
