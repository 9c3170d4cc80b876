"""How fast the whole training loop is, beside the physics alone and the updates alone.

    python benchmarks/learners.py --env HalfCheetah --algorithms ppo sac ddpg --seconds 20

One row for each algorithm and number of members: environment steps per second of the whole loop
after everything is compiled (summed over members), the seconds until the first iteration was over,
the physics alone at the same number of environments, and for SAC and DDPG the updates alone.
"""

import argparse
import time
from collections.abc import Callable

import jax
import numpy as np

from drspcrl.trainer.algorithms import make_loop
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.loop import Loop
from drspcrl.trainer.offpolicy import OffPolicyLoop
from drspcrl.trainer.settings import resolve

STEPS = 1_000_000


def rate(work: Callable[[], int], seconds: float) -> float:
    """How much of `work` is done in a second."""
    begun, done = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        done += work()
    return done / (time.monotonic() - begun)


def prepare(env: str, algorithm: str, members: int, envs: int | None) -> tuple[Loop, float]:
    begun = time.monotonic()
    changes = {} if algorithm == "ppo" else {"learning_starts": 256}
    if envs is not None:
        changes["envs_per_member"] = envs
    settings = resolve(algorithm, changes, STEPS)
    seeds = range(members)
    collector = Collector(env, seeds, settings["envs_per_member"])
    device = jax.devices()[0]
    loop = make_loop(algorithm, settings, collector, seeds, STEPS, device, device)
    while loop.steps <= changes.get("learning_starts", 0) + collector.envs:
        loop.iterate()
    jax.block_until_ready(loop.state)
    return loop, time.monotonic() - begun


def whole_loop(loop: Loop, members: int, seconds: float) -> float:
    def work() -> int:
        before = loop.steps
        loop.iterate()
        jax.block_until_ready(loop.state)
        return (loop.steps - before) * members

    return rate(work, seconds)


def physics(loop: Loop, members: int, seconds: float) -> float:
    actions = np.zeros((members, loop.collector.envs, loop.collector.action_size), np.float32)

    def work() -> int:
        loop.collector.step(actions)
        return members * loop.collector.envs

    return rate(work, seconds)


def updates(loop: Loop, members: int, seconds: float) -> float:
    if not isinstance(loop, OffPolicyLoop):
        return float("nan")

    def work() -> int:
        before = loop.updates
        loop.learn()
        jax.block_until_ready(loop.state)
        return (loop.updates - before) * members

    return rate(work, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="HalfCheetah")
    parser.add_argument("--algorithms", nargs="+", default=["ppo", "sac", "ddpg"])
    parser.add_argument("--members", nargs="+", type=int, default=[1])
    parser.add_argument("--envs-per-member", type=int)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    print(f"{given.env} on {jax.devices()[0].device_kind}, jax {jax.__version__}")
    print("algorithm,members,steps_per_second,first_iteration_s,physics,updates")
    for algorithm in given.algorithms:
        for members in given.members:
            loop, first = prepare(given.env, algorithm, members, given.envs_per_member)
            speed = whole_loop(loop, members, given.seconds)
            alone = updates(loop, members, given.seconds / 4)
            only = physics(loop, members, given.seconds / 4)
            print(
                f"{algorithm},{members},{speed:.0f},{first:.1f},{only:.0f},{alone:.0f}", flush=True
            )


if __name__ == "__main__":
    main()
