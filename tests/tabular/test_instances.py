"""Every instance is what its description says, and Gymnasium's are Gymnasium's."""

import gymnasium
import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.tabular.instances import (
    INSTANCES,
    cliff_walking,
    from_table,
    frozen_lake,
    garnet,
    inventory,
    machine_replacement,
    make_instance,
    river_swim,
    taxi,
)


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_every_instance_can_be_made_by_name(name):
    mdp = make_instance(name, discount=0.8)
    assert mdp.discount == 0.8
    assert mdp.to_dense().shape == mdp.shape
    assert not mdp.deterministic  # else its f-divergence balls would be empty


def test_unknown_instance_names_the_known_ones():
    with pytest.raises(InputError, match=r"unknown MDP 'maze'; choose one of cliffwalking, froz"):
        make_instance("maze")


def test_garnet_reaches_distinct_states_and_repeats_with_its_seed():
    mdp = garnet(states=50, actions=3, successors=50, seed=7)
    assert (mdp.successors == np.arange(50)).all()  # all states: distinct and in order
    narrow = garnet(states=50, actions=3, successors=4, seed=7)
    assert (np.diff(narrow.successors, axis=-1) > 0).all()
    again = garnet(states=50, actions=3, successors=4, seed=7)
    np.testing.assert_array_equal(narrow.successors, again.successors)
    assert not np.array_equal(narrow.rewards, garnet(50, 3, 4, seed=8).rewards)
    # Every state is equally likely to be reached: 50·300·4/50 = 1200 expected, sd about 34.
    many = garnet(states=50, actions=300, successors=4, seed=0)
    counts = np.bincount(many.successors.ravel())
    assert np.abs(counts - 1200).max() < 5 * 34


def test_machine_wears_and_is_repaired():
    mdp = machine_replacement(states=4, wear=0.8)
    np.testing.assert_allclose(mdp.transitions[1, 0], [0, 0.2, 0.8, 0])
    np.testing.assert_allclose(mdp.transitions[3, 0], [0, 0, 0, 1])
    np.testing.assert_allclose(mdp.transitions[2, 1], [0.9, 0, 0.1, 0])
    np.testing.assert_array_equal(mdp.rewards[:, 0], [0, 0, -2, -20])


def test_river_pushes_back():
    mdp = river_swim()
    np.testing.assert_allclose(mdp.transitions[2, 1], [0, 0.05, 0.6, 0.35, 0, 0])
    np.testing.assert_allclose(mdp.initial, [0, 0.5, 0.5, 0, 0, 0])


def test_inventory_day_by_hand():
    # Capacity 1, demand 1: nobody comes with probability e⁻¹. Holding 1 unit: stock stays with
    # e⁻¹, is sold with 1 − e⁻¹; the day earns 2(1 − e⁻¹) − 0.1. Ordering it costs 1 + 0.5 more.
    mdp = inventory(capacity=1, demand=1.0)
    stays = np.exp(-1)
    np.testing.assert_allclose(mdp.transitions[1, 0], [1 - stays, stays])
    np.testing.assert_allclose(mdp.transitions[0, 1], [1 - stays, stays])
    np.testing.assert_allclose(mdp.rewards[1, 0], 2 * (1 - stays) - 0.1)
    np.testing.assert_allclose(mdp.rewards[0, 1], 2 * (1 - stays) - 0.1 - 1.5)
    np.testing.assert_allclose(mdp.rewards[0, 0], 0.0, atol=1e-15)


def test_a_reward_on_arrival_is_paid_in_the_arrival_state():
    # One action. From 0: to 1 with reward 3, or back to 0 with reward 1, evenly; 1 ends at once.
    table = {
        0: {0: [(0.5, 1, 3.0, True), (0.5, 0, 1.0, False)]},
        1: {0: [(1.0, 0, 5.0, False)]},
    }
    mdp = from_table(table, [1.0, 0.0], discount=0.5)
    # 0 and 1 as they were; 2: arrived at 1 with 2 more than the certain 1, the episode over;
    # 3: the end, where nothing is earned any more.
    assert mdp.shape == (4, 1)
    np.testing.assert_allclose(mdp.rewards[:, 0], [1.0, 5.0, 4.0, 0.0])
    np.testing.assert_allclose(mdp.to_dense().transitions[0, 0], [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(mdp.to_dense().transitions[2, 0], [0, 0, 0, 1])
    np.testing.assert_allclose(mdp.to_dense().transitions[3, 0], [0, 0, 0, 1])
    with pytest.raises(InputError, match="rewards depend on s'"):
        from_table(table, [1.0, 0.0], discount=0.0)


@pytest.mark.parametrize(
    ("mdp", "identifier", "options"),
    [
        (frozen_lake(), "FrozenLake-v1", {}),
        (frozen_lake(size=8), "FrozenLake-v1", {"map_name": "8x8"}),
        (frozen_lake(slippery=False), "FrozenLake-v1", {"is_slippery": False}),
        (cliff_walking(), "CliffWalking-v1", {"is_slippery": True}),
        (cliff_walking(slippery=False), "CliffWalking-v1", {}),
        (taxi(), "Taxi-v4", {"is_rainy": True}),
        (taxi(rainy=False), "Taxi-v4", {}),
    ],
)
def test_gymnasium_instances_have_the_values_of_their_tables(mdp, identifier, options):
    """A random policy's discounted value, computed from the raw table without any rearrangement."""
    table = gymnasium.make(identifier, **options).unwrapped.P  # type: ignore[attr-defined]
    states, actions = len(table), len(table[0])
    transitions, rewards = np.zeros((states, states)), np.zeros(states)
    for s in table:
        for a in table[s]:
            for probability, successor, reward, terminated in table[s][a]:
                rewards[s] += probability * reward / actions
                if not terminated:
                    transitions[s, successor] += probability / actions
    expected = np.linalg.solve(np.eye(states) - mdp.discount * transitions, rewards)
    dense = mdp.to_dense()
    kernel = dense.transitions.mean(axis=1)
    values = np.linalg.solve(np.eye(mdp.shape[0]) - mdp.discount * kernel, mdp.rewards.mean(axis=1))
    np.testing.assert_allclose(values[:states], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: garnet(states=3, successors=4), "successors at most states"),
        (lambda: machine_replacement(wear=1.5), "wear"),
        (lambda: river_swim(states=2), "at least 3"),
        (lambda: inventory(demand=0.0), "demand positive"),
        (lambda: frozen_lake(size=5), "maps are 4 and 8"),
        (lambda: frozen_lake(discount=1.0), "discount is 1.0"),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
