"""What a state is worth to a learner: the one place where its Bellman backup is decided.

Every learner asks its backup for the value of a state, once as the next state of the critic's
target and, in SAC and DDPG, once more as what the actor ascends. Both go through the same
function, so that critic and actor never optimise different things.
"""

from collections.abc import Callable

from jax import Array

Value = Callable[[Array], Array]
"""From states [B, O] to values [B], with networks and action noise already chosen."""

Backup = Callable[[Value, Array], Array]
"""From a value function and states [B, O] to the values [B] to learn from."""


def plain(value: Value, states: Array) -> Array:
    """The value itself: the simulator is taken at its word."""
    return value(states)
