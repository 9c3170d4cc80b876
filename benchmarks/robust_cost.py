"""What robustness costs: an update of SAC and DDPG against n nominal draws, beside the plain one.

    python benchmarks/robust_cost.py --draws 2 8 64 --members 1
    python benchmarks/robust_cost.py --members 35 --algorithms sac --actor-draws one --minutes 5

Prints a Markdown table: milliseconds per update of one member, and how many plain updates that is.
Plain and robust take turns several times and the least time of each counts, because machines are
shared. Updates run as in training, `--block` in one program.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from drspcrl.learners import DDPG, SAC, DDPGHyper, SACHyper
from drspcrl.learners.cpu.compiling import learning_options, over_members
from drspcrl.learners.cpu.threefry import quick
from drspcrl.learners.population import stack, update_block
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import Plain, Uncertainty
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import transitions_of
from drspcrl.transitions.nominal import Scales, Strength

LEARNERS = {"sac": (SAC, SACHyper), "ddpg": (DDPG, DDPGHyper)}
OBSERVATION, ACTION, BATCH = 17, 6, 256  # HalfCheetah's sizes


def strength(members: int, given: argparse.Namespace) -> Strength:
    each = (np.full(members, x, np.float32) for x in (given.sensor, given.actuator, given.process))
    return Strength(np.full(members, given.epsilon, np.float32), Scales(*each))


def batches(members: int, block: int) -> Batch:
    random = np.random.default_rng(0)
    normal = lambda *shape: jnp.asarray(  # noqa: E731
        random.normal(size=(members, block, BATCH, *shape)), jnp.float32
    )
    ended = jnp.zeros((members, block, BATCH), bool)
    return Batch(
        normal(OBSERVATION), jnp.tanh(normal(ACTION)), normal(), normal(OBSERVATION), ended
    )


def prepared(name: str, changes: dict | None, given: argparse.Namespace) -> Callable[[], float]:
    """A function that times one dispatch; milliseconds per member and update."""
    members, against = given.members, strength(given.members, given)
    platform = jax.devices()[0].platform
    form: Uncertainty = Plain()
    if changes is not None:
        form = transitions_of([resolve(name, changes, 1000)], against, platform)
    kind, hyper = LEARNERS[name]
    learner = kind(uncertainty=form)
    block = given.block
    keys = quick(jax.random.split(jax.random.key(0), members), platform)
    state = jax.jit(jax.vmap(lambda key: learner.init(key, OBSERVATION, ACTION)))(keys)
    update = jax.jit(
        over_members(partial(update_block, learner), members, in_axes=(0, 0, 0, 0, 0, None)),
        donate_argnums=0,
        compiler_options=learning_options(platform),
    )
    data, numbers = batches(members, block), stack([hyper()] * members)
    now = {"state": state, "done": 0}

    def run(dispatches: int = 2) -> float:
        begun = time.perf_counter()
        for _ in range(dispatches):
            first = np.int32(now["done"])
            now["state"], _ = update(now["state"], data, numbers, against, keys, first)
            now["done"] += block
        jax.block_until_ready(now["state"])
        return 1e3 * (time.perf_counter() - begun) / (dispatches * block * members)

    run()
    return run


def cases(given: argparse.Namespace) -> Iterator[tuple[str, dict]]:
    choices = given.draws, given.actor_draws, given.duals, given.precisions
    for draws, actor_draws, dual, precision in product(*choices):
        solver = {"dual" if dual in ("network", "gaussian") else "divergence": dual}
        changes = {"draws": draws, "actor_draws": actor_draws, "draw_precision": precision}
        yield f"n = {draws}, actor {actor_draws}, {dual}, {precision}", changes | solver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithms", nargs="+", default=["sac", "ddpg"])
    parser.add_argument("--draws", nargs="+", type=int, default=[2, 4, 8, 16, 64])
    parser.add_argument("--actor-draws", nargs="+", default=["one", "all"])
    parser.add_argument("--duals", nargs="+", default=["kl"])
    parser.add_argument("--precisions", nargs="+", default=["float32"])
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--block", type=int, default=8, help="updates in one program")
    parser.add_argument("--epsilon", type=float, default=0.5)
    parser.add_argument("--sensor", type=float, default=0.1)
    parser.add_argument("--actuator", type=float, default=0.0)
    parser.add_argument("--process", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    kind = jax.devices()[0].device_kind
    print(f"{given.members} members on {kind}, jax {jax.__version__}, ms per member and update\n")
    print("| algorithm | backup | ms | × plain |\n|---|---|---|---|")
    for name in given.algorithms:
        plain = prepared(name, None, given)
        print(f"| {name} | plain | {min(plain() for _ in range(given.rounds)):.4g} | 1 |")
        for label, changes in cases(given):
            if time.monotonic() > deadline:
                print(f"| {name} | {label} | – | out of time |")
                continue
            robust = prepared(name, changes, given)
            pairs = [(plain(), robust()) for _ in range(given.rounds)]
            base, cost = (min(times) for times in zip(*pairs, strict=True))
            print(f"| {name} | {label} | {cost:.4g} | {cost / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
