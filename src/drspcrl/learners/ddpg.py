"""Deep deterministic policy gradient (Lillicrap et al. 2016): one critic, target networks, noise.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from drspcrl.config.learners import DDPGSettings
from drspcrl.learners import adam, networks
from drspcrl.learners.actor_critic import (
    Metrics,
    critic_target,
    known_at_first,
    make_critic,
    seen_by_critic,
)
from drspcrl.learners.base import network_policy
from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import Backup, NoisyInputs, Plain, SignalOutput, Uncertainty
from drspcrl.policy import Policy

CriticLoss = Callable[[Network, tuple[Array, ...], Array], tuple[Array, Array]]
"""From critic, inputs and target [B] to the loss and the mean value."""


class DDPGHyper(NamedTuple):
    """A member's numbers, in DDPG and TD3.

    Attributes:
        discount: γ.
        tau: share of the networks that moves into their targets.
        actor_lr: learning rate of the actor.
        critic_lr: learning rate of the critic.
        exploration: standard deviation of the noise on actions in [−1, 1].
        rollout_noise: nominal sensor and actuator noise that experience is gathered under, as a
            multiple of what draws are made of, once the policy acts; a plain learner has none.
    """

    discount: Array | float = 0.99
    tau: Array | float = 0.005
    actor_lr: Array | float = 3e-4
    critic_lr: Array | float = 3e-4
    exploration: Array | float = 0.1
    rollout_noise: Array | float = 0.0


class DDPGState(NamedTuple):
    """What a member has learned; in TD3 `critic` and `target_critic` are two networks stacked."""

    actor: Network
    critic: Network
    target_actor: Network
    target_critic: Network
    actor_optimizer: adam.State
    critic_optimizer: adam.State
    robust: Any = ()  # what the uncertainty knows


class DeterministicActor:
    """A policy that is a function of what it sees, and noise added to explore."""

    Hyper: ClassVar[type] = DDPGHyper
    loop: ClassVar[str] = "off_policy"

    def act(self, state: DDPGState, observations: Array, key: Array, hyper: DDPGHyper) -> Array:
        """Exploring actions a = clip(π(o) + noise) for observations [E, O]."""
        actions = policy(state.actor, observations)
        noise = hyper.exploration * jax.random.normal(key, actions.shape)
        return jnp.clip(actions + noise, -1.0, 1.0)

    def act_deterministic(self, state: DDPGState, observations: Array) -> Array:
        """The policy without noise."""
        return policy(state.actor, observations)

    def policy_parts(self, state: DDPGState) -> Network:
        """The actor."""
        return state.actor

    def policy(
        self, parts: Network, settings: DDPGSettings, low: np.ndarray, high: np.ndarray
    ) -> Policy:
        """A tanh, with the noise of exploration; none is the least that a logarithm can say."""
        noise = np.full_like(low, np.log(max(settings.exploration, 1e-30)))
        return network_policy("tanh", "relu", parts, low, high, noise_log_std=noise)


@dataclass(frozen=True)
class DDPG(DeterministicActor):
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of all networks.
        actor_every: updates of the critic per update of the actor and the targets.
        uncertainty: what is trained against.
    """

    Settings: ClassVar[type[DDPGSettings]] = DDPGSettings

    hidden: tuple[int, ...] = (256, 256)
    actor_every: int = 2
    uncertainty: Uncertainty = field(default_factory=Plain)

    @classmethod
    def of(cls, settings: DDPGSettings, uncertainty: Uncertainty) -> "DDPG":
        """See `drspcrl.learners.base`."""
        return cls(settings.hidden, settings.actor_every, uncertainty)

    def init(self, key: Array, observation_size: int, action_size: int) -> DDPGState:
        """A new member."""
        actor_key, critic_key = jax.random.split(key)
        actor = networks.uniform(actor_key, (observation_size, *self.hidden, action_size))
        sizes = observation_size, action_size
        critic = make_critic(self.uncertainty, critic_key, *sizes, self.hidden)
        return new_state(actor, critic, known_at_first(self.uncertainty, key, *sizes))

    def update(
        self,
        state: DDPGState,
        batch: Batch,
        hyper: DDPGHyper,
        strength: Any,
        key: Array,
        index: Array,
    ) -> tuple[DDPGState, Metrics]:
        """One step of the critic; at every `actor_every`-th, of the actor and the targets too.

        Args:
            state: the member.
            batch: transitions from its replay.
            hyper: its numbers.
            strength: how strong the uncertainty is for it.
            key: randomness of this update; the plain learner needs none.
            index: number of the update. It is the same for all members of a population, so that
                the actor's step is skipped and not merely thrown away.
        """
        backup = self.backup(state, batch, strength, key)
        target = critic_target(self.uncertainty, backup, batch, hyper, strength)
        seen = seen_by_critic(self.uncertainty, batch)
        state, metrics = critic_step(critic_loss, state, seen, target, hyper)
        actor_loss = partial(self.actor_loss, state=state, backup=backup, strength=strength)
        due = index % self.actor_every == 0
        state, metrics = delayed_step(due, actor_loss, state, metrics, hyper)
        return state._replace(robust=backup.known), {**metrics, **backup.log}

    def backup(self, state: DDPGState, batch: Batch, strength: Any, key: Array) -> Backup:
        """What comes after the batch is worth, by the target networks."""
        actor, critic = self.uncertainty.rounded(state.target_actor, state.target_critic)
        value = partial(policy_value, actor, critic)
        return self.uncertainty.backup(state.robust, value, batch, strength, key)

    def signal(
        self, state: DDPGState, batch: Batch, signal_inputs: SignalInputs, strength: Any, key: Array
    ) -> SignalOutput:
        """The signal for curricula."""
        value = partial(policy_value, state.target_actor, state.target_critic)
        return self.uncertainty.signal(
            state.robust, value, value, batch, signal_inputs, strength, key
        )

    def actor_loss(self, actor: Network, state: DDPGState, backup: Backup, strength: Any) -> Array:
        """The mean of −U(s) with the learning critic."""
        value = partial(policy_value, actor, state.critic)
        return self.uncertainty.actor_loss(backup, value, strength)[0]


