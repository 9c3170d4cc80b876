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
from typing import Any, NamedTuple

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

RADII = 11
"""Radii from 0 to ε_budget at which a signal says what the critic expects."""
WINDOW = 0.5
"""Share of ε_budget over which the slope of E V in ρ is taken."""
NEAR = 6
"""Radii within that share at which E V is asked for."""
CANDIDATES = 64
"""Worlds over which a tilt is solved."""
STARTS = 4
"""Start states over whose mean a tilt judges a world."""
STATES = 256
"""Visited states at which PPO's price is taken."""
# Uses of a key beside the plain learner's, far from what `split` makes of the same key.
_NOISE, _SIGNAL = (1 << 30) + 4, (1 << 30) + 5


class WorldStrength(NamedTuple):
    """How strong the uncertainty is for a member.

    Attributes:
        epsilon: ρ, the radius of the coming episodes.
        budget: ε_budget; 0 for a member that is trained without worlds.
        tilt: τ, the radius of the ball around the law of worlds.
    """

    epsilon: Any = 0.0
    budget: Any = 0.0
    tilt: Any = 0.0


class Tilt(NamedTuple):
    """The worst case over candidate worlds, as a function of a world's value.

    Attributes:
        values: V of the candidates in order, [n].
        ratios: how much likelier the worst case makes each, [n]; 1 throughout without a tilt.
        starts: start states at which worlds are valued, [STARTS, O].
    """

    values: Array
    ratios: Array
    starts: Array


class WorldsState(NamedTuple):
    """What is known of a member's worlds.

    Attributes:
        low: least reward seen.
        high: greatest reward seen.
        tilt: the newest worst case over worlds.
    """

    low: Array
    high: Array
    tilt: Tilt


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
        level = jnp.zeros(CANDIDATES)
        tilt = Tilt(level, jnp.ones(CANDIDATES), jnp.zeros((STARTS, observation_size)))
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
        """Targets between what the least and the greatest reward seen would add up to for ever."""
        if not self.bounded:
            return target
        least, most = bonus
        horizon = 1.0 / (1.0 - discount) / unit
        low = jnp.minimum(known.low + least, 0.0) * horizon
        high = jnp.maximum(known.high + most, 0.0) * horizon
        return jnp.where(strength.budget > 0, jnp.clip(target, low, high), target)

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

        scale = jnp.mean(jnp.abs(batch.reward))
        valued, tilting = partial(by, mean_value), partial(by, value)
        told = self._told(known, valued, tilting, states, worlds, signal_inputs, strength, key)
        return told._replace(signal=told.signal | {"reward_scale": scale})

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

        signal_inputs = rollout.signal_inputs
        visited = flat[chosen], worlds[chosen]
        told = self._told(known, valued, valued, *visited, signal_inputs, strength, key)
        signal = told.signal | {"reward_scale": jnp.mean(jnp.abs(rollout.reward))}
        signal["probe_values"] = signal["probe_values"] * reward_scale
        return told._replace(signal=signal)

    def _told(
        self,
        known: WorldsState,
        valued: Any,
        tilting: Any,
        states: Array,
        worlds: Array,
        signal_inputs: SignalInputs,
        strength: WorldStrength,
        key: Array,
    ) -> SignalOutput:
        """The signal from states [B, O] in worlds [B, W], `valued` being V(s, f) by a key.

        So is `tilting`, as a tilt judges worlds.
        """
        units_key, value_key, pool_key, start_key = jax.random.split(key, 4)
        at = _repeated(signal_inputs.starts, len(states)) if self.at_starts else states
        units = self.units(units_key, len(at))

        def mean_at(radius: Array) -> tuple[Array, Array]:
            values = valued(at, radius * units, value_key)
            return jnp.mean(values), jnp.mean(jnp.abs(values))

        ρ = jnp.asarray(strength.epsilon)
        radii = jnp.linspace(0.0, 1.0, RADII) * strength.budget
        near, offset = near_radii(ρ, strength.budget)
        means, sizes = lax.map(mean_at, jnp.concatenate([ρ[None], near, radii]))
        mean, size, along = means[0], sizes[0], means[1 + NEAR :]
        slope = fitted_slope(means[1 : 1 + NEAR], offset, strength.budget)
        starts = _repeated(signal_inputs.starts, CANDIDATES)
        pool = self.units(pool_key, CANDIDATES)
        values = valued(starts, ρ * pool, start_key)
        first = _repeated(signal_inputs.starts, STARTS)
        tilt, multiplier, weights = self._no_tilt(first)
        if self.tilted:
            in_each = tilting(*at_starts(first, ρ * pool), start_key)
            tilt, multiplier, weights = self._tilt(jnp.mean(in_each, axis=0), first, strength)
        signal = {
            "price": jnp.maximum(0.0, -slope) / jnp.maximum(size, 1e-8),
            "slope": -slope,
            "value": mean,
            "value_scale": size,
            "start_value": jnp.mean(values),
            "value_spread": jnp.std(values),
            "radius_values": along,
            "multiplier": multiplier,
            "probe_values": jnp.zeros(0),
        }
        if signal_inputs.probes is not None:
            first, world = signal_inputs.probes
            signal["probe_values"] = valued(first, world, start_key)
        if self.tilted and not self.weighted:
            signal |= {"pool": pool, "pool_weights": weights}
        mean_square = max(self.model.mean_square, 1e-12)
        log = {
            "price": signal["price"],
            "beta": multiplier,
            "value_scale": size,
            "start_value": signal["start_value"],
            "value_spread": signal["value_spread"],
            "learned_radius": jnp.sqrt(jnp.mean(jnp.sum(worlds**2, axis=-1)) / mean_square),
            "reward_low": known.low,
            "reward_high": known.high,
        }
        # A member that is trained without worlds has none of these.
        log = {name: jnp.where(strength.budget > 0, x, jnp.nan) for name, x in log.items()}
        return SignalOutput(signal, log, known._replace(tilt=tilt))

    def units(self, key: Array, n: int) -> Array:
        """n unit draws u, [n, W]."""
        normal_key, uniform_key = jax.random.split(key)
        normals = normal(normal_key, (n, self.model.size))
        uniforms = jax.random.uniform(uniform_key, (n, len(KINDS) + 1))
        return self.model.unit_draws(normals, uniforms, jnp, erf)

    def _no_tilt(self, starts: Array) -> tuple[Tilt, Array, Array]:
        level = jnp.ones(CANDIDATES)
        return Tilt(0.0 * level, level, starts), jnp.zeros(()), level / CANDIDATES

    def _tilt(
        self, values: Array, starts: Array, strength: WorldStrength
    ) -> tuple[Tilt, Array, Array]:
        """The worst case over candidates of values [n]: as a function, its β*, its weights."""
        uniform = jnp.full(values.shape, 1.0 / len(values))
        found = self.divergence.worst_case(values, uniform, jnp.asarray(strength.tilt))
        order = jnp.argsort(values)
        ratios = jnp.where(strength.tilt > 0, found.weights * len(values), 1.0)
        β = jnp.where(strength.tilt > 0, found.multiplier, 0.0)
        return Tilt(values[order], ratios[order], starts), β, ratios / len(values)


