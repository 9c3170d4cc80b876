"""Proximal policy optimisation (Schulman et al. 2017): clipping, GAE, normalised inputs.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1]; the Gaussian's samples are
clipped to it on their way to the task, and learned from as they were drawn.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import adam, gaussian, networks, normalization
from drspcrl.learners.advantage import gae, standardise
from drspcrl.learners.backup import Backup, plain
from drspcrl.learners.networks import Network
from drspcrl.learners.normalization import CLIP, Moments

Metrics = dict[str, Array]
_ADAM_EPSILON = 1e-5


class PPOHyper(NamedTuple):
    """A member's numbers.

    Attributes:
        discount: γ.
        trace: λ of the advantage estimate.
        learning_rate: at the start; it falls linearly to 0 over the run.
        clip: how far the probability ratio, and the value, may move from where they were.
        value_weight: weight of the value loss.
        entropy_weight: weight of the entropy bonus.
        max_gradient: bound on the gradient's norm.
    """

    discount: Array | float = 0.99
    trace: Array | float = 0.95
    learning_rate: Array | float = 3e-4
    clip: Array | float = 0.2
    value_weight: Array | float = 0.5
    entropy_weight: Array | float = 0.0
    max_gradient: Array | float = 0.5


class Parameters(NamedTuple):
    """What the gradient moves."""

    actor: Network
    log_std: Array
    critic: Network


class PPOState(NamedTuple):
    """What a member has learned and seen; `returns` [E] are the running discounted returns."""

    parameters: Parameters
    optimizer: adam.State
    observations: Moments
    rewards: Moments
    returns: Array


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
    """

    observation: Array
    action: Array
    log_density: Array
    final_observation: Array
    reward: Array
    terminated: Array
    ended: Array


class Lesson(NamedTuple):
    """What an update learns from, [n, ...] each."""

    observation: Array
    action: Array
    log_density: Array
    value: Array
    advantage: Array
    target: Array


@dataclass(frozen=True)
class PPO:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of both networks.
        epochs: passes over a rollout.
        minibatches: parts of each pass.
        backup: what a next state is worth, given its plain value.
    """

    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 10
    minibatches: int = 32
    backup: Backup = plain

    def init(self, key: Array, observation_size: int, action_size: int, envs: int) -> PPOState:
        """A new member that acts in `envs` environments."""
        actor_key, critic_key = jax.random.split(key)
        actor_sizes = (observation_size, *self.hidden, action_size)
        critic_sizes = (observation_size, *self.hidden, 1)
        parameters = Parameters(
            actor=networks.orthogonal(actor_key, actor_sizes, last_gain=0.01),
            log_std=jnp.zeros(action_size),
            critic=networks.orthogonal(critic_key, critic_sizes, last_gain=1.0),
        )
        return PPOState(
            parameters=parameters,
            optimizer=adam.init(parameters),
            observations=normalization.init((observation_size,)),
            rewards=normalization.init(),
            returns=jnp.zeros(envs),
        )

    def act(
        self, state: PPOState, observations: Array, key: Array
    ) -> tuple[PPOState, tuple[Array, Array, Array]]:
        """Exploring actions for observations [E, O], which enter the statistics first.

        Returns:
            The state with new statistics, and (normalised observations, actions, log densities).
        """
        moments = normalization.include(state.observations, observations)
        x = normalization.standardise(moments, observations)
        mean, log_std = policy(state.parameters, x)
        action = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        drawn = (x, action, gaussian.log_density(action, mean, log_std))
        return state._replace(observations=moments), drawn

    def act_deterministic(self, state: PPOState, observations: Array) -> Array:
        """The policy's mean, clipped."""
        x = normalization.standardise(state.observations, observations)
        return jnp.clip(policy(state.parameters, x)[0], -1.0, 1.0)

    def update(
        self, state: PPOState, rollout: Rollout, hyper: PPOHyper, key: Array, progress: Array
    ) -> tuple[PPOState, Metrics]:
        """Learn from one rollout.

        Args:
            state: the member.
            rollout: what it did since the last update.
            hyper: its numbers.
            key: randomness of this update.
            progress: share of the run that is over, for the learning rate.
        """
        state, rewards = normalise_rewards(state, rollout, hyper.discount)
        lesson = self.lesson(state, rollout._replace(reward=rewards), hyper)
        rate = hyper.learning_rate * (1.0 - progress)

        def epoch(carry: tuple, epoch_key: Array) -> tuple[tuple, Metrics]:
            return lax.scan(
                lambda c, part: self._minibatch_step(c, part, hyper, rate),
                carry,
                _shuffled(lesson, epoch_key, self.minibatches),
            )

        keys = jax.random.split(key, self.epochs)
        carry, metrics = lax.scan(epoch, (state.parameters, state.optimizer), keys)
        metrics = jax.tree.map(jnp.mean, metrics) | {"value": jnp.mean(lesson.value)}
        return state._replace(parameters=carry[0], optimizer=carry[1]), metrics

    def lesson(self, state: PPOState, rollout: Rollout, hyper: PPOHyper) -> Lesson:
        """Advantages and value targets, flattened to [T·E, ...]."""

        def value(x: Array) -> Array:
            return state_value(state.parameters.critic, x)

        values = value(rollout.observation)
        bootstrap = self.backup(value, successors(state.observations, rollout))
        bootstrap = jnp.where(rollout.terminated, 0.0, bootstrap)
        residuals = rollout.reward + hyper.discount * bootstrap - values
        advantages = gae(residuals, rollout.ended, hyper.discount, hyper.trace)
        lesson = Lesson(
            observation=rollout.observation,
            action=rollout.action,
            log_density=rollout.log_density,
            value=values,
            advantage=advantages,
            target=advantages + values,
        )
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), lesson)

    def _minibatch_step(
        self, carry: tuple, part: Lesson, hyper: PPOHyper, rate: Array
    ) -> tuple[tuple, Metrics]:
        parameters, optimizer = carry
        grads, metrics = jax.grad(loss, has_aux=True)(parameters, part, hyper)
        grads = adam.clip_by_norm(grads, hyper.max_gradient)
        return adam.step(parameters, grads, optimizer, rate, _ADAM_EPSILON), metrics


