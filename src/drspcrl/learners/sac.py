"""Soft actor-critic (Haarnoja et al. 2018): twin critics, tuned temperature.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import adam, networks
from drspcrl.learners.backup import Faced, Robust, Situation, undisturbed
from drspcrl.learners.dual import Worst
from drspcrl.learners.gaussian import split, tanh_sample
from drspcrl.learners.networks import Network
from drspcrl.learners.probe import Probed, probe
from drspcrl.learners.replay import Batch
from drspcrl.learners.threefry import normal
from drspcrl.nominal import Uncertainty

Metrics = dict[str, Array]
ActorLoss = Callable[[Network, "SACState"], tuple[Array, Array]]
_ROBUST = 1 << 30  # a key of its own, far from those that `split` gives


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
    robust: Any = ()  # `RobustState`, or nothing in a plain learner


@dataclass(frozen=True)
class SAC:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of all networks.
        robust: how a state is valued against the worst case; None for the plain learner.
    """

    hidden: tuple[int, ...] = (256, 256)
    robust: Robust | None = None

    def init(self, key: Array, observation_size: int, action_size: int) -> SACState:
        """A new member."""
        actor_key, *critic_keys = jax.random.split(key, 3)
        actor = networks.uniform(actor_key, (observation_size, *self.hidden, 2 * action_size))
        sizes = (observation_size + action_size, *self.hidden, 1)
        critics = jax.vmap(lambda k: networks.uniform(k, sizes))(jnp.stack(critic_keys))
        log_temperature = jnp.zeros(())
        robust_key = jax.random.fold_in(key, _ROBUST)
        return SACState(
            actor=actor,
            critics=critics,
            targets=jax.tree.map(jnp.copy, critics),
            log_temperature=log_temperature,
            actor_optimizer=adam.init(actor),
            critic_optimizer=adam.init(critics),
            temperature_optimizer=adam.init(log_temperature),
            robust=()
            if self.robust is None
            else self.robust.init(robust_key, observation_size, action_size),
        )

    def act(self, state: SACState, observations: Array, key: Array, hyper: SACHyper) -> Array:
        """Exploring actions for observations [E, O]."""
        output = networks.apply(state.actor, observations)
        z = jax.random.normal(key, split(output)[0].shape)
        return tanh_sample(output, z)[0]

    def act_deterministic(self, state: SACState, observations: Array) -> Array:
        """The policy's mode."""
        return jnp.tanh(split(networks.apply(state.actor, observations))[0])

    def update(
        self,
        state: SACState,
        batch: Batch,
        hyper: SACHyper,
        uncertainty: Uncertainty,
        key: Array,
        index: Array,
    ) -> tuple[SACState, Metrics]:
        """One step of the critics, the actor, the temperature and the targets.

        Args:
            state: the member.
            batch: transitions from its replay.
            hyper: its numbers.
            uncertainty: what it is trained against.
            key: randomness of this update.
            index: number of the update; SAC does the same at each.
        """
        del index
        if self.robust is None:
            target_z, actor_z = normal(key, (2, *batch.action.shape))
            target = self.critic_target(state, batch, hyper, target_z)
            actor_loss = partial(self.actor_loss, batch=batch, z=actor_z)
        else:
            key, actor_key = jax.random.split(key)
            state, faced, worst = self.face(state, batch, uncertainty, key)
            target = bootstrapped(batch, hyper, worst.value[: batch.reward.shape[0]])
            actor_loss = partial(
                self.robust_actor_loss,
                faced=faced,
                worst=worst,
                epsilon=jnp.asarray(uncertainty.epsilon),
                key=actor_key,
            )
        state, critic_metrics = _critic_step(state, batch, target, hyper)
        state, actor_metrics, log_density = _actor_step(state, actor_loss, hyper)
        state = _temperature_step(state, log_density, batch.action.shape[-1], hyper)
        targets = networks.move_towards(state.targets, state.critics, hyper.tau)
        metrics = {**critic_metrics, **actor_metrics, "temperature": temperature(state)}
        return state._replace(targets=targets), metrics

    def critic_target(self, state: SACState, batch: Batch, hyper: SACHyper, z: Array) -> Array:
        """r + γ(1 − d)·U(s') with the target critics and action noise z [B, A], [B]."""
        situation = undisturbed(batch.next_observation)
        value, _ = soft_value(state, state.actor, apart(state.targets), situation, z)
        return bootstrapped(batch, hyper, value)

    def face(
        self, state: SACState, batch: Batch, uncertainty: Uncertainty, key: Array
    ) -> tuple[SACState, Faced, Worst]:
        """The states of a batch with nominal draws, and the worst case with the target critics.

        Nominal model and dual learn from the batch first.
        """
        assert self.robust is not None
        actor, *targets = self.robust.rounded(state.actor, *apart(state.targets))
        value = partial(soft_value, state, actor, Apart(*targets))
        known, faced, worst = self.robust.learn(state.robust, value, batch, uncertainty, key)
        return state._replace(robust=known), faced, worst

    def probe(
        self,
        state: SACState,
        batch: Batch,
        starts: Array,
        uncertainty: Uncertainty,
        key: Array,
    ) -> Probed:
        """What a curriculum is told; see `drspcrl.learners.probe`."""
        assert self.robust is not None
        value = partial(soft_value, state, state.actor, state.targets)
        return probe(self.robust, state.robust, value, batch, starts, uncertainty, key)

    def actor_loss(
        self, actor: Network, state: SACState, batch: Batch, z: Array
    ) -> tuple[Array, Array]:
        """The mean of −V(s) with the learning critics, and log π of the actions of z, [B]."""
        situation = undisturbed(batch.observation)
        value, log_density = soft_value(state, actor, state.critics, situation, z)
        return -jnp.mean(value), log_density

    def robust_actor_loss(
        self,
        actor: Network,
        state: SACState,
        faced: Faced,
        worst: Worst,
        epsilon: Array,
        key: Array,
    ) -> tuple[Array, Array]:
        """The mean of −U(s) with the learning critics, and of log π there."""
        assert self.robust is not None
        value = partial(soft_value, state, actor, state.critics)
        return self.robust.actor_loss(state.robust, value, faced, worst, epsilon, key)


