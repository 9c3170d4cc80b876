"""Soft actor-critic (Haarnoja et al. 2018): twin critics, tuned temperature.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1].
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from drspcrl.config.learners import SACSettings
from drspcrl.learners import adam, networks
from drspcrl.learners.actor_critic import (
    Metrics,
    Unstacked,
    critic_target,
    known_at_first,
    make_twin_critics,
    q_values,
    seen_by_critic,
    twin_loss,
    unstack,
)
from drspcrl.learners.base import network_policy
from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.gaussian import split, tanh_sample
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import (
    Backup,
    NoisyInputs,
    NoisyValue,
    Plain,
    SignalOutput,
    Uncertainty,
)
from drspcrl.policy import LOG_STD_RANGE, Policy


class SACHyper(NamedTuple):
    """A member's numbers.

    Attributes:
        discount: γ.
        tau: share of the critics that moves into their targets at every update.
        actor_lr: learning rate of the actor.
        critic_lr: learning rate of the critics.
        temperature_lr: learning rate of the temperature.
        entropy_per_action: the entropy aimed at, in nats per action dimension.
        rollout_noise: nominal sensor and actuator noise that experience is gathered under, as a
            multiple of what draws are made of, once the policy acts; a plain learner has none.
    """

    discount: Array | float = 0.99
    tau: Array | float = 0.005
    actor_lr: Array | float = 3e-4
    critic_lr: Array | float = 1e-3
    temperature_lr: Array | float = 1e-3
    entropy_per_action: Array | float = -1.0
    rollout_noise: Array | float = 0.0


class SACState(NamedTuple):
    """What a member has learned; `critics` and `targets` are two networks stacked."""

    actor: Network
    critics: Network
    targets: Network
    log_temperature: Array
    actor_optimizer: adam.State
    critic_optimizer: adam.State
    temperature_optimizer: adam.State
    robust: Any = ()  # what the uncertainty knows


@dataclass(frozen=True)
class SAC:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of all networks.
        uncertainty: what is trained against.
    """

    Settings: ClassVar[type[SACSettings]] = SACSettings
    Hyper: ClassVar[type] = SACHyper
    loop: ClassVar[str] = "off_policy"

    hidden: tuple[int, ...] = (256, 256)
    uncertainty: Uncertainty = field(default_factory=Plain)

    @classmethod
    def of(cls, settings: SACSettings, uncertainty: Uncertainty) -> "SAC":
        """See `drspcrl.learners.base`."""
        return cls(settings.hidden, uncertainty)

    def init(self, key: Array, observation_size: int, action_size: int) -> SACState:
        """A new member."""
        actor_key, *critic_keys = jax.random.split(key, 3)
        sizes = observation_size, action_size
        actor = networks.uniform(actor_key, (observation_size, *self.hidden, 2 * action_size))
        critics = make_twin_critics(self.uncertainty, critic_keys, *sizes, self.hidden)
        log_temperature = jnp.zeros(())
        return SACState(
            actor=actor,
            critics=critics,
            targets=jax.tree.map(jnp.copy, critics),
            log_temperature=log_temperature,
            actor_optimizer=adam.init(actor),
            critic_optimizer=adam.init(critics),
            temperature_optimizer=adam.init(log_temperature),
            robust=known_at_first(self.uncertainty, key, *sizes),
        )

    def act(self, state: SACState, observations: Array, key: Array, hyper: SACHyper) -> Array:
        """Exploring actions for observations [E, O]."""
        output = networks.apply(state.actor, observations)
        z = jax.random.normal(key, split(output)[0].shape)
        return tanh_sample(output, z)[0]

    def act_deterministic(self, state: SACState, observations: Array) -> Array:
        """The policy's mode."""
        return jnp.tanh(split(networks.apply(state.actor, observations))[0])

    def policy_parts(self, state: SACState) -> Network:
        """The actor."""
        return state.actor

    def policy(
        self, parts: Network, settings: SACSettings, low: np.ndarray, high: np.ndarray
    ) -> Policy:
        """A tanh of a Gaussian whose spread is an output of the network."""
        del settings
        unused = np.zeros_like(low)
        return network_policy("tanh_gaussian", "relu", parts, low, high, noise_log_std=unused)

    def update(
        self,
        state: SACState,
        batch: Batch,
        hyper: SACHyper,
        strength: Any,
        key: Array,
        index: Array,
    ) -> tuple[SACState, Metrics]:
        """One step of the critics, the actor, the temperature and the targets.

        Args:
            state: the member.
            batch: transitions from its replay.
            hyper: its numbers.
            strength: how strong the uncertainty is for it.
            key: randomness of this update.
            index: number of the update; SAC does the same at each.
        """
        del index
        backup = self.backup(state, batch, strength, key)
        bonus = entropy_range(state, batch.action.shape[-1])
        target = critic_target(self.uncertainty, backup, batch, hyper, strength, bonus)
        state, critic_metrics = self._critic_step(state, batch, target, hyper)
        state, actor_metrics, log_density = self._actor_step(state, backup, strength, hyper)
        state = _temperature_step(state, log_density, batch.action.shape[-1], hyper)
        targets = networks.move_towards(state.targets, state.critics, hyper.tau)
        metrics = {**critic_metrics, **actor_metrics, "temperature": temperature(state)}
        metrics |= backup.log
        return state._replace(targets=targets, robust=backup.known), metrics

    def backup(self, state: SACState, batch: Batch, strength: Any, key: Array) -> Backup:
        """What comes after the batch is worth, by the target critics."""
        nets = self.uncertainty.rounded(state.actor, *unstack(state.targets))
        value = partial(soft_value, state, nets[0], Unstacked(*nets[1:]))
        return self.uncertainty.backup(state.robust, value, batch, strength, key)

    def signal(
        self, state: SACState, batch: Batch, signal_inputs: SignalInputs, strength: Any, key: Array
    ) -> SignalOutput:
        """The signal for curricula."""
        value = partial(soft_value, state, state.actor, state.targets)
        mean = partial(mean_value, state.actor, state.targets)
        return self.uncertainty.signal(
            state.robust, value, mean, batch, signal_inputs, strength, key
        )

    def actor_loss(
        self, actor: Network, state: SACState, backup: Backup, strength: Any
    ) -> tuple[Array, Array]:
        """The mean of −U(s) with the learning critics, and log π of the actions there."""
        value: NoisyValue = partial(soft_value, state, actor, state.critics)
        return self.uncertainty.actor_loss(backup, value, strength)

    def _critic_step(
        self, state: SACState, batch: Batch, target: Array, hyper: SACHyper
    ) -> tuple[SACState, Metrics]:
        seen = seen_by_critic(self.uncertainty, batch)
        (loss, value), grads = jax.value_and_grad(twin_loss, has_aux=True)(
            state.critics, seen, target
        )
        critics, optimizer = adam.step(
            state.critics, grads, state.critic_optimizer, hyper.critic_lr
        )
        metrics = {"critic_loss": loss, "value": value}
        return state._replace(critics=critics, critic_optimizer=optimizer), metrics

    def _actor_step(
        self, state: SACState, backup: Backup, strength: Any, hyper: SACHyper
    ) -> tuple[SACState, Metrics, Array]:
        (loss, log_density), grads = jax.value_and_grad(self.actor_loss, has_aux=True)(
            state.actor, state, backup, strength
        )
        actor, optimizer = adam.step(state.actor, grads, state.actor_optimizer, hyper.actor_lr)
        metrics = {"actor_loss": loss, "entropy": -jnp.mean(log_density)}
        return state._replace(actor=actor, actor_optimizer=optimizer), metrics, log_density


