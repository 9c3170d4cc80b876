"""Env-steps/s against the number of threads, beside mujoco.batch alone on the same model.

    python benchmarks/env_scaling.py [simulations]

Bare `mujoco.batch` shows what the machine's cores allow; the share of it that a whole environment
step keeps is ours.
"""

import os
import sys
import time

import numpy as np

from drspcrl.envs import make, task_names

SIMULATIONS, SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 512, 1.0


def rate(step) -> float:
    for _ in range(5):
        step()
    begin, calls = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        step()
        calls += 1
    return calls * SIMULATIONS / (time.perf_counter() - begin)


def rates(task: str, threads: int) -> tuple[float, float]:
    """A whole step of the environment, and `Batch.step` on the same simulations."""
    env = make(task, SIMULATIONS, threads=threads)
    env.reset()
    shape = (SIMULATIONS, *env.action_space.shape)
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, shape).astype(np.float32)
    whole = rate(lambda: env.step(actions))
    batch = env.simulation.batch  # type: ignore[attr-defined]
    frames = env.simulation._task.frame_skip  # type: ignore[attr-defined]
    bare = rate(lambda: batch.step(nstep=frames))
    env.close()
    return whole, bare


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= cores]
    print(f"{SIMULATIONS} simulations on {cores} cores; in brackets bare `mujoco.batch`.\n")
    print("| env-steps/s | " + " | ".join(f"{n} threads" for n in counts) + " |")
    print("|---" * (len(counts) + 1) + "|")
    for task in task_names():
        cells = [rates(task, n) for n in counts]
        row = [f"{whole:,.0f} ({bare:,.0f})" for whole, bare in cells]
        print(f"| {task} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
