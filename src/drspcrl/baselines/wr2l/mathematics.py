"""The mathematics of WR2L (Abdullah et al. 2019) on plain arrays.

φ [d] are the logarithms of the scales of a simulator's parameters, φ₀ = 0 the nominal ones; J(φ)
is the return of the present policy in simulator P_φ. The adversary looks for the worst φ with
E W₂²(P_φ, P_φ₀) ≤ ε. To second order in φ that is ½ (φ − φ₀)ᵀ H₀ (φ − φ₀) ≤ ε, and to first order
in J the worst φ has a closed form, `worst_step`.
"""

import numpy as np

TINY = 1e-12


def antithetic(generator: np.random.Generator, pairs: int, size: int, width: float) -> np.ndarray:
    """Gaussian directions ξ ~ N(0, width² I) followed by their opposites, [2·pairs, size]."""
    half = width * generator.standard_normal((pairs, size))
    return np.concatenate([half, -half])


def gradient(directions: np.ndarray, returns: np.ndarray, width: float) -> np.ndarray:
    """The zeroth-order gradient of J, smoothed over N(0, width² I).

    g = (1/width²) E[ξ J(φ + ξ)], over antithetic pairs the mean of
    ξ (J(φ + ξ) − J(φ − ξ)) / (2 width²). A baseline would cancel within each pair.

    Args:
        directions: ξ from `antithetic`, [2·pairs, d].
        returns: J(φ + ξ), [2·pairs]; a pair with a number that is not finite is left out.
        width: standard deviation of the directions.

    Returns:
        g [d]; 0 where no pair is left.
    """
    ahead, behind = np.split(returns, 2)
    differences = ahead - behind
    sound = np.isfinite(differences)
    if not sound.any():
        return np.zeros(directions.shape[1])
    half = directions[: len(ahead)][sound]
    return half.T @ differences[sound] / (2.0 * len(half) * width**2)


def zeroth_order_hessian(directions: np.ndarray, costs: np.ndarray, width: float) -> np.ndarray:
    """The zeroth-order Hessian of W(φ) = E W₂²(P_φ, P_φ₀) at φ₀.

    H₀ = (1/width²) E[(ξξᵀ/width² − I) (W(φ₀ + ξ) − b)], antithetic, with b the mean of the other
    pairs' costs: E[ξξᵀ/width² − I] = 0, so b changes the variance alone.

    Args:
        directions: ξ from `antithetic`, [2·pairs, d].
        costs: W₂² at φ₀ + ξ, [2·pairs]; a pair with a number that is not finite is left out.
        width: standard deviation of the directions.

    Returns:
        H₀ [d, d], symmetric but not always positive; 0 where fewer than two pairs are left.
    """
    means = np.mean(np.split(costs, 2), axis=0)
    sound = np.isfinite(means)
    size, count = directions.shape[1], int(sound.sum())
    if count < 2:
        return np.zeros((size, size))
    unit = directions[: len(means)][sound] / width
    # W_i − mean of the others = count/(count − 1) (W_i − mean of all)
    weights = (means[sound] - means[sound].mean()) / (count - 1)
    return ((unit.T * weights) @ unit - weights.sum() * np.eye(size)) / width**2


def sensitivity_hessian(jacobians: np.ndarray) -> np.ndarray:
    """The same Hessian for a deterministic simulator, from how f moves with each parameter.

    W(φ) = E‖f_φ(s, a) − f_φ₀(s, a)‖² has value and gradient 0 at φ₀, so its Hessian there is
    2 E[AᵀA] with A = ∂f/∂φ: never negative, and without the noise of random directions.

    Args:
        jacobians: A at each of S pairs (s, a), [S, C, d]; one that is not finite is left out.

    Returns:
        H₀ [d, d].
    """
    sound = jacobians[np.isfinite(jacobians).all(axis=(1, 2))]
    if not len(sound):
        return np.zeros(2 * jacobians.shape[2:])
    return 2.0 * np.einsum("sck,scl->kl", sound, sound) / len(sound)


def positive_definite(hessian: np.ndarray, ridge: float) -> np.ndarray:
    """The nearest positive semi-definite matrix, plus `ridge` times its mean eigenvalue.

    Args:
        hessian: H₀ [d, d].
        ridge: above 0; bounds how far a parameter may go that hardly moves the next state.
    """
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    values = np.maximum(values, 0.0)
    values = values + max(ridge * float(values.mean()), TINY)
    return (vectors * values) @ vectors.T


def worst_step(gradient: np.ndarray, hessian: np.ndarray, epsilon: float) -> np.ndarray:
    """Where in the ball the linearised return is lowest: φ − φ₀ = −√(2ε/(gᵀH₀⁻¹g)) H₀⁻¹g.

    It lies on the boundary, ½ (φ − φ₀)ᵀ H₀ (φ − φ₀) = ε, and is the same for every positive
    multiple of g. Without a gradient, or with ε = 0, it is 0.

    Args:
        gradient: g [d].
        hessian: H₀ [d, d], positive definite.
        epsilon: the ball's radius in E W₂².
    """
    towards = np.linalg.solve(hessian, gradient)
    curvature = float(gradient @ towards)
    if not curvature > 0.0:
        return np.zeros_like(gradient)
    return -np.sqrt(2.0 * epsilon / curvature) * towards


def shortened(step: np.ndarray, bound: float) -> np.ndarray:
    """The step, shortened as a whole until no entry exceeds `bound`; so it stays in the ball."""
    longest = float(np.max(np.abs(step), initial=0.0))
    return step if longest <= bound else step * (bound / longest)