def temperature(state: SACState) -> Array:
    """The weight of the entropy, α."""
    return jnp.exp(state.log_temperature)


def entropy_range(state: SACState, action_size: int) -> tuple[Array, Array]:
    """What entropy may bring in a step: from that of the narrowest policy to that of the widest.

    Where tanh saturates, an action's density is up to e^20 times that of its Gaussian.
    """
    α = temperature(state)
    return α * action_size * (LOG_STD_RANGE[0] - 20.0), α * action_size * jnp.log(2.0)


def soft_value(
    state: SACState, actor: Network, critics: Network | Unstacked, inputs: NoisyInputs, z: Array
) -> tuple[Array, Array]:
    """min_j Q_j(s, a) − α·log π(u|o) at u = tanh(mean + std·z), a = clip(u + ν), and log π."""
    wanted, log_density = tanh_sample(networks.apply(actor, inputs.seen), z)
    values = q_values(critics, inputs.true, inputs.arriving(wanted), *inputs.critic)
    return jnp.min(values, axis=0) - temperature(state) * log_density, log_density


def mean_value(
    actor: Network, critics: Network, inputs: NoisyInputs, z: Array
) -> tuple[Array, Array]:
    """The mean of both critics without entropy, and log π."""
    wanted, log_density = tanh_sample(networks.apply(actor, inputs.seen), z)
    values = q_values(critics, inputs.true, inputs.arriving(wanted), *inputs.critic)
    return jnp.mean(values, axis=0), log_density


def _temperature_step(
    state: SACState, log_density: Array, action_size: int, hyper: SACHyper
) -> SACState:
    """Raise the temperature while the entropy is below its aim: loss −α(log π + aim)."""
    excess = jnp.mean(log_density) + hyper.entropy_per_action * action_size
    grad = -temperature(state) * lax.stop_gradient(excess)
    log_temperature, optimizer = adam.step(
        state.log_temperature, grad, state.temperature_optimizer, hyper.temperature_lr
    )
    return state._replace(log_temperature=log_temperature, temperature_optimizer=optimizer)
