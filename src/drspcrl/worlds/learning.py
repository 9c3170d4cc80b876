"""Uncertainty in worlds: what differs from the simulator stays for an episode.

The critic sees the world f = r·u of the episode, the policy does not: it sees o = s + σ_f·noise
and its action arrives as clip(π(o) + ν_f·noise). Nothing else changes, so that learning costs what
the plain learner costs:

    target and actor    one fresh draw of sensor and actuator noise at the transition's own f
    price               max(0, −d/dρ E[V(s, ρ·u)]) / E|V|, the slope that of a parabola near ρ
    tilt                inf over KL(q‖P_ρ) ≤ τ of E_q V(s₀, f), as weights on the actor's loss

Observations carry the world behind the task's own readings, [..., O + W].
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy.special import erf

from drspcrl.divergences import KL, Divergence
from drspcrl.learners import normalization
from drspcrl.learners.actor_critic import split_world
from drspcrl.learners.cpu.threefry import normal
from drspcrl.learners.experience import Rollout, SignalInputs, successors
from drspcrl.learners.normalization import Moments
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import (
    Backup,
    NoisyInputs,
    NoisyValue,
    RolloutBackup,
    SignalOutput,
    Uncertainty,
    Value,
)
from drspcrl.worlds.declare import KINDS
from drspcrl.worlds.model import WorldModel
from drspcrl.worlds.signal import WorldsState, WorldStrength, WorldValues, signal_at
from drspcrl.worlds.tilt import STARTS, at_starts, no_tilt, tilt_weight

STATES = 256
"""Visited states at which PPO's price is taken."""
MARGIN = 0.1
"""How far targets may leave their bounds, as a share of what lies between them."""
# Uses of a key beside the plain learner's, far from what `split` makes of the same key.
_NOISE, _SIGNAL = (1 << 30) + 4, (1 << 30) + 5


