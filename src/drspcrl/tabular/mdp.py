"""Finite Markov decision processes, dense and sparse, checked when they are made."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
