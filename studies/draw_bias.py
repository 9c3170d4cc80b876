"""What an n-draw backup sees of the gap that the exact ball has; docs/concepts/tabular.md.

python studies/draw_bias.py    n = 4 … 512
"""

import jax
import numpy as np

from drspcrl.divergences import KL
from drspcrl.tabular import make_instance, robust_policy_evaluation, robust_value_iteration

COUNTS = (4, 8, 16, 32, 64, 128, 256, 512)


def main() -> None:
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


if __name__ == "__main__":
    main()
