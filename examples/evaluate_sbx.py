"""How well does an SBX policy (Stable-Baselines3 in JAX) hold up? Train one, and see.

pip install drspcrl sbx-rl
python examples/evaluate_sbx.py --steps 100000

SBX has the interface of Stable-Baselines3, so its models are policies as they are.
"""
# The library is installed where the example is run, not where it is checked.
# pyright: reportMissingImports=false

import argparse
from pathlib import Path

from sbx import SAC

from drspcrl.evaluation import evaluate


def main() -> None:
    parser = argparse.ArgumentParser(description="evaluate an SBX policy")
    parser.add_argument("--steps", type=int, default=100_000, help="training steps")
    parser.add_argument("--suite", default="paper")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("sbx.csv"))
    arguments = parser.parse_args()
    model = SAC("MlpPolicy", "Hopper-v5", seed=0).learn(arguments.steps)
    table = evaluate(model, "Hopper", arguments.suite, arguments.episodes)
    print(table)
    table.to_csv(arguments.out)


if __name__ == "__main__":
    main()