def near_radii(ρ: Array, budget: Array) -> tuple[Array, Array]:
    """Radii through which a parabola gives the slope at ρ, [NEAR], and ρ less their middle."""
    half = 0.5 * WINDOW * budget
    middle = jnp.clip(ρ, half, budget - half)
    return middle + half * jnp.linspace(-1.0, 1.0, NEAR), ρ - middle


def fitted_slope(values: Array, offset: Array, budget: Array) -> Array:
    """The derivative of the parabola, by least squares, through values [NEAR] at `near_radii`.

    At ρ = 0 all worlds are one point, where a network of relus has the slope of whichever piece it
    lies on. Over a share of the budget the data decide it. A parabola is what E V(s, ρu) is for
    small ρ: linear in what is one-sided, quadratic in what is not.
    """
    x = jnp.linspace(-1.0, 1.0, NEAR)
    square = x**2 - jnp.mean(x**2)
    linear, quadratic = x @ values / (x @ x), square @ values / (square @ square)
    half = jnp.maximum(0.5 * WINDOW * budget, 1e-8)
    return (linear + 2.0 * quadratic * offset / half) / half


def tilt_weight(tilt: Tilt, values: Array, τ: Array) -> Array:
    """How much likelier the worst case makes worlds of these values [...]; 1 where τ = 0.

    Between candidates it is interpolated: for every f-divergence the ratio is a falling function of
    the value, for KL exp(−V/β*) up to a constant. It is normalised to a mean of 1.
    """
    ratio = jnp.interp(values, tilt.values, tilt.ratios)
    ratio = ratio / jnp.maximum(jnp.mean(ratio), 1e-6)
    return lax.stop_gradient(jnp.where(τ > 0, ratio, 1.0))


def at_starts(starts: Array, worlds: Array) -> tuple[Array, Array]:
    """Each of the starts [S, O] in every world [..., W]: states and worlds [S, ..., O or W]."""
    between = (1,) * (worlds.ndim - 1)
    states = starts.reshape(len(starts), *between, starts.shape[-1])
    shape = len(starts), *worlds.shape[:-1]
    return (
        jnp.broadcast_to(states, (*shape, starts.shape[-1])),
        jnp.broadcast_to(worlds, (*shape, worlds.shape[-1])),
    )


def like(x: Array, shape_of: Array) -> Array:
    """x [O] along the last axis of another array."""
    return jnp.broadcast_to(x, shape_of.shape)


def _repeated(rows: Array, n: int) -> Array:
    """The first n rows, from the beginning again where there are fewer."""
    return rows[jnp.arange(n) % len(rows)]
