"""Gymnasium's FrozenLake, CliffWalking and Taxi, read from their own transition tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drspcrl.errors import InputError
from drspcrl.tabular.mdp import SparseMDP

# table[s][a] = [(probability, s', reward, terminated), ...]
Table = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
# An arrival: which state, whether the episode ended there, and the reward paid on arrival.
Arrival = tuple[int, bool, float]


def from_table(table: Table, initial: npt.ArrayLike, discount: float) -> SparseMDP:
    """An MDP from a Gymnasium table `P[s][a] = [(probability, s', reward, terminated), …]`.

    Two things in such a table do not fit r(s,a) and P0(s'|s,a), and both matter for a robust value:

    - A reward that differs between the successors of one (s,a) belongs to the worst case: nature
      may withhold it. Folding it into its nominal mean would put it out of nature's reach. The part
      above the least reward of the row, b, is therefore paid on arrival, in a copy of s' that earns
      r(s',a') + b/γ: discounted once, that is b, and E_p[b + γV(s')] is minimised as a whole.
    - A terminating transition ends in an absorbing copy of s' without reward, unless s' is such a
      state already.

    The original states keep their numbers; the copies follow them.
    """
    if not 0 <= discount < 1:
        raise InputError(f"discount is {discount}; it must lie in [0, 1)")
    rows = {(s, a): _row(table, s, a) for s in table for a in table[s]}
    number: dict[Arrival, int] = {(int(s), False, 0.0): int(s) for s in table}
    for _, row in rows.values():
        for arrival, _ in row:
            # An arrival with a bonus that also ends the episode goes on to the end without one.
            for copy in (arrival, (*arrival[:2], 0.0)):
                number.setdefault(copy, len(number))
    if discount == 0 and any(bonus for _, _, bonus in number):
        raise InputError("discount is 0, but rewards depend on s'; choose a discount above 0")
    return _assemble(table, rows, number, np.asarray(initial, dtype=np.float64), discount)


def frozen_lake(size: int = 4, slippery: bool = True, discount: float = 0.99) -> SparseMDP:
    """FrozenLake-v1 on the 4×4 or 8×8 map: the goal pays 1, holes end the episode."""
    if size not in (4, 8):
        raise InputError(f"frozen_lake got size={size}; the maps are 4 and 8")
    return _read("FrozenLake-v1", discount, map_name=f"{size}x{size}", is_slippery=slippery)


def cliff_walking(slippery: bool = True, discount: float = 0.95) -> SparseMDP:
    """CliffWalking-v1: −1 a step, −100 and back to the start for a fall.

    Gymnasium's own default is not slippery; every row is then a point mass, and every f-divergence
    ball around it is empty. The default here is the slippery table.
    """
    return _read("CliffWalking-v1", discount, is_slippery=slippery)


def taxi(rainy: bool = True, discount: float = 0.95) -> SparseMDP:
    """Taxi-v4: −1 a step, −10 for a wrong pick-up or drop-off, +20 for a delivery.

    Gymnasium's own default is dry; every row is then a point mass, and every f-divergence ball
    around it is empty. The default here is the rainy table.
    """
    return _read("Taxi-v4", discount, is_rainy=rainy)


def _read(identifier: str, discount: float, **options: Any) -> SparseMDP:
    import gymnasium

    env: Any = gymnasium.make(identifier, **options).unwrapped
    return from_table(env.P, env.initial_state_distrib, discount)


def _row(table: Table, s: int, a: int) -> tuple[float, list[tuple[Arrival, float]]]:
    """The reward that (s,a) earns for sure, and its distinct arrivals with their probabilities."""
    entries = [entry for entry in table[s][a] if entry[0] > 0]
    certain = float(min(entry[2] for entry in entries))
    arrivals: dict[Arrival, float] = {}
    for probability, successor, reward, terminated in entries:
        ends = bool(terminated) and not _absorbing(table, successor)
        arrival = (int(successor), ends, float(reward) - certain)
        arrivals[arrival] = arrivals.get(arrival, 0.0) + float(probability)
    return certain, list(arrivals.items())


def _absorbing(table: Table, s: int) -> bool:
    entries = [entry for row in table[s].values() for entry in row]
    return all(successor == s and reward == 0 for _, successor, reward, _ in entries)


def _assemble(
    table: Table,
    rows: dict[tuple[int, int], tuple[float, list[tuple[Arrival, float]]]],
    number: dict[Arrival, int],
    initial: np.ndarray,
    discount: float,
) -> SparseMDP:
    actions = len(table[0])
    width = max(len(row) for _, row in rows.values())
    successors = np.zeros((len(number), actions, width), dtype=np.int64)
    probabilities = np.zeros(successors.shape)
    rewards = np.zeros((len(number), actions))
    for (origin, ended, bonus), index in number.items():
        for a in range(actions):
            if ended:
                certain, row = 0.0, [((origin, True, 0.0), 1.0)]
            else:
                certain, row = rows[origin, a]
            rewards[index, a] = certain + (bonus / discount if bonus else 0.0)
            for k, (arrival, probability) in enumerate(row):
                successors[index, a, k] = number[arrival]
                probabilities[index, a, k] = probability
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    padded = np.pad(initial, (0, len(number) - len(initial)))
    return SparseMDP(successors, probabilities, rewards, discount, padded / padded.sum())
