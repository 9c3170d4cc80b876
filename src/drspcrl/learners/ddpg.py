"""Deep deterministic policy gradient (Lillicrap et al. 2016): one critic, target networks, noise.

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
from drspcrl.learners.backup import (
    DrawnValue,
    Faced,
    Robust,
    Situation,
    undisturbed,
)
from drspcrl.learners.dual import Worst
from drspcrl.learners.networks import Network
from drspcrl.learners.probe import Probed, probe
from drspcrl.learners.replay import Batch
from drspcrl.nominal import Uncertainty

Metrics = dict[str, Array]
ActorLoss = Callable[[Network, "DDPGState"], Array]
_ROBUST = 1 << 30  # a key of its own, far from those that `split` gives


class DDPGHyper(NamedTuple):
    """A member's numbers.

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
    """What a member has learned."""

    actor: Network
    critic: Network
    target_actor: Network
    target_critic: Network
    actor_optimizer: adam.State
    critic_optimizer: adam.State
    robust: Any = ()  # `RobustState`, or nothing in a plain learner


@dataclass(frozen=True)
class DDPG:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of all networks.
        actor_every: updates of the critic per update of the actor and the targets.
        robust: how a state is valued against the worst case; None for the plain learner.
    """

    hidden: tuple[int, ...] = (256, 256)
    actor_every: int = 2
    robust: Robust | None = None

    def init(self, key: Array, observation_size: int, action_size: int) -> DDPGState:
        """A new member."""
        actor_key, critic_key = jax.random.split(key)
        actor = networks.uniform(actor_key, (observation_size, *self.hidden, action_size))
        critic = networks.uniform(critic_key, (observation_size + action_size, *self.hidden, 1))
        robust_key = jax.random.fold_in(key, _ROBUST)
        return DDPGState(
            actor=actor,
            critic=critic,
            target_actor=jax.tree.map(jnp.copy, actor),
            target_critic=jax.tree.map(jnp.copy, critic),
            actor_optimizer=adam.init(actor),
            critic_optimizer=adam.init(critic),
            robust=()
            if self.robust is None
            else self.robust.init(robust_key, observation_size, action_size),
        )

    def act(self, state: DDPGState, observations: Array, key: Array, hyper: DDPGHyper) -> Array:
        """Exploring actions for observations [E, O]."""
        actions = self.act_deterministic(state, observations)
        noise = hyper.exploration * jax.random.normal(key, actions.shape)
        return jnp.clip(actions + noise, -1.0, 1.0)

    def act_deterministic(self, state: DDPGState, observations: Array) -> Array:
        """The policy without noise."""
        return policy(state.actor, observations)

    def update(
        self,
        state: DDPGState,
        batch: Batch,
        hyper: DDPGHyper,
        uncertainty: Uncertainty,
        key: Array,
        index: Array,
    ) -> tuple[DDPGState, Metrics]:
        """One step of the critic; at every `actor_every`-th, of the actor and the targets too.

        Args:
            state: the member.
            batch: transitions from its replay.
            hyper: its numbers.
            uncertainty: what it is trained against.
            key: randomness of this update; the plain learner needs none.
            index: number of the update. It is the same for all members of a population, so that
                the actor's step is skipped and not merely thrown away.
        """
        if self.robust is None:
            target = self.critic_target(state, batch, hyper)
            actor_loss = partial(self.actor_loss, batch=batch)
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
        state, metrics = _critic_step(state, batch, target, hyper)
        state, loss = lax.cond(
            index % self.actor_every == 0,
            lambda: _actor_and_targets_step(state, actor_loss, hyper),
            lambda: (state, jnp.full_like(metrics["value"], jnp.nan)),
        )
        return state, {**metrics, "actor_loss": loss}

    def critic_target(self, state: DDPGState, batch: Batch, hyper: DDPGHyper) -> Array:
        """r + γ(1 − d)·U(s') with the target networks, [B]."""
        situation = undisturbed(batch.next_observation)
        value = policy_value(state.target_actor, state.target_critic, situation)
        return bootstrapped(batch, hyper, value)

    def face(
        self, state: DDPGState, batch: Batch, uncertainty: Uncertainty, key: Array
    ) -> tuple[DDPGState, Faced, Worst]:
        """The states of a batch with nominal draws, and the worst case with the target networks.

        Nominal model and dual learn from the batch first.
        """
        assert self.robust is not None
        value = _without_noise(*self.robust.rounded(state.target_actor, state.target_critic))
        known, faced, worst = self.robust.learn(state.robust, value, batch, uncertainty, key)
        return state._replace(robust=known), faced, worst

    def probe(
        self,
        state: DDPGState,
        batch: Batch,
        starts: Array,
        uncertainty: Uncertainty,
        key: Array,
    ) -> Probed:
        """What a curriculum is told; see `drspcrl.learners.probe`."""
        assert self.robust is not None
        value = _without_noise(state.target_actor, state.target_critic)
        return probe(self.robust, state.robust, value, batch, starts, uncertainty, key)

    def actor_loss(self, actor: Network, state: DDPGState, batch: Batch) -> Array:
        """The mean of −V(s) with the learning critic."""
        return -jnp.mean(policy_value(actor, state.critic, undisturbed(batch.observation)))

    def robust_actor_loss(
        self,
        actor: Network,
        state: DDPGState,
        faced: Faced,
        worst: Worst,
        epsilon: Array,
        key: Array,
    ) -> Array:
        """The mean of −U(s) with the learning critic."""
        assert self.robust is not None
        value = _without_noise(actor, state.critic)
        return self.robust.actor_loss(state.robust, value, faced, worst, epsilon, key)[0]


def policy(actor: Network, states: Array) -> Array:
    """tanh of the network's output, [B, A]."""
    return jnp.tanh(networks.apply(actor, states))


def q_value(critic: Network, states: Array, actions: Array) -> Array:
    """The critic's value, [B]."""
    return networks.apply(critic, states, actions)[..., 0]


def policy_value(actor: Network, critic: Network, situation: Situation) -> Array:
    """Q(s + w, clip(π(o) + ν)), [...]."""
    return q_value(critic, situation.true, situation.arriving(policy(actor, situation.seen)))


def bootstrapped(batch: Batch, hyper: DDPGHyper, value: Array) -> Array:
    """r + γ(1 − d)·value, a constant to autodiff, [B]."""
    following = jnp.where(batch.terminated, 0.0, value)
    return lax.stop_gradient(batch.reward + hyper.discount * following)


def critic_loss(critic: Network, batch: Batch, target: Array) -> tuple[Array, Array]:
    """The mean squared error and the mean value."""
    values = q_value(critic, batch.observation, batch.action)
    return jnp.mean(jnp.square(values - target)), jnp.mean(values)


def _without_noise(actor: Network, critic: Network) -> DrawnValue:
    """The policy's value as the backup asks for it: no exploration noise, no entropy."""

    def value(situation: Situation, z: Array) -> tuple[Array, Array]:
        del z
        values = policy_value(actor, critic, situation)
        return values, jnp.zeros_like(values)

    return value


def _actor_and_targets_step(
    state: DDPGState, actor_loss: ActorLoss, hyper: DDPGHyper
) -> tuple[DDPGState, Array]:
    loss, grads = jax.value_and_grad(actor_loss)(state.actor, state)
    actor, optimizer = adam.step(state.actor, grads, state.actor_optimizer, hyper.actor_lr)
    state = state._replace(
        actor=actor,
        actor_optimizer=optimizer,
        target_actor=networks.move_towards(state.target_actor, actor, hyper.tau),
        target_critic=networks.move_towards(state.target_critic, state.critic, hyper.tau),
    )
    return state, loss


def _critic_step(
    state: DDPGState, batch: Batch, target: Array, hyper: DDPGHyper
) -> tuple[DDPGState, Metrics]:
    (loss, value), grads = jax.value_and_grad(critic_loss, has_aux=True)(
        state.critic, batch, target
    )
    critic, optimizer = adam.step(state.critic, grads, state.critic_optimizer, hyper.critic_lr)
    metrics = {"critic_loss": loss, "value": value}
    return state._replace(critic=critic, critic_optimizer=optimizer), metrics
