"""What Ray adds to a grid's time on one machine, and how fast a cluster takes and notes tasks.

    python benchmarks/grid_engines.py --steps 400000 --tasks 1000 --nodes 8

A grid of PPO on HalfCheetah in pieces, alternately with both engines, each time into a new folder;
Ray is started and ended within its time. Then empty tasks, each a process that says it is done, on
nodes that are processes of this machine: handed out, worked at, heard of and noted in the manifest.
Results hold for a machine that does nothing else; the load is printed.
"""

import argparse
import os
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

from drspcrl.experiments import Options, run_grid
from drspcrl.experiments.grid import Grid, parse_grid
from drspcrl.experiments.manifest import Manifest
from drspcrl.experiments.run import Conductor
from drspcrl.experiments.selection import Selection
from drspcrl.training.stopping import Stop

GRID = """
title: engines
groups:
  - {{algorithm: ppo, env: {env}, methods: [vanilla], seeds: [{seeds}], steps: {steps}}}
training: {{uncertainty: transitions, tensorboard: false}}
evaluation: {{suite: quick, episodes: 2}}
"""
EMPTY = 'read task; printf \'{"piece": "", "status": "done", "error": ""}\''


def grid_of(env: str, seeds: int, steps: int) -> Grid:
    listed = ", ".join(map(str, range(seeds)))
    return parse_grid(GRID.format(env=env, seeds=listed, steps=steps), "engines", Path())


def timed(grid: Grid, engine: str) -> float:
    options = Options(engine=engine, max_members=1, device="cpu", report=False)
    with tempfile.TemporaryDirectory() as out:
        begun = time.monotonic()
        summary = run_grid(grid, Path(out), options, say=lambda line: None)
        assert not summary.failed
        return time.monotonic() - begun


def overhead(pieces: int, steps: int, repeats: int) -> None:
    grid = grid_of("HalfCheetah", pieces, steps)
    pairs = []
    for number in range(repeats):
        order = ("local", "ray") if number % 2 == 0 else ("ray", "local")
        found = {engine: timed(grid, engine) for engine in order}
        pairs.append(found)
        load = f"load {os.getloadavg()[0]:.0f}"
        print(f"{found['local']:.1f} s, with Ray {found['ray']:.1f} s, {load}", file=sys.stderr)
    local, ray = (statistics.median(pair[name] for pair in pairs) for name in ("local", "ray"))
    ratio = statistics.median(pair["ray"] / pair["local"] for pair in pairs)
    print(f"| grid of {pieces} pieces of {steps:,} steps | seconds | against local |")
    print("|---|---:|---:|")
    print(f"| local | {local:.1f} | |")
    print(f"| ray, started and ended | {ray:.1f} | {ratio - 1:+.1%} |")


def empty_tasks(count: int, nodes: int) -> None:
    from ray.cluster_utils import Cluster

    from drspcrl.experiments.ray_engine import RayEngine

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(nodes):
        cluster.add_node(num_cpus=1)
    grid = grid_of("Hopper", count, 4096)
    with tempfile.TemporaryDirectory() as folder, Manifest.held(Path(folder)) as manifest:
        manifest.follow(grid, Selection(), {p.group: 1 for p in grid.populations})
        manifest.save()
        ends = []
        program = ("/bin/sh", "-c", EMPTY)
        with Stop(None) as stop:
            engine = RayEngine(stop, address=cluster.address, threads=1, program=program)
            with engine:
                conductor = Conductor(
                    manifest, grid, Options(retries=0), engine, stop,
                    lambda line: ends.append(time.monotonic()),
                )  # fmt: skip
                begun = time.monotonic()
                conductor.run(list(manifest.pieces.values()))
                seconds = time.monotonic() - begun
        attempts = [piece.attempts for piece in manifest.pieces.values()]
    assert attempts == [1] * count
    cluster.shutdown()
    half = [ends[len(ends) // 2] - ends[0], ends[-1] - ends[len(ends) // 2]]
    print(
        f"\n| empty tasks on {nodes} nodes of this machine | seconds | first half | second half |"
    )
    print("|---|---:|---:|---:|")
    print(f"| {count:,} | {seconds:.1f} | {half[0]:.1f} | {half[1]:.1f} |")


def note_cost(count: int) -> float:
    """Seconds to note one piece of a grid of so many, the least of five times two hundred."""
    grid = grid_of("Hopper", count, 4096)
    with tempfile.TemporaryDirectory() as folder, Manifest.held(Path(folder)) as manifest:
        manifest.follow(grid, Selection(), {p.group: 1 for p in grid.populations})
        manifest.save()
        pieces = (list(manifest.pieces.values()) * 2)[:200]
        costs = []
        for _ in range(5):
            begun = time.monotonic()
            for piece in pieces:
                manifest.put(piece)
            costs.append((time.monotonic() - begun) / len(pieces))
        return min(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pieces", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=8)
    asked = parser.parse_args()
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_enable_metrics_collection"):
        os.environ[name] = "0"
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    if asked.repeats:
        overhead(asked.pieces, asked.steps, asked.repeats)
    if asked.tasks:
        empty_tasks(asked.tasks, asked.nodes)
        costs = ", ".join(f"{n:,} pieces {1e3 * note_cost(n):.2f} ms" for n in (100, 1000))
        print(f"\nNoting one piece of a grid: {costs}.")


if __name__ == "__main__":
    main()
