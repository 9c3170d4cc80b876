"""A replay buffer on the device that stores every observation once.

Each environment has two rings. The observation ring holds the observations in the order they were
seen; the successor of the observation in slot k is in slot k + 1, always: where an episode ended,
its last observation has a slot of its own, and the next episode begins in the slot after it. The
transition ring holds action, reward, whether the task ended there, and the slot of its observation.

Slots and transitions are numbered from 0 without end; a number's place in its ring is the
remainder. A transition lives as long as both its observations do: an observation ring is a little
longer than the transition ring, and where very short episodes fill it with last observations, the
oldest transitions leave early.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.config.learners import observation_slots


class Batch(NamedTuple):
    """Transitions to learn from, [B, ...] each.

    `next_observation` is the true successor, also at the end of an episode; only `terminated`
    says that nothing comes after it.
    """

    observation: Array
    action: Array
    reward: Array
    next_observation: Array
    terminated: Array


class EnvStep(NamedTuple):
    """What one step of E environments gave, [E, ...] each; see `drspcrl.envs.Step`."""

    observation: Array
    final_observation: Array
    reward: Array
    terminated: Array
    ended: Array


class Replay(NamedTuple):
    """The buffer of E environments with N transitions and C ≥ N observations each.

    Attributes:
        observation: [E, C, O].
        action: [E, N, A].
        reward: [E, N].
        terminated: [E, N].
        slot: where each transition's observation is, [E, N].
        newest: slot of the newest observation, [E].
        added: transitions ever added, [E].
        oldest: number of the oldest transition that is alive, [E].
    """

    observation: Array
    action: Array
    reward: Array
    terminated: Array
    slot: Array
    newest: Array
    added: Array
    oldest: Array


def init(first: Array, action_size: int, transitions: int) -> Replay:
    """An empty buffer.

    Args:
        first: the environments' first observations, [E, O].
        action_size: numbers in an action.
        transitions: how many each environment's ring holds.
    """
    envs, size = first.shape
    rows = (envs, transitions)
    observation = jnp.zeros((envs, observation_slots(transitions), size), first.dtype)
    return Replay(
        observation=observation.at[:, 0].set(first),
        action=jnp.zeros((*rows, action_size), first.dtype),
        reward=jnp.zeros(rows, first.dtype),
        terminated=jnp.zeros(rows, bool),
        slot=jnp.zeros(rows, jnp.int32),
        newest=jnp.zeros(envs, jnp.int32),
        added=jnp.zeros(envs, jnp.int32),
        oldest=jnp.zeros(envs, jnp.int32),
    )


def add(replay: Replay, action: Array, outcome: EnvStep) -> Replay:
    """Store one step of every environment."""
    envs, slots = replay.observation.shape[:2]
    env = jnp.arange(envs)
    place = replay.added % replay.action.shape[1]
    after = replay.newest + 1
    newest = after + outcome.ended.astype(jnp.int32)
    # Without an end both writes go to the same slot and carry the same observation.
    observation = replay.observation.at[env, after % slots].set(outcome.final_observation)
    observation = observation.at[env, newest % slots].set(outcome.observation)
    stored = replay._replace(
        observation=observation,
        action=replay.action.at[env, place].set(action),
        reward=replay.reward.at[env, place].set(outcome.reward),
        terminated=replay.terminated.at[env, place].set(outcome.terminated),
        slot=replay.slot.at[env, place].set(replay.newest),
        newest=newest,
        added=replay.added + 1,
    )
    return _expire(stored)


def begin(replay: Replay, first: Array) -> Replay:
    """Go on from other observations [E, O], as after an end that brought no transition."""
    envs, slots = replay.observation.shape[:2]
    newest = replay.newest + 1
    observation = replay.observation.at[jnp.arange(envs), newest % slots].set(first)
    return _expire(replay._replace(observation=observation, newest=newest))


def grow(replay: Replay, transitions: int) -> Replay:
    """The same transitions in longer rings; those that have left stay away."""
    observation = _longer(replay.observation, replay.newest + 1, observation_slots(transitions))
    rings = {
        name: _longer(getattr(replay, name), replay.added, transitions)
        for name in ("action", "reward", "terminated", "slot")
    }
    return replay._replace(observation=observation, **rings)


def _longer(ring: Array, count: Array, length: int) -> Array:
    """A ring [E, n, ...] of `count` [E] entries so far, each moved to its place among `length`."""
    envs, short = ring.shape[:2]
    number = count[:, None] - 1 - jnp.arange(short)[None, :]
    # Numbers below 0 never were: they are sent beyond the ring, where nothing is kept.
    place = jnp.where(number >= 0, number % length, length)
    env = jnp.arange(envs)[:, None]
    empty = jnp.zeros((envs, length, *ring.shape[2:]), ring.dtype)
    return empty.at[env, place].set(ring[env, number % short], mode="drop")


def _expire(replay: Replay) -> Replay:
    envs, slots = replay.observation.shape[:2]
    transitions = replay.action.shape[1]
    oldest = jnp.maximum(replay.oldest, replay.added - transitions)
    # A step fills at most two slots, and every transition has one: at most two lose theirs.
    for _ in range(2):
        slot = replay.slot[jnp.arange(envs), oldest % transitions]
        oldest = oldest + (slot <= replay.newest - slots).astype(jnp.int32)
    return replay._replace(oldest=oldest)


def sample(replay: Replay, key: Array, size: int) -> Batch:
    """Draw transitions uniformly from all that are alive, with replacement."""
    slots, transitions = replay.observation.shape[1], replay.action.shape[1]
    alive = replay.added - replay.oldest
    upto = jnp.cumsum(alive)
    drawn = jax.random.randint(key, (size,), 0, upto[-1])
    env = jnp.sum(drawn[:, None] >= upto[None, :], axis=1)
    number = replay.oldest[env] + drawn - (upto - alive)[env]
    place = number % transitions
    slot = replay.slot[env, place]
    return Batch(
        observation=replay.observation[env, slot % slots],
        action=replay.action[env, place],
        reward=replay.reward[env, place],
        next_observation=replay.observation[env, (slot + 1) % slots],
        terminated=replay.terminated[env, place],
    )
