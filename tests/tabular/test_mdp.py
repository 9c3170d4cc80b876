"""MDPs are checked when they are made, and their two forms say the same."""

import dataclasses

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.tabular.instances import garnet
from drspcrl.tabular.mdp import MDP, SparseMDP, as_policy

TRANSITIONS = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.2, 0.8]]])
REWARDS = np.array([[1.0, 0.0], [0.0, 2.0]])
INITIAL = np.array([1.0, 0.0])


def make(**changes) -> MDP:
    fields = {
        "transitions": TRANSITIONS,
        "rewards": REWARDS,
        "discount": 0.9,
        "initial": INITIAL,
    }
    return MDP(**(fields | changes))


def test_dense_to_sparse_and_back_is_the_same_mdp():
    mdp = make()
    sparse = mdp.to_sparse()
    assert sparse.successors.shape == (2, 2, 2)
    np.testing.assert_array_equal(sparse.to_dense().transitions, mdp.transitions)
    big = garnet(states=40, actions=3, successors=5, seed=3)
    again = big.to_dense().to_sparse()
    np.testing.assert_array_equal(again.successors, big.successors)
    np.testing.assert_array_equal(again.probabilities, big.probabilities)


def test_a_successor_named_twice_adds_up():
    sparse = SparseMDP(
        successors=np.array([[[0, 0, 0]]]),
        probabilities=np.array([[[0.25, 0.75, 0.0]]]),
        rewards=np.ones((1, 1)),
        discount=0.5,
        initial=np.ones(1),
    )
    np.testing.assert_array_equal(sparse.to_dense().transitions, np.ones((1, 1, 1)))
    assert sparse.deterministic


def test_deterministic_means_point_masses_alone():
    assert not make().deterministic
    assert not make().to_sparse().deterministic
    point_masses = np.round(TRANSITIONS + np.array([0.1, -0.1]))
    assert make(transitions=point_masses).deterministic
    assert make(transitions=point_masses).to_sparse().deterministic


def test_fields_cannot_be_changed_later():
    mdp = make()
    with pytest.raises(ValueError, match="read-only"):
        mdp.transitions[0, 0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        mdp.discount = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transitions": TRANSITIONS[:, :, :1]}, r"shape \(2, 2, 1\); the last axis"),
        ({"transitions": TRANSITIONS * 0.9}, r"transitions\[\d, \d\] sums to 0\.9"),
        ({"transitions": TRANSITIONS * 3 - 1 / 3}, "cannot be negative"),
        ({"transitions": np.full((2, 2, 2), np.nan)}, "transitions holds NaN"),
        ({"rewards": REWARDS[0]}, r"rewards has shape \(2,\); it must have 2"),
        ({"rewards": REWARDS[:1]}, r"rewards has shape \(1, 2\); it must be \(2, 2\)"),
        ({"rewards": REWARDS + np.inf}, "rewards holds NaN or infinite"),
        ({"discount": 1.0}, r"discount is 1\.0; it must lie in \[0, 1\)"),
        ({"discount": float("nan")}, "discount is nan"),
        ({"initial": np.ones(2)}, "initial.* sums to 2"),
        ({"initial": np.ones(3) / 3}, r"initial has shape \(3,\)"),
        ({"rewards": [["a", "b"], ["c", "d"]]}, "not an array of real numbers"),
    ],
)
def test_a_wrong_field_is_named(changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("successors", "message"),
    [
        (np.array([[[0, 2]], [[0, 1]]]), "only 0 to 1 exist"),
        (np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), "must be integers"),
        (np.zeros((2, 1, 3), dtype=int), "shape of probabilities"),
    ],
)
def test_wrong_successors_are_named(successors, message):
    with pytest.raises(InputError, match=message):
        SparseMDP(successors, np.full((2, 1, 2), 0.5), np.zeros((2, 1)), 0.9, INITIAL)


def test_a_policy_is_probabilities_or_actions():
    np.testing.assert_array_equal(as_policy([1, 0], (2, 2)), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(as_policy(np.full((2, 2), 0.5), (2, 2)), np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="only 0 to 1 exist"):
        as_policy([2, 0], (2, 2))
    with pytest.raises(InputError, match=r"give probabilities of shape \(2, 2\)"):
        as_policy([0.5, 0.5], (2, 2))
    with pytest.raises(InputError, match=r"policy.* sums to 2"):
        as_policy(np.ones((2, 2)), (2, 2))