@dataclass(frozen=True)
class Worlds(Uncertainty):
    """Learning in worlds.

    Attributes:
        model: the task's worlds.
        divergence: the ball around the law of worlds that τ is the radius of.
        tilted: whether any member has a tilt; without one none is computed.
        weighted: whether a tilt weighs the actor's loss; else worlds are drawn by it.
        at_starts: whether the price is taken at start states instead of visited ones.
        bounded: whether critic targets are clipped to what the rewards seen allow.
        sees_world: whether the critic sees the world; without it there is no price.
    """

    model: WorldModel
    divergence: Divergence = field(default_factory=KL)
    tilted: bool = False
    weighted: bool = True
    at_starts: bool = False
    bounded: bool = True
    sees_world: bool = True

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        """W."""
        return self.model.size

    def init(self, key: Array, observation_size: int, action_size: int) -> WorldsState:
        """No reward seen, no tilt."""
        del key, action_size
        tilt = no_tilt(jnp.zeros((STARTS, observation_size))).tilt
        return WorldsState(jnp.zeros(()), jnp.zeros(()), tilt)

    def critic_world(self, world: Array) -> Array:
        """See `Uncertainty`."""
        return world if self.sees_world else jnp.zeros_like(world)

    def disturbed(self, states: Array, world: Array, key: Array) -> NoisyInputs:
        """One draw of sensor and actuator noise in states [..., O] of worlds [..., W]."""
        model, shape = self.model, states.shape[:-1]
        sensor_key, actuator_key = jax.random.split(key)
        error = jnp.zeros_like(states)
        if len(column := model.columns("sensor")):
            size = float(model.tolerance[column[0]]) * jnp.asarray(model.sensor_unit, states.dtype)
            noise = normal(sensor_key, states.shape)
            error = error + world[..., column] * (noise * like(size, noise))
        if len(columns := model.columns("bias")):
            size = float(model.tolerance[columns[0]]) * jnp.asarray(model.sensor_unit, states.dtype)
            error = error + world[..., columns] * like(size, states)
        actuator = None
        if len(column := model.columns("actuator")):
            noise = normal(actuator_key, (*shape, model.actions))
            actuator = float(model.tolerance[column[0]]) * world[..., column] * noise
        return NoisyInputs(states, states + error, actuator, self.critic_world(world), error)

    def noisy_inputs(
        self,
        known: WorldsState,
        observations: Array,
        strength: WorldStrength,
        action_size: int,
        key: Array,
        factor: Array | float = 1.0,
    ) -> NoisyInputs:
        """What the policy meets in the worlds of the running episodes."""
        del known, strength, action_size, factor
        states, world = split_world(observations, self.coordinates)
        return self.disturbed(states, world, key)

    def backup(
        self,
        known: WorldsState,
        value: NoisyValue,
        batch: Batch,
        strength: WorldStrength,
        key: Array,
    ) -> Backup:
        """V(s', f) with one action; the actor learns where the transitions began."""
        known = self.observe_rewards(known, batch.reward)
        target_z, actor_z = normal(key, (2, *batch.action.shape))  # as the plain learner's
        target_key, actor_key = jax.random.split(jax.random.fold_in(key, _NOISE))
        states, world = split_world(batch.observation, self.coordinates)
        following, _ = split_world(batch.next_observation, self.coordinates)
        values, _ = value(self.disturbed(following, world, target_key), target_z)
        weight = None
        if self.tilted and self.weighted:
            at = at_starts(known.tilt.starts, world)
            z = jnp.broadcast_to(target_z, (STARTS, *target_z.shape))
            at_start, _ = value(self.disturbed(*at, target_key), z)
            weight = tilt_weight(known.tilt, jnp.mean(at_start, axis=0), strength.tilt)
        actor_inputs = self.disturbed(states, world, actor_key), actor_z, weight
        return Backup(known, values, actor_inputs)

    def actor_loss(
        self, backup: Backup, value: NoisyValue, strength: WorldStrength
    ) -> tuple[Array, Array]:
        """The mean of −V(s, f), weighted by the tilt where there is one."""
        del strength
        inputs, z, weight = backup.actor_inputs
        values, log_density = value(inputs, z)
        if weight is not None:
            values = lax.stop_gradient(weight) * values
        return -jnp.mean(values), log_density

    def observe_rewards(self, known: WorldsState, rewards: Array) -> WorldsState:
        """The least and the greatest reward seen by now."""
        low, high = jnp.min(rewards), jnp.max(rewards)
        return known._replace(low=jnp.minimum(known.low, low), high=jnp.maximum(known.high, high))

    def bound(
        self,
        known: WorldsState,
        target: Array,
        strength: WorldStrength,
        discount: Any,
        bonus: Any = (0.0, 0.0),
        unit: Array | float = 1.0,
    ) -> Array:
        """Targets about between what the least and the greatest reward seen would add up to.

        A value at the bound itself is a mean over targets on both sides of it: without a margin,
        what they lose above it would bend values down where the task is at its best.
        """
        if not self.bounded:
            return target
        least, most = bonus
        horizon = 1.0 / (1.0 - discount) / unit
        low = jnp.minimum(known.low + least, 0.0) * horizon
        high = jnp.maximum(known.high + most, 0.0) * horizon
        margin = MARGIN * (known.high - known.low) * horizon
        clipped = jnp.clip(target, low - margin, high + margin)
        return jnp.where(strength.budget > 0, clipped, target)

    def signal(
        self,
        known: WorldsState,
        value: NoisyValue,
        mean_value: NoisyValue,
        batch: Batch,
        signal_inputs: SignalInputs,
        strength: WorldStrength,
        key: Array,
    ) -> SignalOutput:
        """See `Uncertainty`; the price is the target critics' mean, without entropy.

        A tilt is solved with the value that `backup` asks for its ratios by.
        """
        states, worlds = split_world(batch.observation, self.coordinates)

        def by(value: NoisyValue, states: Array, world: Array, key: Array) -> Array:
            noise_key, z_key = jax.random.split(key)
            z = normal(z_key, (*states.shape[:-1], self.model.actions))
            return value(self.disturbed(states, world, noise_key), z)[0]

        values = WorldValues(partial(by, mean_value), partial(by, value))
        found = signal_at(self, known, values, states, worlds, signal_inputs, strength, key)
        scale = {"reward_scale": jnp.mean(jnp.abs(batch.reward))}
        return found._replace(signal=found.signal | scale)

    def rollout_backup(
        self,
        known: WorldsState,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        strength: WorldStrength,
        key: Array,
    ) -> RolloutBackup:
        """V(s, f) of the true states; the noise of a step is what its value is the mean over."""
        del key
        noise = rollout.privileged
        assert noise is not None
        assert noise.world is not None
        world = self.critic_world(noise.world)
        x = jnp.concatenate([noise.standard, world], axis=-1)
        following = successors(moments, noise.standard, rollout)
        values = value(jnp.concatenate([following, world], axis=-1))
        weight = None
        if self.tilted and self.weighted:
            starts = normalization.standardise(moments, known.tilt.starts)
            at_start = value(jnp.concatenate(at_starts(starts, world), axis=-1))
            weight = tilt_weight(known.tilt, jnp.mean(at_start, axis=0), strength.tilt)
        return RolloutBackup(x, values, weight=weight)

    def rollout_signal(
        self,
        known: WorldsState,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        backup: RolloutBackup,
        reward_scale: Array,
        strength: WorldStrength,
        key: Array,
    ) -> SignalOutput:
        """See `Uncertainty`; values of probe episodes are in the task's units."""
        del backup
        noise, key = rollout.privileged, jax.random.fold_in(key, _SIGNAL)
        assert noise is not None
        assert noise.world is not None
        assert rollout.signal_inputs is not None
        flat = noise.state.reshape(-1, noise.state.shape[-1])
        worlds = noise.world.reshape(-1, noise.world.shape[-1])
        chosen = jax.random.permutation(key, len(flat))[:STATES]

        def valued(states: Array, world: Array, key: Array) -> Array:
            del key
            rows = states.reshape(-1, states.shape[-1])
            standard = normalization.standardise(moments, rows).reshape(states.shape)
            return value(jnp.concatenate([standard, self.critic_world(world)], axis=-1))

        found = signal_at(
            *(self, known, WorldValues(valued, valued), flat[chosen], worlds[chosen]),
            *(rollout.signal_inputs, strength, key),
        )
        signal = found.signal | {"reward_scale": jnp.mean(jnp.abs(rollout.reward))}
        signal["probe_values"] = signal["probe_values"] * reward_scale
        return found._replace(signal=signal)

    def units(self, key: Array, n: int) -> Array:
        """n unit draws u, [n, W]."""
        normal_key, uniform_key = jax.random.split(key)
        normals = normal(normal_key, (n, self.model.size))
        uniforms = jax.random.uniform(uniform_key, (n, len(KINDS) + 1))
        return self.model.unit_draws(normals, uniforms, jnp, erf)


def like(x: Array, shape_of: Array) -> Array:
    """x [O] along the last axis of another array."""
    return jnp.broadcast_to(x, shape_of.shape)
