"""Random worst-case problems and independent answers to them, in NumPy and SciPy."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import xlogy

from drspcrl.divergences import (
    KL,
    ChiSquared,
    CressieRead,
    CVaR,
    Divergence,
    TotalVariation,
    Wasserstein,
)

POINTS = np.random.default_rng(7).normal(size=(6, 2))
DISTANCES = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=-1)


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """SciPy's Brent, with a plain number for a result."""
    return float(brentq(function, low, high, xtol=tolerance, rtol=np.float64(1e-15)))  # type: ignore[arg-type]


def random_problems(count: int, atoms: int, seed: int, largest_radius: float = 3.0):
    """Values, probabilities and radii over many orders of magnitude, with ties and zero atoms."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, atoms)) * 10.0 ** rng.uniform(-2, 3, size=(count, 1))
    probabilities = rng.dirichlet(np.full(atoms, 0.7), size=count)
    values[::5, 1] = values[::5, 0]  # ties
    probabilities[::7, 2] = 0.0  # atoms outside the support
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    radii = 10.0 ** rng.uniform(-8, np.log10(largest_radius), size=count)
    return values, probabilities, radii


def kl_value(v, p, radius):
    """The dual at the best β, in extended precision; the optimum forgives errors in β."""
    keep = p > 0
    v, p = v[keep].astype(np.longdouble), p[keep].astype(np.longdouble)
    if -np.log(p[v == v.min()].sum()) <= radius:
        return float(v.min())
    d = (v - v.min()) / np.ptp(v)

    def log_z(t):
        return np.log(np.sum(p * np.exp(-t * d)))

    def excess(log_t):
        t = np.exp(np.longdouble(log_t))
        w = p * np.exp(-t * d - log_z(t))
        return float(np.sum(w * (-t * d - log_z(t))) - radius)

    t = np.exp(np.longdouble(root(excess, -30, 60, 1e-14)))
    return float(v.min() + np.ptp(v) * (-(log_z(t) + radius) / t))


def chi_squared_value(v, p, radius):
    """The dual at the best η."""
    keep = p > 0
    v, p = v[keep].astype(np.longdouble), p[keep].astype(np.longdouble)
    least, spread = v.min(), np.ptp(v)
    if 1 / p[v == least].sum() - 1 <= radius:
        return float(least)
    d = (v - least) / spread

    def slope(eta):
        x = np.maximum(eta - d, 0)
        return float(1 - np.sqrt(1 + radius) * np.sum(p * x) / np.sqrt(np.sum(p * x * x)))

    high = 1.0
    while slope(high) > 0:
        high *= 2
    eta = np.longdouble(root(slope, 1e-13, high, 1e-15))
    dual = eta - np.sqrt((1 + np.longdouble(radius)) * np.sum(p * np.maximum(eta - d, 0) ** 2))
    return float(least + spread * dual)


def total_variation_value(v, p, radius):
    """The concave, piecewise linear dual has its maximum at an atom."""
    v, p = v[p > 0], p[p > 0]
    return max(np.sum(p * np.minimum(v, c)) - radius * (c - v.min()) for c in v)


def cvar_value(v, p, radius):
    """The same for the dual of the conditional value at risk."""
    v, p = v[p > 0], p[p > 0]
    return max(c - np.exp(radius) * np.sum(p * np.maximum(c - v, 0)) for c in v)


def wasserstein_value(order):
    """The dual is piecewise linear in λ: try every price at which some atom changes its mind."""
    price = DISTANCES**order

    def value(v, p, radius):
        gains = v[:, None, None] - v[None, :, None] + np.zeros((1, 1, len(v)))
        costs = (price.T[None, :, :] - price.T[:, None, :]) + 0 * gains
        with np.errstate(divide="ignore", invalid="ignore"):
            candidates = (gains / costs).ravel()
        candidates = np.append(candidates[np.isfinite(candidates) & (candidates > 0)], 0.0)
        dual = np.min(v[None, None] + candidates[:, None, None] * price[None], axis=-1) @ p
        return float(np.max(dual - candidates * radius**order))

    return value


def cressie_read_generator(k):
    """f_k as in the docstring of `CressieRead`."""
    return lambda r: (r**k - k * r + k - 1) / (k * (k - 1))


def cressie_read_value(k):
    """Nested root finding on the two-dimensional dual."""
    generator = cressie_read_generator(k)

    def conjugate(s):
        return (np.maximum(1 + (k - 1) * s, 0) ** (k / (k - 1)) - 1) / k

    def ratio(s):
        return np.maximum(1 + (k - 1) * s, 0) ** (1 / (k - 1))

    def value(v, p, radius):
        v, p = v[p > 0], p[p > 0]
        least, spread = v.min(), np.ptp(v)
        bottom = p[v == least].sum()
        if bottom * generator(1 / bottom) + (1 - bottom) * generator(0.0) <= radius:
            return least
        d = (v - least) / spread

        def level(t):
            top = t if k > 1 else min(t, (1 - 1e-15) / (1 - k))
            return root(lambda x: p @ ratio(x - t * d) - 1, 0, top, 1e-16)

        def excess(log_t):
            t = np.exp(log_t)
            return p @ generator(ratio(level(t) - t * d)) - radius

        t = np.exp(root(excess, -18, 25, 1e-12))
        x = level(t)
        return least + spread * (x - radius - p @ conjugate(x - t * d)) / t

    return value


def f_divergence(generator):
    """Σ p f(q/p), infinite where q leaves the support of p."""

    def distance(q, p):
        on = p > 0
        return np.sum(p[on] * generator(q[on] / p[on])) if not np.any(q[~on] > 0) else np.inf

    return distance


def largest_log_ratio(q, p):
    """The smallest ε with q ≤ e^ε p."""
    on = p > 0
    return np.log(np.max(q[on] / p[on])) if not np.any(q[~on] > 0) else np.inf


@dataclass(frozen=True)
class Case:
    """A divergence, its independent value, and the distance whose ball it is."""

    name: str
    divergence: Divergence
    value: Callable
    distance: Callable
    smooth: bool
    atoms: int = 6
    largest_radius: float = 3.0


def transport_distance(order):
    """The Wasserstein distance as a linear program of someone else's."""
    import cvxpy as cp

    def distance(q, p):
        plan = cp.Variable((len(p), len(p)), nonneg=True)
        problem = cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(plan, DISTANCES**order))),
            [cp.sum(plan, axis=1) == p, cp.sum(plan, axis=0) == q / q.sum()],
        )
        problem.solve(solver=cp.HIGHS)
        return max(float(problem.value), 0.0) ** (1 / order)  # type: ignore[arg-type]

    return distance


CASES = [
    Case("kl", KL(), kl_value, f_divergence(lambda r: xlogy(r, r)), smooth=True),
    Case(
        "chi2", ChiSquared(), chi_squared_value, f_divergence(lambda r: (r - 1) ** 2), smooth=True
    ),
    Case(
        "tv",
        TotalVariation(),
        total_variation_value,
        lambda q, p: np.abs(q - p).sum() / 2,
        smooth=False,
        largest_radius=1.2,
    ),
    Case("cvar", CVaR(), cvar_value, largest_log_ratio, smooth=False),
    *[
        Case(
            f"cressie-read {k}",
            CressieRead(k),
            cressie_read_value(k),
            f_divergence(cressie_read_generator(k)),
            smooth=True,
        )
        for k in (2.0, 1.5, 0.5)
    ],
    *[
        Case(
            f"wasserstein {order:g}",
            Wasserstein(DISTANCES, order),
            wasserstein_value(order),
            transport_distance(order),
            smooth=False,
            largest_radius=4.0,
        )
        for order in (1.0, 2.0)
    ],
]
