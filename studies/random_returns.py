"""Measure the return of uniformly random actions, the zero of the normalised difference.

python studies/random_returns.py
"""

import csv
import os
from pathlib import Path

TASKS = ("Hopper", "HalfCheetah", "Walker2d", "Humanoid")
EPISODES = 500


def measure(task: str, episodes: int = EPISODES, seed: int = 0) -> tuple[float, float]:
    """Mean return of random actions over the episodes, and the half-width of its 95% interval."""
    import gymnasium

    from drspcrl.statistics import mean_interval

    env = gymnasium.make(f"{task}-v5")
    env.action_space.seed(seed)
    returns = []
    for episode in range(episodes):
        env.reset(seed=seed + episode)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    estimate = mean_interval(returns)
    return estimate.value, estimate.half_width


def main() -> None:
    """Write the table that ships with the package."""
    import gymnasium
    import mujoco

    import drspcrl.data

    target = Path(drspcrl.data.__file__).with_name("random_returns.csv")
    aside = target.with_suffix(".tmp")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["environment", "mean", "ci95", "episodes", "gymnasium", "mujoco"])
        for task in TASKS:
            mean, half = measure(task)
            versions = [gymnasium.__version__, mujoco.__version__]
            writer.writerow([task, f"{mean:.2f}", f"{half:.2f}", EPISODES, *versions])
    os.replace(aside, target)


if __name__ == "__main__":
    main()
