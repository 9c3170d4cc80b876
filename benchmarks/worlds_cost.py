"""What worlds cost: a step of training in worlds as a multiple of a step of plain training.

    python benchmarks/worlds_cost.py
    python benchmarks/worlds_cost.py --env HalfCheetah --algorithms sac --members 35 --rounds 3

Prints a Markdown table. Plain training and worlds take turns of a few seconds, each first in every
other round, because machines are shared and change their speed: what counts is the median of the
ratios within a round, beside the middle half of them. A turn has as many steps for both, a whole
number of looks of the curriculum; what is compiled and the first steps are left out. `begin` is the
time that drawing a world and putting the simulator into it takes for an episode. With the defaults
it takes about four minutes on two cores: PPO, SAC, DDPG and TD3 with one member each.
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
STEPS = 400_000  # of the runs that the turns are taken from


def trainer(algorithm: str, method: str, given: argparse.Namespace, out: Path) -> Trainer:
    config = TrainConfig(
        env=given.env,
        algorithm=algorithm,  # type: ignore[arg-type]
        out=out,
        methods=(method,),
        seeds=tuple(range(given.members)),
        steps=STEPS,
        settings={} if algorithm == "ppo" else {"learning_starts": 256},
    )
    return Trainer(measured(config), Console(quiet=True))


def advance(made: Trainer, steps: int) -> float:
    """Seconds for so many further steps of each member, pacing included."""
    loop, every = made.loop, made.curricula.every
    until, begun = loop.steps + steps, time.perf_counter()
    while loop.steps < until:
        before = loop.steps
        loop.iterate()
        if loop.learner.uncertainty.paced and before // every != loop.steps // every:
            made._pace(loop.signal())
    jax.block_until_ready(loop.state)
    return time.perf_counter() - begun


def begin_time(made: Trainer, rounds: int = 300) -> float:
    """Milliseconds per episode, one episode at a time."""
    worlds = made.loop.collector.worlds
    assert worlds is not None
    begun = time.perf_counter()
    for k in range(rounds):
        worlds.begin(np.array([k % worlds.env.num_envs]))
    return 1e3 * (time.perf_counter() - begun) / rounds


def turn_length(made: dict[str, Trainer], seconds: float) -> int:
    """Steps of a turn: whole looks of the curriculum, about so many seconds of plain training."""
    every = made["worlds"].curricula.every
    for one in made.values():
        advance(one, 2 * every)  # compiles
    return every * max(1, round(seconds / advance(made["plain"], every)))


def in_turns(made: dict[str, Trainer], given: argparse.Namespace) -> tuple[int, np.ndarray]:
    """Steps of a turn, and the seconds that plain and worlds took for it, [rounds, 2]."""
    steps, names = turn_length(made, given.seconds), list(METHODS)
    taken = np.empty((given.rounds, 2))
    for k in range(given.rounds):
        for name in names if k % 2 == 0 else names[::-1]:
            taken[k, names.index(name)] = advance(made[name], steps)
    return steps, taken


def row(algorithm: str, given: argparse.Namespace) -> str:
    """A line of the table."""
    with tempfile.TemporaryDirectory() as out:
        made = {name: trainer(algorithm, m, given, Path(out)) for name, m in METHODS.items()}
        try:
            steps, taken = in_turns(made, given)
            begin = begin_time(made["worlds"])
        finally:
            for one in made.values():
                one.__exit__(None)
    plain, worlds = steps / np.median(taken, axis=0)
    low, middle, high = np.percentile(taken[:, 1] / taken[:, 0], [25, 50, 75])
    cost = f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return f"| {algorithm} | {plain:,.0f} | {worlds:,.0f} | {cost} | {begin:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithms", nargs="+", default=["ppo", "sac", "ddpg", "td3"])
    parser.add_argument("--env", default="Hopper")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a turn, about")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    members = f"{given.members} member{'s' if given.members > 1 else ''}"
    print(f"{members} on {given.env}, {given.rounds} rounds of about {given.seconds:g} s\n")
    print("| algorithm | plain, steps/s | worlds, steps/s | cost of a step, × plain | begin, ms |")
    print("|---|---|---|---|---|")
    for algorithm in given.algorithms:
        print(row(algorithm, given), flush=True)


if __name__ == "__main__":
    main()
