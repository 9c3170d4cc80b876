"""How well does a torch module of your own hold up?

    pip install drspcrl torch
    python examples/evaluate_torch.py --weights actor.pt

The module here is a common actor: two hidden layers, actions squashed by tanh. Without weights it
is evaluated as it was initialised, which shows the way but no skill.
"""
# The library is installed where the example is run, not where it is checked.
# pyright: reportMissingImports=false

import argparse
from pathlib import Path

import numpy as np
import torch

from drspcrl.evaluation import evaluate


def main() -> None:
    parser = argparse.ArgumentParser(description="evaluate a torch module")
    parser.add_argument("--weights", type=Path, help="a state_dict of this module")
    parser.add_argument("--suite", default="paper")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("torch.csv"))
    arguments = parser.parse_args()
    torch.manual_seed(0)
    actor = torch.nn.Sequential(
        torch.nn.Linear(11, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 3), torch.nn.Tanh(),
    )  # fmt: skip
    if arguments.weights:
        actor.load_state_dict(torch.load(arguments.weights, weights_only=True))
    actor.eval()

    # A policy is a function from observations to actions, both NumPy arrays, one row each.
    @torch.inference_mode()
    def policy(observations: np.ndarray) -> np.ndarray:
        return actor(torch.as_tensor(observations, dtype=torch.float32)).numpy()

    table = evaluate(policy, "Hopper", arguments.suite, arguments.episodes)
    print(table)
    table.to_csv(arguments.out)


if __name__ == "__main__":
    main()
