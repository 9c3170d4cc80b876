"""Environment steps per second beside plain Gymnasium, AsyncVectorEnv and EnvPool.

All are measured in the same run, in turns, with the same kind of random actions; EnvPool lives in
an environment of its own that this script makes on first use. Ratios are given by the clock, which
needs a quiet machine, and per core-second of all processes involved, which hardly does:

    python benchmarks/envs.py
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from drspcrl.envs import make, task_names

Measure = Callable[[float], float]  # seconds → steps per second

_ENVPOOL = """
import json, sys, time
import envpool, numpy as np
task, num_envs, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
env = envpool.make_gymnasium(task, num_envs=num_envs, num_threads=threads)
env.reset()
rng = np.random.default_rng(0)
space = env.action_space
actions = [rng.uniform(space.low, space.high, (num_envs, *space.shape)) for _ in range(16)]
print("ready", flush=True)
for line in sys.stdin:
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < float(line):
        env.step(actions[steps % 16])
        steps += 1
    print(json.dumps(steps * num_envs / (time.perf_counter() - start)), flush=True)
"""


def timed(step: Callable[[int], None], per_call: int) -> Measure:
    """Turn a function that takes one step into a measurement."""

    def measure(seconds: float) -> float:
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            step(calls)
            calls += 1
        return calls * per_call / (time.perf_counter() - start)

    return measure


def random_actions(space: Any, num_envs: int | None = None) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shape = space.shape if num_envs is None else (num_envs, *space.shape)
    return [rng.uniform(space.low, space.high, shape).astype(np.float32) for _ in range(16)]


def plain_gymnasium(task: str, stack: ExitStack) -> Measure:
    env = gymnasium.make(f"{task}-v5")
    stack.callback(env.close)
    env.reset(seed=0)
    actions = random_actions(env.action_space)

    def step(call: int) -> None:
        _, _, terminated, truncated, _ = env.step(actions[call % 16])
        if terminated or truncated:
            env.reset()

    return timed(step, 1)


def async_vector(task: str, num_envs: int, stack: ExitStack) -> Measure:
    env = AsyncVectorEnv(
        [lambda: gymnasium.make(f"{task}-v5")] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP
    )
    stack.callback(env.close)
    env.reset(seed=0)
    actions = random_actions(env.single_action_space, num_envs)
    return timed(lambda call: env.step(actions[call % 16]) and None, num_envs)


def batched(task: str, num_envs: int, threads: int, stack: ExitStack) -> Measure:
    env = make(task, num_envs, threads=threads)
    stack.callback(env.close)
    env.reset()
    actions = random_actions(env.action_space, num_envs)

    def step(call: int) -> None:
        env.step(actions[call % 16])

    return timed(step, num_envs)


def envpool_python() -> Path | None:
    """The interpreter of an environment with EnvPool, made on first use; None if impossible."""
    folder = Path(tempfile.gettempdir()) / "drspcrl-benchmark-envpool"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "envpool"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"EnvPool cannot be installed here: {done.stderr.splitlines()[-1]}", file=sys.stderr)
        return None
    return python


def envpool(
    python: Path, task: str, num_envs: int, threads: int, stack: ExitStack, pids: list[int]
) -> Measure | None:
    arguments = [str(python), "-c", _ENVPOOL, f"{task}-v5", str(num_envs), str(threads)]
    pipe = subprocess.PIPE
    child = stack.enter_context(
        subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    )
    assert child.stdin is not None
    assert child.stdout is not None
    stdin, stdout = child.stdin, child.stdout
    pids.append(child.pid)
    stack.callback(stdin.close)
    if stdout.readline().strip() != "ready":
        return None

    def measure(seconds: float) -> float:
        print(seconds, file=stdin, flush=True)
        return float(json.loads(stdout.readline()))

    return measure


def core_seconds(others: list[int]) -> float:
    """Processor time used so far by this process, its workers and `others` (Linux)."""
    workers = [worker.pid for worker in multiprocessing.active_children() if worker.pid]
    ticks = 0
    for pid in (os.getpid(), *workers, *others):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def compare(task: str, python: Path | None, cores: int, seconds: float, rounds: int) -> list[str]:
    """One row of the table: medians over interleaved rounds, ratios from the same rounds."""
    others: list[int] = []
    with ExitStack() as stack:
        peers: dict[str, Measure | None] = {
            "gymnasium": plain_gymnasium(task, stack),
            "async": async_vector(task, 16, stack),
            "envpool": envpool(python, task, 64, cores, stack, others) if python else None,
            "one": batched(task, 64, 1, stack),
            "ours": batched(task, 64, cores, stack),
        }
        by_clock: dict[str, list[float]] = {name: [] for name in peers}
        by_core: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(rounds):
            for name, measure in peers.items():
                if measure is not None:
                    used, start = core_seconds(others), time.perf_counter()
                    by_clock[name].append(measure(seconds))
                    elapsed, used = time.perf_counter() - start, core_seconds(others) - used
                    by_core[name].append(by_clock[name][-1] * elapsed / used)
    speeds = [
        f"{statistics.median(results):,.0f}" if results else "–" for results in by_clock.values()
    ]
    return [
        task,
        *speeds,
        *(ratio(by_clock, by_core, peer) for peer in ("async", "envpool", "one")),
    ]


def ratio(by_clock: dict[str, list[float]], by_core: dict[str, list[float]], peer: str) -> str:
    """How many times faster than a peer, by the clock and per core-second."""
    if not by_clock[peer]:
        return "–"
    clock, core = (
        statistics.median(mine / theirs for mine, theirs in zip(by["ours"], by[peer], strict=True))
        for by in (by_clock, by_core)
    )
    return f"{clock:.2f} ({core:.2f})"


def main(seconds: float = 2.0, rounds: int = 5, tasks: tuple[str, ...] = ()) -> None:
    """Print the table.

    Args:
        seconds: length of one measurement.
        rounds: measurements of each, taken in turns.
        tasks: tasks, all of them by default.
    """
    cores = len(os.sched_getaffinity(0))
    python = envpool_python()
    header = [
        "env-steps/s",
        "Gymnasium, 1 env",
        "AsyncVectorEnv, 16",
        f"EnvPool, 64 on {cores}",
        "drspcrl, 64 on 1 thread",
        f"drspcrl, 64 on {cores}",
        "times Async (per core-second)",
        "times EnvPool",
        "times 1 thread",
    ]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for task in tasks or task_names():
        print(f"| {' | '.join(compare(task, python, cores, seconds, rounds))} |", flush=True)


if __name__ == "__main__":
    import tyro

    tyro.cli(main)
