"""Are the plain learners as good as the references? Learning curves and final returns.

    python studies/nominal_quality.py --groups sac:HalfCheetah sac:Hopper ddpg:HalfCheetah \
        --seeds 5 --steps 300000 --minutes 9 --out quality

Every group trains its seeds as one population. The minutes are for all groups together, shared by
the groups that are still to come, and each stops cleanly when its share is over. The output folder
gets `curves.csv` (step and mean return of every run and row), `final.csv` (the final policy of each
run over 20 episodes, beside the published returns at 1M steps) and the run folders.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from drspcrl.data import cleanrl_returns
from drspcrl.envs import make
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import Run, read_run
from drspcrl.training import TrainConfig, train

EPISODES = 20
FINAL_COLUMNS = (
    "algorithm", "env", "seed", "steps", "status", "return", "length", "seconds", "cleanrl_1m"
)  # fmt: skip


def judge(run: Run) -> tuple[float, float]:
    """Mean return and length of the final policy, acting deterministically."""
    if run.status == "diverged":  # it left no policy
        return float("nan"), float("nan")
    policy = load_policy(run.path)
    env = make(run.environment, EPISODES)
    observation = env.reset(seeds=[(run.seed, 0, episode) for episode in range(EPISODES)])
    returns, lengths = np.zeros(EPISODES), np.zeros(EPISODES)
    playing = np.ones(EPISODES, bool)
    while playing.any():
        step = env.step(policy(observation))
        returns += np.where(playing, step.reward, 0.0)
        lengths += playing
        playing &= ~step.ended
        observation = step.observation
    env.close()
    return float(returns.mean()), float(lengths.mean())


def append(path: Path, header: tuple[str, ...], rows: list[tuple]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(header)
        writer.writerows(rows)


def curve(run: Run) -> list[tuple]:
    """Rows of a learning curve, thinned to about a hundred, each a mean over its stretch."""
    step, returns = run.metrics["step"], run.metrics["episode_return"]
    parts = np.array_split(np.arange(len(step)), min(100, len(step)))
    rows = []
    for part in parts:
        known = returns[part][~np.isnan(returns[part])]
        if known.size:
            rows.append(
                (
                    run.algorithm,
                    run.environment,
                    run.seed,
                    int(step[part[-1]]),
                    f"{known.mean():.1f}",
                )
            )
    return rows


def group(algorithm: str, env: str, given: argparse.Namespace, seconds: float) -> None:
    begun = time.monotonic()
    config = TrainConfig(
        env=env,
        algorithm=algorithm,  # type: ignore[arg-type]  # checked there
        out=given.out / "runs",
        seeds=tuple(range(given.seeds)),
        steps=given.steps,
        time_limit=max(1.0, seconds),
        tensorboard=False,
        settings={}
        if given.envs_per_member is None
        else {"envs_per_member": given.envs_per_member},
    )
    folders = train(config)
    took = time.monotonic() - begun
    mean, std = cleanrl_returns().get((algorithm, env), (float("nan"), float("nan")))
    for run in map(read_run, folders):
        returns, length = judge(run)
        row = (algorithm, env, run.seed, run.info["steps"], run.status, f"{returns:.1f}",
               f"{length:.1f}", f"{took:.1f}", f"{mean:.0f}±{std:.0f}")  # fmt: skip
        print(*row, flush=True)
        append(given.out / "final.csv", FINAL_COLUMNS, [row])
        append(given.out / "curves.csv", ("algorithm", "env", "seed", "step", "return"), curve(run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", nargs="+", required=True, metavar="ALGORITHM:TASK")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--envs-per-member", type=int)
    parser.add_argument("--out", type=Path, default=Path("quality"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * given.minutes
    for i, name in enumerate(given.groups):
        algorithm, env = name.split(":")
        # Evaluations and compilations take their part of a share, too.
        share = (deadline - time.monotonic()) / (len(given.groups) - i) - 10
        group(algorithm, env, given, share)


if __name__ == "__main__":
    main()
