"""Families of worlds, small enough to read by eye."""

import jax
import jax.numpy as jnp
import numpy as np

from drspcrl.errors import InputError
from drspcrl.tabular.families import WorldFamily
from drspcrl.tabular.mdp import MDP, Array
from drspcrl.tabular.radius_families import Place, RadiusFamily


def relay(discount: float = 0.9) -> WorldFamily:
    """Two worlds of which each does half of the way: held, neither arrives; redrawn, both do.

    States A, B and the goal, which pays 1 at every step; one action. World 1 moves A to B and
    leaves B where it is; world 2 leaves A and moves B to the goal; both are equally likely, and a
    run starts at A. Whoever draws the world once an episode earns 0; drawn anew at every step, the
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
