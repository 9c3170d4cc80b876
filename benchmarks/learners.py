"""How fast the whole training loop is, beside the physics alone and the updates alone.

    python benchmarks/learners.py --env HalfCheetah --algorithms ppo sac ddpg --seconds 20
    python benchmarks/learners.py --algorithms sac --members 1 5 35 105 --robust --set draws=8

One row for each algorithm and number of members: environment steps per second of the whole loop
after everything is compiled (summed over members), the seconds until the first iteration was over,
the physics alone at the same number of environments, and for SAC and DDPG the updates alone. Then,
for these two, milliseconds of one iteration and of its parts when nothing else runs: updates (with
their samples), acting, physics. They overlap, so an iteration takes less than their sum.
"""

import argparse
import time
from collections.abc import Callable

import jax
import numpy as np

from drspcrl.cli.train import parse_settings
from drspcrl.training.collector import Collector
from drspcrl.training.loop import Loop, make_loop
from drspcrl.training.offpolicy import OffPolicyLoop
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty

STEPS = 1_000_000


def rate(work: Callable[[], int], seconds: float) -> float:
    """How much of `work` is done in a second."""
    begun, done = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        done += work()
    return done / (time.monotonic() - begun)


def prepare(given: argparse.Namespace, algorithm: str, members: int) -> tuple[Loop, float]:
    begun = time.monotonic()
    changes = {} if algorithm == "ppo" else {"learning_starts": 256}
    if given.envs_per_member is not None:
        changes["envs_per_member"] = given.envs_per_member
    settings = resolve(algorithm, changes | parse_settings(given.set), STEPS)
    seeds = range(members)
    collector = Collector(given.env, seeds, settings.learner.envs_per_member)
    device = jax.devices()[0]
    uncertainty = member_uncertainty(settings, [0.3] * members) if given.robust else None
    loop = make_loop(algorithm, settings, collector, seeds, STEPS, device, device, uncertainty)
    while loop.steps <= changes.get("learning_starts", 0) + collector.envs:
        loop.iterate()
    jax.block_until_ready(loop.state)
    return loop, time.monotonic() - begun


def whole_loop(loop: Loop, members: int, seconds: float) -> float:
    def work() -> int:
        before = loop.steps
        loop.iterate()
        return (loop.steps - before) * members

    return rate(work, seconds)


def acting(loop: Loop, seconds: float) -> float:
    """Milliseconds from observations on the device to actions on the host."""
    if not isinstance(loop, OffPolicyLoop):
        return float("nan")

    def work() -> int:
        steps = np.int32(loop.steps)
        members = loop.state, loop._outcome, loop._act_keys, loop.hyper, loop.uncertainty
        np.asarray(loop._act(*members, steps))
        return 1

    return 1e3 / rate(work, seconds)


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
    parser.add_argument("--robust", action="store_true", help="against nominal noise, ε = 0.3")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    print(f"{given.env} on {jax.devices()[0].device_kind}, jax {jax.__version__}")
    print(
        "algorithm,members,steps_per_second,first_iteration_s,physics,updates,gib,"
        "iteration_ms,updates_ms,acting_ms,physics_ms"
    )
    for algorithm in given.algorithms:
        for members in given.members:
            loop, first = prepare(given, algorithm, members)
            speed = whole_loop(loop, members, given.seconds)
            alone = updates(loop, members, given.seconds / 4)
            only = physics(loop, members, given.seconds / 4)
            memory = (jax.devices()[0].memory_stats() or {}).get("bytes_in_use", 0) / 2**30
            numbers = f"{speed:.0f},{first:.1f},{only:.0f},{alone:.0f},{memory:.2f}"
            steps = 1e3 * members * loop.collector.envs
            act = acting(loop, given.seconds / 8)
            numbers += f",{steps / speed:.2f},{steps / alone:.2f},{act:.2f},{steps / only:.2f}"
            print(f"{algorithm},{members},{numbers}", flush=True)
            loop.collector.close()
            del loop


if __name__ == "__main__":
    main()
