"""Finite Markov decision processes, dense and sparse, checked when they are made.

With what holds in a fixed kernel: values and occupancy of a policy, distances between states.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

from drspcrl.errors import InputError

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class MDP:
    """A finite MDP with a dense nominal kernel P0.

    Attributes:
        transitions: P0(s'|s,a), shape [S, A, S]; every row sums to 1.
        rewards: r(s,a), shape [S, A]. A reward that depends on s' must take part in the worst case:
            see `drspcrl.tabular.from_table`, which moves it into the arrival state.
        discount: γ in [0, 1).
        initial: ρ0(s), shape [S]; sums to 1.
    """

    transitions: Array
    rewards: Array
    discount: float
    initial: Array

    def __post_init__(self) -> None:
        """Check every field and keep read-only float64 copies."""
        transitions = _real_array("transitions", self.transitions, 3)
        states, actions, successors = transitions.shape
        if successors != states:
            raise InputError(
                f"transitions has shape {transitions.shape}; the last axis must have the length of "
                "the first (give transitions[S, A, S])"
            )
        _check_rows("transitions", transitions)
        _freeze(self, transitions=transitions, **_common_fields(self, states, actions))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states and number of actions."""
        states, actions = self.rewards.shape
        return states, actions

    @property
    def probabilities(self) -> Array:
        """The nominal rows, [S, A, S]."""
        return self.transitions

    @property
    def deterministic(self) -> bool:
        """Whether every nominal row is a point mass, around which an f-divergence ball is empty."""
        return bool((self.probabilities.max(axis=-1) >= 1.0).all())

    def to_sparse(self) -> "SparseMDP":
        """The same MDP with only the K most any row needs of successors."""
        support = self.transitions > 0
        width = int(support.sum(axis=-1).max())
        # A stable sort puts the support first, in the order of the states.
        successors = np.argsort(~support, axis=-1, kind="stable")[..., :width]
        probabilities = np.take_along_axis(self.transitions, successors, axis=-1)
        return SparseMDP(successors, probabilities, self.rewards, self.discount, self.initial)

    def to_dense(self) -> "MDP":
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class SparseMDP:
    """A finite MDP whose rows name at most K successors; shorter rows are padded with zeros.

    Attributes:
        successors: states s' that (s,a) may reach, shape [S, A, K], integers in [0, S). A successor
            may be named twice; its probabilities then add up.
        probabilities: P0(successor|s,a), shape [S, A, K]; every row sums to 1.
        rewards: r(s,a), shape [S, A].
        discount: γ in [0, 1).
        initial: ρ0(s), shape [S]; sums to 1.
    """

    successors: Indices
    probabilities: Array
    rewards: Array
    discount: float
    initial: Array

    def __post_init__(self) -> None:
        """Check every field and keep read-only copies."""
        probabilities = _real_array("probabilities", self.probabilities, 3)
        states, actions, _ = probabilities.shape
        successors = np.array(self.successors)
        if successors.shape != probabilities.shape or successors.dtype.kind not in "iu":
            raise InputError(
                f"successors has shape {successors.shape} and type {successors.dtype}; it must be "
                f"integers of the shape of probabilities, {probabilities.shape}"
            )
        if successors.min() < 0 or successors.max() >= states:
            raise InputError(
                f"successors holds states from {successors.min()} to {successors.max()}; "
                f"only 0 to {states - 1} exist (pad short rows with any state at probability 0)"
            )
        _check_rows("probabilities", probabilities)
        _freeze(
            self,
            successors=successors.astype(np.int64),
            probabilities=probabilities,
            **_common_fields(self, states, actions),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states and number of actions."""
        states, actions = self.rewards.shape
        return states, actions

    @property
    def deterministic(self) -> bool:
        """Whether every nominal row is a point mass, around which an f-divergence ball is empty."""
        reached = np.where(self.probabilities > 0, self.successors, -1)
        first = reached.max(axis=-1, keepdims=True)
        return bool(((reached == first) | (reached < 0)).all())

    def to_dense(self) -> MDP:
        """The same MDP with full rows."""
        dense = dense_rows(self.successors, self.probabilities, self.shape[0])
        return MDP(dense, self.rewards, self.discount, self.initial)

    def to_sparse(self) -> "SparseMDP":
        """Itself."""
        return self


def dense_rows(successors: Indices, probabilities: Array, states: int) -> Array:
    """Spread padded successor rows [S, A, K] over all states, [S, A, S]."""
    rows = np.zeros((*successors.shape[:2], states))
    s, a, _ = np.indices(successors.shape)
    np.add.at(rows, (s, a, successors), probabilities)
    return rows


def as_policy(policy: npt.ArrayLike, shape: tuple[int, int]) -> Array:
    """A policy as π(a|s) of shape [S, A], from that or from one action per state of shape [S]."""
    states, actions = shape
    given = np.array(policy)
    if given.shape == (states,) and given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= actions:
            raise InputError(
                f"policy holds actions from {given.min()} to {given.max()}; "
                f"only 0 to {actions - 1} exist"
            )
        return np.eye(actions)[given]
    if given.shape != (states, actions):
        raise InputError(
            f"policy has shape {given.shape} and type {given.dtype}; give probabilities of shape "
            f"({states}, {actions}) or integer actions of shape ({states},)"
        )
    probabilities = _real_array("policy", given, 2)
    _check_rows("policy", probabilities)
    return probabilities


def as_law(name: str, law: npt.ArrayLike, size: int) -> Array:
    """A distribution over `size` things, [size], checked."""
    checked = _real_array(name, law, 1)
    if checked.shape != (size,):
        raise InputError(f"{name} has shape {checked.shape}; it must be ({size},)")
    _check_rows(name, checked)
    return checked


def _real_array(name: str, value: Any, rank: int) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of real numbers: {error}") from error
    if array.ndim != rank or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; it must have {rank} non-empty axes")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinite entries; all must be finite")
    return array


def _check_rows(name: str, rows: Array) -> None:
    if rows.min() < 0:
        raise InputError(f"{name} holds {rows.min():g}; probabilities cannot be negative")
    sums = rows.sum(axis=-1)
    worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
    if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise InputError(
            f"{name}{[int(i) for i in worst]} sums to {sums[worst]:.12g}; "
            "every distribution must sum to 1 (divide each by its sum)"
        )


def _common_fields(mdp: Any, states: int, actions: int) -> dict[str, Any]:
    rewards = _real_array("rewards", mdp.rewards, 2)
    if rewards.shape != (states, actions):
        raise InputError(f"rewards has shape {rewards.shape}; it must be ({states}, {actions})")
    initial = as_law("initial", mdp.initial, states)
    discount = float(mdp.discount)
    if not 0 <= discount < 1:
        raise InputError(f"discount is {discount}; it must lie in [0, 1)")
    return {"rewards": rewards, "discount": discount, "initial": initial}


def _freeze(mdp: Any, **fields: Any) -> None:
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        # The dataclass is frozen for everyone else.
        object.__setattr__(mdp, name, value)


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


def hop_distance(mdp: MDP | SparseMDP) -> Array:
    """How many transitions apart two states are, in either direction, [S, S].

    An edge joins s and s' where some action may lead from one to the other; pairs that no path
    joins are S apart, farther than any path.
    """
    form, states = mdp.to_sparse(), mdp.shape[0]
    s, a, k = np.nonzero(form.probabilities)
    targets = form.successors[s, a, k]
    graph = coo_matrix((np.ones(len(s)), (s, targets)), shape=(states, states))
    hops = shortest_path(graph.tocsr(), directed=False, unweighted=True)
    return np.where(np.isinf(hops), float(states), hops)
