"""What worlds cost: steps per second of plain training and of training in worlds, as a ratio.

    python benchmarks/worlds_cost.py --env Hopper --members 1 --steps 8000
    python benchmarks/worlds_cost.py --algorithms sac --members 35 --rounds 3

Prints a Markdown table. Plain and worlds take turns several times and the best rate of each counts,
because machines are shared; what is compiled and the first steps are left out. `begin` is the time
that drawing a world and putting the simulator into it takes for an episode.
"""

import argparse
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from rich.console import Console

from drspcrl.training import TrainConfig
from drspcrl.training.run import Trainer
from drspcrl.training.worlds import measured

METHODS = {"plain": "vanilla", "worlds": "self_paced"}


def trainer(algorithm: str, method: str, given: argparse.Namespace, out: Path) -> Trainer:
    total = given.steps * (given.rounds + 2) + given.warm_up
    settings = {"learning_starts": 256} if algorithm != "ppo" else {}
    config = TrainConfig(
        env=given.env,
        algorithm=algorithm,  # type: ignore[arg-type]
        out=out,
        methods=(method,),
        seeds=tuple(range(given.members)),
        steps=total,
        settings=settings,
    )
    return Trainer(measured(config), Console(quiet=True))


def advance(made: Trainer, steps: int) -> float:
    """Steps of each member per second over so many further steps, pacing included."""
    loop, every = made.loop, made.curricula.every
    first, begun = loop.steps, time.perf_counter()
    while loop.steps < first + steps:
        before = loop.steps
        loop.iterate()
        if loop.learner.uncertainty.paced and before // every != loop.steps // every:
            made._pace(loop.signal())
    jax.block_until_ready(loop.state)
    return (loop.steps - first) / (time.perf_counter() - begun)


def begin_time(made: Trainer, rounds: int = 300) -> float:
    """Milliseconds per episode, one episode at a time."""
    worlds = made.loop.collector.worlds
    assert worlds is not None
    begun = time.perf_counter()
    for k in range(rounds):
        worlds.begin(np.array([k % worlds.env.num_envs]))
    return 1e3 * (time.perf_counter() - begun) / rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithms", nargs="+", default=["ppo", "sac", "ddpg"])
    parser.add_argument("--env", default="Hopper")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4096, help="of one round")
    parser.add_argument("--warm-up", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"{given.members} members on {given.env}\n")
    print("| algorithm | plain, steps/s | worlds, steps/s | cost of a step, × plain | begin, ms |")
    print("|---|---|---|---|---|")
    for algorithm in given.algorithms:
        with tempfile.TemporaryDirectory() as out:
            made = {
                name: trainer(algorithm, method, given, Path(out))
                for name, method in METHODS.items()
            }
            for one in made.values():
                advance(one, given.warm_up)
            rates = [
                {name: advance(one, given.steps) for name, one in made.items()}
                for _ in range(given.rounds)
            ]
            plain, worlds = (max(round_[name] for round_ in rates) for name in METHODS)
            begin = begin_time(made["worlds"])
            for one in made.values():
                one.__exit__(None)
        numbers = f"{plain:.0f} | {worlds:.0f} | {plain / worlds:.2f} | {begin:.3f}"
        print(f"| {algorithm} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
