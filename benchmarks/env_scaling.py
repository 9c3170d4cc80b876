"""Env-steps/s against the number of threads, beside mujoco.batch alone in the very same steps.

    python benchmarks/env_scaling.py [simulations]

Bare `mujoco.batch` shows what the machine's cores allow; the share of it that a whole environment
step keeps is ours. What of a step runs on one thread whatever their number (all that is not inside
a call of MuJoCo's) is measured on one thread; S of it beside P of physics lets n threads be at most
(S + P) / (S + P/n) times as fast.
"""

import os
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from drspcrl.envs import BatchEnv, make, task_names

SIMULATIONS, SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 512, 2.0
CALLS = ("step", "forward", "reset", "apply", "set_const")


class Rates(NamedTuple):
    """Env-steps/s of whole steps and of bare physics; microseconds per simulation and step."""

    whole: float
    bare: float
    serial: float
    parallel: float


class Clock:
    """Adds up the time inside a batch's calls, those within other calls only once."""

    def __init__(self, batch: Any):
        self.seconds: dict[str, float] = dict.fromkeys(CALLS, 0.0)
        self._depth = 0
        for name in CALLS:
            if hasattr(batch, name):
                setattr(batch, name, self._timed(name, getattr(batch, name)))

    def _timed(self, name: str, call):
        def timed(*args, **kwargs):
            begin = time.perf_counter()
            self._depth += 1
            try:
                return call(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds[name] += time.perf_counter() - begin

        return timed


def measure(task: str, threads: int) -> Rates:
    """Step for a while under random actions, which let robots fall and start over."""
    env = make(task, SIMULATIONS, threads=threads)
    clock = Clock(env.simulation.batch)  # type: ignore[attr-defined]
    env.reset()
    shape = (16, SIMULATIONS, *env.action_space.shape)
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, shape).astype(np.float32)
    rows = np.array(timed_steps(env, actions, clock))
    env.close()
    whole, bare, _ = rows.sum(axis=0)
    typical = 1e6 / SIMULATIONS * np.median([rows[:, 0] - rows[:, 2], rows[:, 2]], axis=1)
    count = len(rows) * SIMULATIONS
    return Rates(count / whole, count / bare, *typical.tolist())


def timed_steps(env: BatchEnv, actions: np.ndarray, clock: Clock) -> list[list[float]]:
    """Seconds of each step: whole, in `Batch.step`, in any call of MuJoCo's."""
    rows: list[list[float]] = []
    end = float("inf")
    for k in range(10**6):
        if k == 8:  # the first steps are for the caches, and for robots to begin to fall
            end = time.perf_counter() + SECONDS
        if time.perf_counter() > end:
            break
        before = dict(clock.seconds)
        begin = time.perf_counter()
        env.step(actions[k % len(actions)])
        whole = time.perf_counter() - begin
        spent = {name: clock.seconds[name] - before[name] for name in CALLS}
        rows.append([whole, spent["step"], sum(spent.values())])
    return rows[8:]


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= cores]
    print(f"{SIMULATIONS} simulations on {cores} cores; in brackets bare `mujoco.batch`.\n")
    columns = ["1 thread", *(f"{n} threads" for n in counts[1:])]
    columns += ["serial µs", "of one thread", "at most on 16"]
    print("| env-steps/s | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for task in task_names():
        cells = [measure(task, n) for n in counts]
        serial, parallel = cells[0].serial, cells[0].parallel
        limit = (serial + parallel) / (serial + parallel / 16)
        row = [f"{each.whole:,.0f} ({each.bare:,.0f})" for each in cells]
        row += [f"{serial:.2f}", f"{serial / parallel:.1%}", f"{limit:.1f} ×"]
        print(f"| {task} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
