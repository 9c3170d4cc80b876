"""How long exact robust value iteration takes, 100 to 10,000 states.

python benchmarks/tabular.py
"""

import time

import numpy as np

from drspcrl.divergences import KL
from drspcrl.tabular import (
    Solution,
    SparseMDP,
    garnet,
    robust_value_iteration,
)

ERROR, DISCOUNT, RADIUS = 1e-6, 0.95, 0.5
REPEATS = 5


def main() -> None:
    """Print the time of robust value iteration to 1e-6: the first call, then the median of five."""
    print("Garnet, 8 actions, 8 successors, γ = 0.95, KL ball, ε = 0.5, values to 1e-6:\n")
    print("| states | seconds | once compiled | CPU seconds | sweeps | certified error |")
    print("|---:|---:|---:|---:|---:|---:|")
    for states in (100, 300, 1000, 3000, 10_000):
        mdp = garnet(states=states, actions=8, successors=8, discount=DISCOUNT, seed=0)
        # The tolerance is relative to max|V| ≤ 1/(1−γ), and the error is residual/(1−γ).
        tolerance = ERROR * (1 - DISCOUNT) ** 2
        _, first, _ = _timed(mdp, tolerance)
        repeats = [_timed(mdp, tolerance) for _ in range(REPEATS)]
        solution = repeats[0][0]
        seconds, busy = np.median([times for _, *times in repeats], axis=0)
        error = solution.residual / (1 - DISCOUNT)
        if not (solution.converged and error <= ERROR):
            raise RuntimeError(f"{states} states: certified error {error:.1e}, wanted {ERROR}")
        print(
            f"| {states:,} | {first:.1f} | {seconds:.2f} | {busy:.2f} "
            f"| {solution.iterations} | {error:.0e} |",
            flush=True,
        )


def _timed(mdp: SparseMDP, tolerance: float) -> tuple[Solution, float, float]:
    start, busy = time.perf_counter(), time.process_time()
    solution = robust_value_iteration(mdp, KL(), RADIUS, tolerance=tolerance)
    return solution, time.perf_counter() - start, time.process_time() - busy


if __name__ == "__main__":
    main()
