"""Linear systems of a fixed policy in a fixed kernel: its values and its occupancy."""

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from drspcrl.tabular.mdp import Array, SparseMDP

# Small systems are dense. Above, threaded dense factorisations wait for each other whenever the
# cores are shared (a hundredfold, seen at 300 states), so SuperLU takes over; above that, its
# fill-in on random kernels is cubic, while a Krylov method needs a few dozen products.
_LARGEST_DENSE = 64
_LARGEST_DIRECT = 600
_RELATIVE_RESIDUAL = 1e-14


def state_kernel(form: SparseMDP, kernel: Array, policy: Array) -> Any:
    """P_π(s'|s) = Σ_a π(a|s) P(s'|s,a), [S, S]: an array, or a sparse matrix where S is large."""
    states = form.shape[0]
    weights = (kernel * policy[..., None]).ravel()
    origins = np.repeat(np.arange(states), kernel[0].size)
    targets = form.successors.ravel()
    if states <= _LARGEST_DENSE:
        flat = np.bincount(origins * states + targets, weights, minlength=states * states)
        return flat.reshape(states, states)
    return scipy.sparse.csr_matrix((weights, (origins, targets)), shape=(states, states))


def values_in(kernel: Any, rewards: Array, discount: float, start: Array | None = None) -> Array:
    """V = r + γPV for rewards r(s), [S]."""
    return _solve(kernel, rewards, discount, start, norm=np.inf)


def occupancy_in(kernel: Any, initial: Array, discount: float) -> Array:
    """The occupancy d = (1−γ)ρ0 + γPᵀd: the discounted share of time in each state."""
    occupancy = _solve(kernel.T, (1 - discount) * initial, discount, None, norm=1)
    # Rounding may leave −1e-18 in an unreachable state.
    occupancy = np.maximum(occupancy, 0.0)
    return occupancy / occupancy.sum()


def _solve(kernel: Any, right: Array, discount: float, start: Array | None, norm: float) -> Array:
    """Solve (I − γK)x = b, where K does not expand the given norm: ∞ for P, 1 for Pᵀ."""
    states = len(right)
    if states <= _LARGEST_DENSE:
        return np.linalg.solve(np.eye(states) - discount * kernel, right)
    system = scipy.sparse.eye_array(states, format="csr") - discount * kernel
    if states <= _LARGEST_DIRECT:
        return scipy.sparse.linalg.splu(system.tocsc()).solve(right)
    x = right / (1 - discount) if start is None else start.copy()
    error = right - system @ x
    while np.abs(error).max() > _RELATIVE_RESIDUAL * max(1.0, np.abs(x).max()):
        step, _ = scipy.sparse.linalg.gmres(system, error, rtol=1e-7, restart=30, maxiter=3)
        improved = right - system @ (x + step)
        if np.linalg.norm(improved, norm) < 0.5 * np.linalg.norm(error, norm):
            x, error = x + step, improved
            continue
        # Rounding, or a spectrum that GMRES dislikes: a plain sweep shrinks this norm by γ.
        swept = right - system @ (x + error)
        if np.linalg.norm(swept, norm) >= np.linalg.norm(error, norm):
            break
        x, error = x + error, swept
    return x
