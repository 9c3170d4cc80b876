"""How well does a Stable-Baselines3 policy hold up? Train one (or load yours), and see.

pip install drspcrl stable-baselines3
python examples/evaluate_sb3.py --steps 100000
python examples/evaluate_sb3.py --model my_hopper.zip

A model trained under VecNormalize needs its normaliser, too: docs/guides/evaluation.md shows how.
"""
# The library is installed where the example is run, not where it is checked.
# pyright: reportMissingImports=false

import argparse
from pathlib import Path

from stable_baselines3 import PPO

from drspcrl.evaluation import evaluate


def main() -> None:
    parser = argparse.ArgumentParser(description="evaluate a Stable-Baselines3 policy")
    parser.add_argument("--model", type=Path, help="a saved PPO model for Hopper-v5")
    parser.add_argument("--steps", type=int, default=100_000, help="training steps without one")
    parser.add_argument("--suite", default="paper")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("sb3.csv"))
    arguments = parser.parse_args()
    if arguments.model:
        model = PPO.load(arguments.model)
    else:
        model = PPO("MlpPolicy", "Hopper-v5", seed=0, device="cpu").learn(arguments.steps)
    # Whatever has Stable-Baselines3's `predict` is a policy as it is.
    table = evaluate(model, "Hopper", arguments.suite, arguments.episodes)
    print(table)
    table.to_csv(arguments.out)


if __name__ == "__main__":
    main()
