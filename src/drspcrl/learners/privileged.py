"""What PPO's critic sees in training beside the policy's observation: the noise that came true.

V(s) alone cannot price sensor or actuator noise, which act on one step and are gone at the next. So
under a nominal model the critic takes x = (s, η, ν): the true state, the noise on what the policy
sees of it, the noise on what its action becomes. The policy still sees o = s + η alone.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners.normalization import CLIP
from drspcrl.nominal import Draws, NominalModel, Scales, Transition


class Privileged(NamedTuple):
    """One step of E environments, [E, ...], or a rollout of them, [T, E, ...].

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


class RolloutNoise(NamedTuple):
    """A rollout as the robust backup needs it, [T, E, ...] each but for the scale.

    Attributes:
        steps: states, applied actions and true successors, in the task's units.
        noise: what the policy did not see.
        following: the normalised true successors.
        ended: whether an episode ended with the step.
        scale: of the policy's observations, [O].
    """

    steps: Transition
    noise: Privileged
    following: Array
    ended: Array
    scale: Array


def draws_after(
    nominal: NominalModel, state: Any, key: Array, scales: Scales, carried: RolloutNoise, n: int
) -> Draws:
    """Draws of ω after every step of a rollout, [T, E, n, ...]; draw 0 is what came true.

    Where an episode or the rollout ended, nothing came true that a trace would follow, and draw 0
    is one like the others. So is its process noise under a model that adds some to the simulator's
    next state: the simulator itself has none, and all n draws must follow one law.

    Args:
        nominal: P0.
        state: what it knew when the rollout's noise was drawn.
        key: randomness.
        scales: the member's.
        carried: the rollout.
        n: number of draws.
    """

    def one(key: Array, step: Transition) -> Draws:
        return nominal.sample(state, key, scales, step, n)

    keys = jax.random.split(key, carried.ended.shape)
    drawn = jax.vmap(jax.vmap(one))(keys, carried.steps)
    alone = carried.ended.at[-1].set(True)[..., None]

    def realised(fresh: Array, noise: Array) -> Array:
        following = jnp.roll(noise, -1, axis=0)  # what the last step gets is never used
        return fresh.at[..., 0, :].set(jnp.where(alone, fresh[..., 0, :], following))

    process = drawn.process
    if nominal.stored_is_a_draw:
        process = process.at[..., 0, :].set(0.0)
    sensor = realised(drawn.sensor, carried.noise.sensor)
    actuator = realised(drawn.actuator, carried.noise.actuator)
    return drawn._replace(process=process, sensor=sensor, actuator=actuator)


def features(standard: Array, sensor: Array, actuator: Array, scale: Array) -> Array:
    """The critic's input x, [..., 2·O + A]: η in units of the normalised s, ν as it is.

    Args:
        standard: normalised s, [..., O].
        sensor: η, [..., O].
        actuator: ν, [..., A].
        scale: of the policy's observations, [O].
    """
    return jnp.concatenate([standard, sensor / _like(scale, sensor), actuator], axis=-1)


def features_at(standard: Array, draws: Draws, scale: Array) -> Array:
    """The critic's input at draws around normalised states [..., O], [..., n, 2·O + A]."""
    w = draws.process / _like(scale, draws.process)
    moved = jnp.clip(standard[..., None, :] + w, -CLIP, CLIP)
    return features(moved, draws.sensor, draws.actuator, scale)


def _like(scale: Array, x: Array) -> Array:
    return jnp.broadcast_to(scale, x.shape)
