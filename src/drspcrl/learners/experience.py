"""What PPO's environments leave for learning: one step, and a rollout of many."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners import normalization
from drspcrl.learners.normalization import Moments


class SignalInputs(NamedTuple):
    """What the signal for curricula needs beside transitions.

    Attributes:
        starts: states that episodes start with, [S, O].
        probes: first observations [K, O] and worlds [K, W] of the newest probes and anchors; None
            where there are none.
    """

    starts: Array
    probes: tuple[Any, Any] | None = None


class Privileged(NamedTuple):
    """What PPO's critic sees in training beside the policy's observation: the noise that came true.

    One step of E environments, [E, ...], or a rollout of them, [T, E, ...].

    Attributes:
        state: s, in the task's units.
        standard: s, normalised by the statistics that the policy's observation was normalised by.
        sensor: η, in the task's units.
        actuator: ν, for actions in [−1, 1].
        world: f, the world of the episode; None where there is none.
    """

    state: Array
    standard: Array
    sensor: Array
    actuator: Array
    world: Array | None = None


class ActOutput(NamedTuple):
    """What acting leaves for learning, [E, ...] each.

    Attributes:
        observation: normalised as the policy saw it.
        action: as drawn, before clipping.
        log_density: of the action when it was drawn.
        privileged: what the policy did not see; none for a plain learner.
    """

    observation: Array
    action: Array
    log_density: Array
    privileged: Privileged | None = None


class Rollout(NamedTuple):
    """T steps of E environments, [T, E, ...] each.

    Attributes:
        observation: normalised as the policy saw it.
        action: as drawn, before clipping.
        log_density: of the action when it was drawn.
        final_observation: the true successor, not normalised.
        reward: the task's.
        terminated: the task ended the episode.
        ended: the episode ended, for whatever reason.
        privileged: true states and the noise that came true; none for a plain learner.
        signal_inputs: what the signal for curricula needs besides; None for a plain learner.
    """

    observation: Array
    action: Array
    log_density: Array
    final_observation: Array
    reward: Array
    terminated: Array
    ended: Array
    privileged: Privileged | None = None
    signal_inputs: SignalInputs | None = None


def applied(drawn: ActOutput | Rollout) -> Array:
    """What the task is given: the action clipped to [−1, 1], and under actuator noise once more."""
    action = jnp.clip(drawn.action, -1.0, 1.0)
    if drawn.privileged is None:
        return action
    return jnp.clip(action + drawn.privileged.actuator, -1.0, 1.0)


def successors(moments: Moments, standard: Array, rollout: Rollout) -> Array:
    """The normalised state after each step, [T, E, O].

    Within an episode it is the next one as it was normalised then; where an episode or the rollout
    ends, the true successor is normalised now.
    """
    final = jax.vmap(lambda x: normalization.standardise(moments, x))(rollout.final_observation)
    following = jnp.concatenate([standard[1:], final[-1:]])
    return jnp.where(rollout.ended[..., None], final, following)