def policy(parameters: Parameters, x: Array) -> tuple[Array, Array]:
    """Mean and log std of the actions at normalised observations [..., O]."""
    mean = networks.apply(parameters.actor, x, jnp.tanh)
    return mean, jnp.broadcast_to(parameters.log_std, mean.shape)


def state_value(critic: Network, x: Array) -> Array:
    """V at normalised observations [..., O]."""
    return networks.apply(critic, x, jnp.tanh)[..., 0]


def normalise_rewards(
    state: PPOState, rollout: Rollout, discount: Array | float
) -> tuple[PPOState, Array]:
    """Rewards divided by the running std of the discounted return, clipped, step by step."""

    def step(carry: tuple[Array, Moments], now: tuple[Array, Array]):
        returns, moments = carry
        reward, ended = now
        returns = returns * discount + reward
        moments = normalization.include(moments, returns)
        scaled = jnp.clip(reward / normalization.scale(moments), -CLIP, CLIP)
        return (jnp.where(ended, 0.0, returns), moments), scaled

    (returns, moments), rewards = lax.scan(
        step, (state.returns, state.rewards), (rollout.reward, rollout.ended)
    )
    return state._replace(returns=returns, rewards=moments), rewards


def successors(moments: Moments, rollout: Rollout) -> Array:
    """The normalised observation after each step, [T, E, O].

    Within an episode it is the next one as the policy saw it; where an episode or the rollout ends,
    the true successor is normalised now.
    """
    final = jax.vmap(lambda x: normalization.standardise(moments, x))(rollout.final_observation)
    following = jnp.concatenate([rollout.observation[1:], final[-1:]])
    return jnp.where(rollout.ended[..., None], final, following)


def loss(parameters: Parameters, part: Lesson, hyper: PPOHyper) -> tuple[Array, Metrics]:
    """The clipped surrogate, the clipped value loss and the entropy bonus."""
    mean, log_std = policy(parameters, part.observation)
    ratio = jnp.exp(gaussian.log_density(part.action, mean, log_std) - part.log_density)
    clipped = jnp.clip(ratio, 1.0 - hyper.clip, 1.0 + hyper.clip)
    advantage = standardise(part.advantage)
    actor_loss = -jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))
    critic_loss = value_loss(parameters.critic, part, hyper.clip)
    entropy = gaussian.entropy(parameters.log_std)
    total = actor_loss + hyper.value_weight * critic_loss - hyper.entropy_weight * entropy
    metrics = {
        "actor_loss": actor_loss,
        "critic_loss": critic_loss,
        "entropy": entropy,
        "ratio_clipped": jnp.mean((jnp.abs(ratio - 1.0) > hyper.clip).astype(ratio.dtype)),
        "approximate_kl": jnp.mean(ratio - 1.0 - jnp.log(ratio)),
    }
    return total, metrics


def value_loss(critic: Network, part: Lesson, clip: Array | float) -> Array:
    """Half the squared error of the value, or of it clipped near its old one if that is worse."""
    value = state_value(critic, part.observation)
    near = part.value + jnp.clip(value - part.value, -clip, clip)
    worse = jnp.maximum(jnp.square(value - part.target), jnp.square(near - part.target))
    return 0.5 * jnp.mean(worse)


def _shuffled(lesson: Lesson, key: Array, minibatches: int) -> Lesson:
    order = jax.random.permutation(key, lesson.value.shape[0])
    return jax.tree.map(lambda a: a[order].reshape(minibatches, -1, *a.shape[1:]), lesson)
