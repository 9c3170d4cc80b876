"""What a checkpoint of a long run costs: seconds and bytes, of the first and of those after it.

    python benchmarks/checkpoint.py --members 1 35

HalfCheetah, SAC, a buffer of 1M steps that is full of random numbers. The first checkpoint writes
all of it; each one after it only the blocks that the steps in between have touched, here 50,000
steps, the default interval. `read` is what `drspcrl resume` spends on reading it back.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from drspcrl.config.learners import observation_slots
from drspcrl.runfolder.checkpoint import Store

ENVS, OBSERVATION, ACTION = 8, 17, 6
STEPS, INTERVAL = 1_000_000, 50_000
WEIGHTS = 14 * 72_000  # actor, critics, targets and their optimisers, in numbers


def member(random: np.random.Generator) -> dict[str, np.ndarray]:
    rows = STEPS // ENVS
    slots = observation_slots(rows)
    return {
        "observation": random.standard_normal((ENVS, slots, OBSERVATION), np.float32),
        "action": random.standard_normal((ENVS, rows, ACTION), np.float32),
        "reward": random.standard_normal((ENVS, rows), np.float32),
        "terminated": np.zeros((ENVS, rows), bool),
        "slot": random.integers(0, slots, (ENVS, rows), np.int32),
        "learner": random.standard_normal((14, WEIGHTS // 14), np.float32),
    }


def get_on(tree: dict[str, np.ndarray], random: np.random.Generator, first: int) -> None:
    """Overwrite what an interval's steps overwrite."""
    rows = slice(first // ENVS, (first + INTERVAL) // ENVS)
    for name, array in tree.items():
        if name == "learner":
            array[...] = random.standard_normal(array.shape, np.float32)
        elif array.dtype == np.float32:
            array[:, rows] = random.standard_normal(array[:, rows].shape, np.float32)


def timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(members: int) -> str:
    random = np.random.default_rng(0)
    tree = member(random)  # one tree stands for all: a member's checkpoint is its own
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCHMARK_DIR")) as folder:
        stores = [Store(Path(folder) / str(k)) for k in range(members)]

        def write(step: int) -> None:
            for store in stores:
                store.write(step, {"loop": tree})
            for store in stores:
                store.keep()

        first = timed(lambda: write(0))
        get_on(tree, random, 0)
        before = size(Path(folder))
        later = [timed(lambda: write(1))]
        written = size(Path(folder)) - before
        for n in (1, 2):
            get_on(tree, random, n * INTERVAL)
            later.append(timed(lambda step=n + 1: write(step)))
        reading = timed(lambda: [Store(Path(folder) / str(k)).read(3) for k in range(members)])
        total = size(Path(folder))
    gib = 2**30
    return (
        f"| {members} | {total / gib:.2f} GiB | {first:.2f} s | {np.median(later):.2f} s | "
        f"{written / gib * 1024:.0f} MiB | {reading:.2f} s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[1])
    print("| members | on disk | first | each after | written by it | read |")
    print("|---|---|---|---|---|---|")
    for members in parser.parse_args().members:
        print(measure(members), flush=True)


if __name__ == "__main__":
    main()
