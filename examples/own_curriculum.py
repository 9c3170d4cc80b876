"""A curriculum of one's own in one file.

    drspcrl train --env Hopper --algorithm sac --methods own_curriculum:KeepUp --out runs

trains with it (this file's folder on PYTHONPATH); run by itself, the file tries it on a small exact
problem beside the built-in ones.
"""

from dataclasses import dataclass

from drspcrl.curricula import Setup, Signal, curriculum
from drspcrl.divergences import KL
from drspcrl.tabular import make_instance
from drspcrl.tabular.self_paced import train


@dataclass(frozen=True)
class KeepUp:
    """ε rises by 2% of its budget while the return keeps up with its best, and falls while not."""

    setup: Setup

    def init(self, seed: int) -> dict:
        """A plain tree of numbers and arrays: it is saved with the run and read back."""
        return {"epsilon": self.setup.settings.epsilon_start, "best": float("-inf")}

    def epsilon(self, state: dict) -> float:
        """The radius of the coming iteration."""
        return float(state["epsilon"])

    def update(self, state: dict, signal: Signal) -> dict:
        """The state after an iteration, as a new tree."""
        if signal.episode_return != signal.episode_return:  # nan: no episode has ended yet
            return state
        budget = self.setup.settings.epsilon_budget
        best = max(state["best"], signal.episode_return)
        keeps_up = signal.episode_return >= best - 0.05 * abs(best)
        moved = state["epsilon"] + 0.02 * budget * (1 if keeps_up else -1)
        return {"epsilon": min(max(moved, 0.0), budget), "best": best}


def main(iterations: int = 80) -> dict[str, float]:
    """The worst-case return at the last ε of each method."""
    mdp, ball = make_instance("garnet"), KL()
    found = {}
    for method in ("fixed", "self_paced", KeepUp):
        rule = curriculum(method, {"epsilon_budget": 0.5}, iterations, mdp.discount, ball)
        run = train(mdp, ball, rule, iterations=iterations, learning_rate=1.0, normalized=True)
        name = method if isinstance(method, str) else method.__name__
        found[name] = float(run.robust_returns[-1])
        print(f"{name:12s} ε = {run.radii[-1]:.2f}  worst-case return {found[name]:.2f}")
    return found


if __name__ == "__main__":
    main()