def policy(actor: Network, states: Array) -> Array:
    """tanh of the network's output, [B, A]."""
    return jnp.tanh(networks.apply(actor, states))


def q_value(critic: Network, *inputs: Array) -> Array:
    """The critic's value of states, actions and what else it sees, [B]."""
    return networks.apply(critic, *inputs)[..., 0]


def policy_value(
    actor: Network, critic: Network, inputs: NoisyInputs, z: Array
) -> tuple[Array, Array]:
    """Q(s, clip(π(o) + ν)), [...]; there is no exploration noise and no log density."""
    del z
    arriving = inputs.arriving(policy(actor, inputs.seen))
    values = q_value(critic, inputs.true, arriving, *inputs.critic)
    return values, jnp.zeros_like(values)


def critic_loss(critic: Network, seen: tuple[Array, ...], target: Array) -> tuple[Array, Array]:
    """The mean squared error and the mean value."""
    values = q_value(critic, *seen)
    return jnp.mean(jnp.square(values - target)), jnp.mean(values)


def new_state(actor: Network, critic: Network, known: Any) -> DDPGState:
    """A new member with these networks, which their targets equal."""
    return DDPGState(
        actor=actor,
        critic=critic,
        target_actor=jax.tree.map(jnp.copy, actor),
        target_critic=jax.tree.map(jnp.copy, critic),
        actor_optimizer=adam.init(actor),
        critic_optimizer=adam.init(critic),
        robust=known,
    )


def critic_step(
    loss_of: CriticLoss,
    state: DDPGState,
    seen: tuple[Array, ...],
    target: Array,
    hyper: DDPGHyper,
) -> tuple[DDPGState, Metrics]:
    """One step of Adam down the critic's loss at inputs `seen` towards `target` [B]."""
    (loss, value), grads = jax.value_and_grad(loss_of, has_aux=True)(state.critic, seen, target)
    critic, optimizer = adam.step(state.critic, grads, state.critic_optimizer, hyper.critic_lr)
    metrics = {"critic_loss": loss, "value": value}
    return state._replace(critic=critic, critic_optimizer=optimizer), metrics


def delayed_step(
    due: Array,
    loss_of: Callable[[Network], Array],
    state: DDPGState,
    metrics: Metrics,
    hyper: DDPGHyper,
) -> tuple[DDPGState, Metrics]:
    """Where it is due, a step of the actor and then of the targets; else a loss of nan."""
    state, loss = lax.cond(
        due,
        lambda: _actor_and_targets_step(loss_of, state, hyper),
        lambda: (state, jnp.full_like(metrics["value"], jnp.nan)),
    )
    return state, {**metrics, "actor_loss": loss}


def _actor_and_targets_step(
    loss_of: Callable[[Network], Array], state: DDPGState, hyper: DDPGHyper
) -> tuple[DDPGState, Array]:
    loss, grads = jax.value_and_grad(loss_of)(state.actor)
    actor, optimizer = adam.step(state.actor, grads, state.actor_optimizer, hyper.actor_lr)
    state = state._replace(
        actor=actor,
        actor_optimizer=optimizer,
        target_actor=networks.move_towards(state.target_actor, actor, hyper.tau),
        target_critic=networks.move_towards(state.target_critic, state.critic, hyper.tau),
    )
    return state, loss
