"""Finite MDPs to solve: random ones, classics of robust control, and Gymnasium's own tables."""

from collections.abc import Callable, Mapping, Sequence
from math import exp, factorial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.tabular.families import WorldFamily
from drspcrl.tabular.mdp import MDP, Array, SparseMDP
from drspcrl.tabular.radius_families import Place, RadiusFamily


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


def garnet(
    states: int = 30,
    actions: int = 4,
    successors: int = 5,
    discount: float = 0.95,
    seed: int = 0,
) -> SparseMDP:
    """A random MDP (Archibald, McKinnon and Thomas, 1995).

    Every (s,a) reaches `successors` distinct states drawn without replacement, with probabilities
    from the uniform Dirichlet distribution; rewards are uniform in [0, 1]; starts are uniform.

    Args:
        states: number of states S.
        actions: number of actions A.
        successors: number of states that one (s,a) reaches, at most S.
        discount: γ in [0, 1).
        seed: of the generator; the same seed gives the same MDP.
    """
    if min(states, actions, successors) < 1 or successors > states:
        raise InputError(
            f"garnet got states={states}, actions={actions}, successors={successors}; "
            "all must be at least 1, and successors at most states"
        )
    generator = np.random.default_rng(seed)
    shape = (states, actions, successors)
    return SparseMDP(
        successors=_distinct_states(generator, shape),
        probabilities=generator.dirichlet(np.ones(successors), size=shape[:2]),
        rewards=generator.random(shape[:2]),
        discount=discount,
        initial=np.full(states, 1 / states),
    )


def _distinct_states(generator: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    states, actions, successors = shape
    # Floyd's algorithm, one column per step over all rows at once: no S×A×S table is ever made, so
    # that ten thousand states fit.
    chosen = np.empty((states, actions, successors), dtype=np.int64)
    for column, bound in enumerate(range(states - successors, states)):
        candidate = generator.integers(0, bound + 1, size=(states, actions))
        taken = (chosen[..., :column] == candidate[..., None]).any(axis=-1)
        chosen[..., column] = np.where(taken, bound, candidate)
    return np.sort(chosen, axis=-1)


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
            # An arrival with a bonus that also ends the episode continues to the end without one.
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


def relay(discount: float = 0.9) -> WorldFamily:
    """Two worlds of which each does half of the way: held, neither arrives; redrawn, both do.

    States A, B and the goal, which pays 1 at every step; one action. World 1 moves A to B and
    leaves B where it is; world 2 leaves A and moves B to the goal; both are equally likely, and a
    run starts at A. Whoever draws the world once an episode earns 0; drawn again at every step, the
    two together arrive. So a ball of kernels around their mean is no lower bound for held worlds.
    """
    worlds = []
    for successors in ([1, 1, 2], [0, 2, 2]):
        transitions = np.eye(3)[successors][:, None]
        rewards = np.array([[0.0], [0.0], [1.0]])
        worlds.append(MDP(transitions, rewards, discount, np.eye(3)[0]))
    return WorldFamily(worlds, np.array([0.5, 0.5]))


def crossings(
    discount: float = 0.95,
    plank: float = 0.8,
    bridge: float = 1.6,
    toll: float = 0.05,
    return_steps: float = 20.0,
    place: Place = "sphere",
) -> RadiusFamily:
    """Three ways over a river, of which a storm of strength ω spoils the cheaper ones first.

    A delivery starts at state 0, where the action chooses the way: the plank (2 steps, states 1 and
    2), the bridge (2 steps, states 3 and 4, and a toll) or the road round the lake (5 steps, states
    5 to 9). State 10 is the other side, which pays 1 and starts the next delivery; from state 11,
    the river, the way back to the start takes `return_steps` on average. A step on a way that bears
    a strength c fails with probability 1 − exp(−(ω/c)⁴), so never in the simulator, ω = 0. A storm
    lasts for the whole episode: ω = ρ·u, where u is 0.5, 1 or 1.5, equally likely.

    Args:
        discount: γ in [0, 1).
        plank: c of the plank.
        bridge: c of the bridge; the road bears everything.
        toll: what the bridge costs, paid at its start.
        return_steps: from the river to the start, on average; at least 1.
        place: on the sphere or in the ball, as for every `RadiusFamily`.
    """
    if not (min(plank, bridge) > 0 and return_steps >= 1):
        raise InputError(
            f"crossings got plank={plank}, bridge={bridge}, return_steps={return_steps}; "
            "strengths must be above 0 and return_steps at least 1"
        )
    safe, lost = _ways(1 / return_steps)
    weakness, rewards = np.zeros(_STATES), np.zeros((_STATES, 3))
    weakness[[1, 2]], weakness[[3, 4]] = plank**-4, bridge**-4
    rewards[_SIDE], rewards[0, 1] = 1, -toll

    def model(ω: jax.Array) -> tuple[jax.Array, Array]:
        fails = -jnp.expm1(-weakness * ω[0] ** 4)[:, None, None]
        return (1 - fails) * safe + fails * lost, rewards

    directions, law = np.array([[0.5], [1.0], [1.5]]), np.full(3, 1 / 3)
    return RadiusFamily(model, directions, law, discount, np.eye(_STATES)[0], place)


_WAYS, _SIDE, _RIVER, _STATES = ((1, 2), (3, 4), (5, 6, 7, 8, 9)), 10, 11, 12


def _ways(back: float) -> tuple[Array, Array]:
    """Where steps lead that succeed and that fail, [S, 3, S] each."""
    safe, lost = np.zeros((_STATES, 3, _STATES)), np.zeros((_STATES, 3, _STATES))
    for action, way in enumerate(_WAYS):
        safe[0, action, way[0]] = 1
        for here, following in zip(way, (*way[1:], _SIDE), strict=True):
            safe[here, :, following] = 1
    safe[_SIDE, :, 0] = 1
    safe[_RIVER, :, 0], safe[_RIVER, :, _RIVER] = back, 1 - back
    lost[..., _RIVER] = 1
    return safe, lost


INSTANCES: dict[str, Callable[..., MDP | SparseMDP]] = {
    "cliffwalking": cliff_walking,
    "frozenlake": frozen_lake,
    "garnet": garnet,
    "inventory": inventory,
    "machine": machine_replacement,
    "riverswim": river_swim,
    "taxi": taxi,
}


def make_instance(name: str, discount: float | None = None) -> MDP | SparseMDP:
    """The named instance with its default parameters, and its own discount unless one is given."""
    if name not in INSTANCES:
        raise InputError(f"unknown MDP {shown(name)}; choose one of {', '.join(INSTANCES)}")
    return INSTANCES[name]() if discount is None else INSTANCES[name](discount=discount)
