"""Worst-case problems per second: one batch of a million, beside SciPy's scalar solver per problem.

python benchmarks/divergences.py
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar

from drspcrl.divergences import KL, ChiSquared, CVaR, TotalVariation

PROBLEMS, DRAWS, RADIUS = 1_000_000, 16, 0.5
PEER_PROBLEMS = 2_000


def scipy_kl(values: np.ndarray) -> float:
    """The dual of the KL ball, maximised in log β by Brent's method."""
    least = values.min()
    above = values - least

    def negative_dual(log_beta: float) -> float:
        beta = np.exp(log_beta)
        return beta * (np.log(np.mean(np.exp(-above / beta))) + RADIUS)

    found: Any = minimize_scalar(negative_dual, bracket=(-2.0, 1.0), tol=1e-8)
    return least - found.fun


def seconds(function, *arguments) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return time.perf_counter() - start


def rate_of_batch(divergence, values: jax.Array) -> tuple[float, jax.Array]:
    uniform = jnp.full(DRAWS, 1 / DRAWS, jnp.float32)
    solve = jax.jit(jax.vmap(lambda v: divergence.worst_case(v, uniform, jnp.float32(RADIUS))))
    solution = solve(values)
    assert bool(jnp.all(solution.converged))
    best = min(seconds(solve, values) for _ in range(3))
    return PROBLEMS / best, solution.value


def main() -> str:
    """The table, in Markdown."""
    values = jax.random.normal(jax.random.key(0), (PROBLEMS, DRAWS), jnp.float32)
    sample = np.asarray(values[:PEER_PROBLEMS], np.float64)
    start = time.perf_counter()
    expected = [scipy_kl(v) for v in sample]
    peer = PEER_PROBLEMS / (time.perf_counter() - start)
    lines = [
        f"{PROBLEMS:,} problems of {DRAWS} draws, radius {RADIUS}, float32, all converged.",
        "",
        "| solver | problems/s | ratio to SciPy |",
        "|---|---|---|",
        f"| SciPy `minimize_scalar` on the KL dual, one by one | {peer:,.0f} | 1 |",
    ]
    found = {}
    for divergence in (KL(), ChiSquared(), TotalVariation(), CVaR()):
        name = type(divergence).__name__
        rate, found[name] = rate_of_batch(divergence, values)
        lines.append(f"| `{name}` in one batch | {rate:,.0f} | {rate / peer:,.0f} |")
    error = float(np.max(np.abs(np.asarray(found["KL"][:PEER_PROBLEMS]) - expected)))
    lines += ["", f"Largest difference between `KL` and SciPy: {error:.1e}."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
