"""Machine replacement, river swim and inventory control, small enough to read by eye."""

from math import exp, factorial

import numpy as np

from drspcrl.errors import InputError
from drspcrl.tabular.mdp import MDP


def machine_replacement(states: int = 10, wear: float = 0.8, discount: float = 0.95) -> MDP:
    """Keep a machine that wears out, or repair it.

    State 0 is new and the last state is worn out. Action 0 operates: with probability `wear` the
    machine gets one step worse. Action 1 repairs: it is new again with probability 0.9, else
    unchanged. Operating costs 0 until the last two states, where it costs 2 and 20; a repair costs
    2. Rewards are negative costs, and a run starts with a new machine.
    """
    if states < 3 or not 0 <= wear <= 1:
        raise InputError(
            f"machine_replacement got states={states}, wear={wear}; "
            "it needs at least 3 states and a wear in [0, 1]"
        )
    transitions = np.zeros((states, 2, states))
    here = np.arange(states)
    transitions[here, 0, np.minimum(here + 1, states - 1)] = wear
    transitions[here, 0, here] += 1 - wear
    transitions[here, 1, 0] = 0.9
    transitions[here, 1, here] += 0.1
    rewards = np.zeros((states, 2))
    rewards[-2:, 0] = (-2, -20)
    rewards[:, 1] = -2
    return MDP(transitions, rewards, discount, np.eye(states)[0])


def river_swim(states: int = 6, discount: float = 0.95) -> MDP:
    """Swim upstream for a large reward or drift to a small one (Strehl and Littman, 2008).

    Action 0 drifts left for sure. Action 1 swims right: it advances with probability 0.35, stays
    with 0.6 and is carried back with 0.05 (0.6 and 0.4 at the left bank, 0.6 and 0.4 at the right).
    Drifting at the left bank pays 5, swimming at the right bank 10,000; here in units of 1,000. A
    run starts at one of the two states next to the left bank.
    """
    if states < 3:
        raise InputError(f"river_swim got states={states}; it needs at least 3")
    transitions = np.zeros((states, 2, states))
    here = np.arange(states)
    transitions[here, 0, np.maximum(here - 1, 0)] = 1
    middle = here[1:-1]
    transitions[middle, 1, middle + 1] = 0.35
    transitions[middle, 1, middle] = 0.6
    transitions[middle, 1, middle - 1] = 0.05
    transitions[0, 1, :2] = (0.4, 0.6)
    transitions[-1, 1, -2:] = (0.4, 0.6)
    rewards = np.zeros((states, 2))
    rewards[0, 0] = 0.005
    rewards[-1, 1] = 10.0
    return MDP(transitions, rewards, discount, np.eye(states)[1:3].mean(axis=0))


def inventory(capacity: int = 12, demand: float = 4.0, discount: float = 0.95) -> MDP:
    """Order stock against random demand; unmet demand is lost (Puterman, 1994, section 3.2).

    The state is the stock at the end of a day, 0 to `capacity`; action a orders a units (as many as
    fit), then Poisson(`demand`) customers come, the tail lumped at `capacity`. The day earns 2 per
    expected sale, and costs 1 per order with anything in it, 0.5 per unit ordered, 0.1 per unit
    held. A run starts empty.
    """
    if capacity < 1 or demand <= 0:
        raise InputError(
            f"inventory got capacity={capacity}, demand={demand}; "
            "capacity must be at least 1 and demand positive"
        )
    law = np.array([exp(-demand) * demand**k / factorial(k) for k in range(capacity)])
    law = np.append(law, 1 - law.sum())
    size = capacity + 1
    transitions, rewards = np.zeros((size, size, size)), np.zeros((size, size))
    for stock in range(size):
        for order in range(size):
            filled = min(stock + order, capacity)
            left = np.maximum(filled - np.arange(size), 0)
            np.add.at(transitions[stock, order], left, law)
            bought, sold = filled - stock, filled - law @ left
            rewards[stock, order] = 2 * sold - (bought > 0) - 0.5 * bought - 0.1 * filled
    return MDP(transitions, rewards, discount, np.eye(size)[0])
