"""Exact robust MDPs: time by size, bias by number of draws, both sides of Theorem 1.

python benchmarks/tabular.py            how long value iteration takes, 100 to 10,000 states
python benchmarks/tabular.py draws      what n draws see of the gap, n = 4 … 512
python benchmarks/tabular.py theorem    both sides of the checkable parts of Theorem 1
"""

import sys
import time

import jax
import numpy as np

from drspcrl.divergences import KL, ChiSquared, CressieRead, CVaR, TotalVariation, Wasserstein
from drspcrl.tabular import (
    Solution,
    SparseMDP,
    garnet,
    make_instance,
    robust_policy_evaluation,
    robust_value_iteration,
)
from drspcrl.tabular.theorem import check_theorem

ERROR, DISCOUNT, RADIUS = 1e-6, 0.95, 0.5
REPEATS = 5
COUNTS = (4, 8, 16, 32, 64, 128, 256, 512)


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


def draws() -> None:
    """Print the share of the nominal-to-robust gap that a backup of n draws recovers."""
    cases = []
    for name, radius in (("frozenlake", 0.02), ("garnet", 0.5), ("garnet", 1.0)):
        mdp = make_instance(name)
        policy = robust_value_iteration(mdp, KL(), radius).policy
        nominal = robust_policy_evaluation(mdp, policy, KL(), 0.0).expected_return
        exact = robust_policy_evaluation(mdp, policy, KL(), radius).expected_return
        cases.append((mdp, policy, radius, nominal, exact))
    print("| n | Gaussian V, ε = 1: gap | β | FrozenLake, ε = .02 | Garnet, ε = .5 | ε = 1 |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n in COUNTS:
        cells = [f"{share:.3f}" for share in _gaussian_shares(n)]
        for mdp, policy, radius, nominal, exact in cases:
            solution = robust_policy_evaluation(mdp, policy, KL(), radius, draws=n)
            share = (nominal - solution.expected_return) / (nominal - exact)
            error = np.ceil(1000 * solution.standard_error / (nominal - exact)) / 1000
            cells.append(f"{share:.3f}" + (f" ± {error:.3f}" if error else ""))
        print(f"| {n} | {' | '.join(cells)} |", flush=True)


def _gaussian_shares(n: int) -> tuple[float, float]:
    """Of the gap √2 and the multiplier 1/√2 of a standard Gaussian at ε = 1."""
    with jax.enable_x64(True):
        values = np.random.default_rng(0).normal(size=(max(2_000_000 // n, 8000), n))
        uniform = np.full(n, 1 / n)
        solve = jax.jit(jax.vmap(lambda v: KL().worst_case(v, uniform, 1.0)))
        found = solve(values)
        return -float(found.value.mean()) / np.sqrt(2), float(found.multiplier.mean()) * np.sqrt(2)


def theorem() -> None:
    """Print both sides of each inequality for every divergence."""
    mdp = garnet(states=5, actions=2, successors=3, discount=0.9, seed=2).to_dense()
    places = np.arange(5.0)
    balls = {
        "KL": KL(),
        "χ²": ChiSquared(),
        "TV": TotalVariation(),
        "CVaR": CVaR(),
        "Cressie–Read ½": CressieRead(0.5),
        "Wasserstein 1": Wasserstein.between(places),
        "Wasserstein 2": Wasserstein.between(places, order=2.0),
    }
    print("| ball | (i) | ≤ | (ii) | ≤ | (iii) | ≤ | L₁ | L₂ | ε_T |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, ball in balls.items():
        check = check_theorem(
            mdp,
            ball,
            budget=0.5,
            least_radius=0.02,
            start_radius=0.25,
            pacing=10.0,
            iterations=400,
        )
        sides = [
            f"{side:.3f}"
            for bound in (check.stationarity, check.policy_at_budget, check.value_gap)
            for side in (bound.left, bound.right)
        ]
        constants = (check.gradient_lipschitz, check.derivative_lipschitz, check.final_radius)
        print(f"| {name} | {' | '.join(sides)} | {' | '.join(f'{x:.3g}' for x in constants)} |")


if __name__ == "__main__":
    {"scale": main, "draws": draws, "theorem": theorem}[(sys.argv[1:] or ["scale"])[0]]()
