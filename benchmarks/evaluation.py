"""Time the paper's suite on one policy, beside the bare simulator measured in the same run.

    python benchmarks/evaluation.py --task HalfCheetah --episodes 100

The policy is a 256×256 network in NumPy. The bare rate is `mujoco.batch` stepping the same number
of simulations with constant random controls: no policy, no perturbations, no rewards. It is taken
before and after, since other programs may share the machine.
"""

import time
from collections.abc import Callable

import numpy as np

from drspcrl.envs import make
from drspcrl.envs.simulator import TASKS, MujocoSimulation, usable_cores
from drspcrl.evaluation import evaluate, load_suite


def network(observation: int, action: np.ndarray, hidden: int = 256) -> Callable:
    random = np.random.default_rng(0)
    sizes = [(observation, hidden), (hidden, hidden), (hidden, len(action))]
    layers = [(random.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for s in sizes]

    def act(observations: np.ndarray) -> np.ndarray:
        x = observations.astype(np.float32)
        for layer in layers[:-1]:
            x = np.maximum(x @ layer, 0.0)
        return action * np.tanh(x @ layers[-1])

    return act


def bare_rate(task: str, simulations: int, seconds: float = 5.0) -> float:
    simulation = MujocoSimulation(TASKS[task], simulations)
    simulation.start(np.arange(simulations))
    control = simulation.batch.bind("ctrl")
    low, high = simulation.action_space.low, simulation.action_space.high
    control[:] = np.random.default_rng(0).uniform(low, high, control.shape)
    skip, steps, begin = TASKS[task].frame_skip, 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        simulation.batch.step(nstep=skip)
        steps += simulations
    return steps / (time.perf_counter() - begin)


def main(task: str = "HalfCheetah", suite: str = "paper", episodes: int = 100) -> str:
    """The table, in Markdown.

    Args:
        task: One of the tasks that run on the thread pool.
        suite: Name or path of a suite.
        episodes: Episodes for each setting.
    """
    env = make(task)
    policy = network(env.observation_space.shape[0], env.action_space.high)
    before = bare_rate(task, 32 * usable_cores())
    begin, begin_cpu = time.perf_counter(), time.process_time()
    table = evaluate(policy, task, suite, episodes)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    after = bare_rate(task, 32 * usable_cores())
    steps, rate = int(table.length.sum()), int(table.length.sum()) / seconds
    return "\n".join(
        [
            f"{task}, {len(load_suite(suite).rows)} settings × {episodes} episodes, {steps:,} "
            f"steps, on {usable_cores()} cores:",
            "",
            "| seconds | processor seconds | steps/s | bare simulator before, after | ratio |",
            "|---|---|---|---|---|",
            f"| {seconds:.1f} | {cpu:.1f} | {rate:,.0f} | {before:,.0f}, {after:,.0f} "
            f"| {2 * rate / (before + after):.2f} |",
        ]
    )


if __name__ == "__main__":
    import tyro

    print(tyro.cli(main))
