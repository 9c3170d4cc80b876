"""From one member to many: the same functions, vmapped, several updates in one program."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import replay as replays
from drspcrl.learners.actor_critic import OffPolicyLearner
from drspcrl.learners.replay import Batch, Replay

State = TypeVar("State")


def sample_block(replay: Replay, key: Array, first: Array, updates: int, size: int) -> Batch:
    """Batches for `updates` updates of one member, [updates, size, ...], in one gather."""
    batch = replays.sample(replay, jax.random.fold_in(key, first), updates * size)
    return jax.tree.map(lambda a: a.reshape(updates, size, *a.shape[1:]), batch)


def update_block(
    learner: OffPolicyLearner,
    state: State,
    batches: Batch,
    hyper: Any,
    strength: Any,
    key: Array,
    first: Array,
) -> tuple[State, dict[str, Array]]:
    """Several updates of one member; metrics are means over the updates that gave a number.

    Args:
        learner: the algorithm.
        state: the member.
        batches: one batch for each update, [updates, size, ...].
        hyper: the member's numbers.
        strength: how strong the uncertainty is for the member.
        key: the member's key for updates; each update folds its own number in.
        first: number of the first update, the same for all members of a population.
    """

    def one(state: Any, given: tuple[Batch, Array]) -> tuple[Any, dict[str, Array]]:
        batch, index = given
        own_key = jax.random.fold_in(key, index)
        return learner.update(state, batch, hyper, strength, own_key, index)

    indices = first + jnp.arange(batches.reward.shape[0], dtype=first.dtype)
    state, metrics = lax.scan(one, state, (batches, indices))
    return state, jax.tree.map(jnp.nanmean, metrics)


def member(population: Any, k: int) -> Any:
    """Member k of a vmapped tree."""
    return jax.tree.map(lambda a: a[k], population)


def stack(members: list[Any]) -> Any:
    """A population from members alone."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *members)