def temperature(state: SACState) -> Array:
    """The weight of the entropy, α."""
    return jnp.exp(state.log_temperature)


def bootstrapped(batch: Batch, hyper: SACHyper, value: Array) -> Array:
    """r + γ(1 − d)·value, a constant to autodiff, [B]."""
    following = jnp.where(batch.terminated, 0.0, value)
    return lax.stop_gradient(batch.reward + hyper.discount * following)


class Apart(NamedTuple):
    """Two critics that are not stacked: quicker to ask on a CPU, slower to learn with."""

    first: Network
    second: Network


def apart(critics: Network) -> Apart:
    """Stacked critics one by one."""
    return Apart(*(jax.tree.map(lambda a, k=k: a[k], critics) for k in range(2)))


def q_values(critics: Network | Apart, states: Array, actions: Array) -> Array:
    """Both critics' values, [2, B]."""
    if isinstance(critics, Apart):
        return jnp.stack([networks.apply(critic, states, actions)[..., 0] for critic in critics])
    return jax.vmap(lambda critic: networks.apply(critic, states, actions)[..., 0])(critics)


def soft_value(
    state: SACState, actor: Network, critics: Network | Apart, situation: Situation, z: Array
) -> tuple[Array, Array]:
    """min_j Q_j(s + w, a) − α·log π(u|o) at u = tanh(mean + std·z), a = clip(u + ν), and log π."""
    wanted, log_density = tanh_sample(networks.apply(actor, situation.seen), z)
    smaller = jnp.min(q_values(critics, situation.true, situation.arriving(wanted)), axis=0)
    return smaller - temperature(state) * log_density, log_density


def critic_loss(critics: Network, batch: Batch, target: Array) -> tuple[Array, Array]:
    """The sum over both critics of their mean squared error, and their mean value."""
    values = q_values(critics, batch.observation, batch.action)
    return jnp.sum(jnp.mean(jnp.square(values - target[None]), axis=1)), jnp.mean(values)


def _critic_step(
    state: SACState, batch: Batch, target: Array, hyper: SACHyper
) -> tuple[SACState, Metrics]:
    (loss, value), grads = jax.value_and_grad(critic_loss, has_aux=True)(
        state.critics, batch, target
    )
    critics, optimizer = adam.step(state.critics, grads, state.critic_optimizer, hyper.critic_lr)
    metrics = {"critic_loss": loss, "value": value}
    return state._replace(critics=critics, critic_optimizer=optimizer), metrics


def _actor_step(
    state: SACState, actor_loss: ActorLoss, hyper: SACHyper
) -> tuple[SACState, Metrics, Array]:
    (loss, log_density), grads = jax.value_and_grad(actor_loss, has_aux=True)(state.actor, state)
    actor, optimizer = adam.step(state.actor, grads, state.actor_optimizer, hyper.actor_lr)
    metrics = {"actor_loss": loss, "entropy": -jnp.mean(log_density)}
    return state._replace(actor=actor, actor_optimizer=optimizer), metrics, log_density


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
