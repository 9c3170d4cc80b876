"""What an update of PPO descends: the clipped surrogate, with the networks that it moves."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.learners import gaussian, networks
from drspcrl.learners.advantage import standardise
from drspcrl.learners.networks import Network

Metrics = dict[str, Array]


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


class TrainingBatch(NamedTuple):
    """What an update learns from, [n, ...] each.

    `critic_input` is there where the critic sees more than the policy, `weight` where steps count
    differently in the policy's loss.
    """

    observation: Array
    action: Array
    log_density: Array
    value: Array
    advantage: Array
    target: Array
    critic_input: Array | None = None
    weight: Array | None = None


def policy(parameters: Parameters, x: Array) -> tuple[Array, Array]:
    """Mean and log std of the actions at normalised observations [..., O]."""
    mean = networks.apply(parameters.actor, x, activation=jnp.tanh)
    return mean, jnp.broadcast_to(parameters.log_std, mean.shape)


def state_value(critic: Network, x: Array) -> Array:
    """V at normalised observations [..., O]."""
    return networks.apply(critic, x, activation=jnp.tanh)[..., 0]


def loss(parameters: Parameters, part: TrainingBatch, hyper: PPOHyper) -> tuple[Array, Metrics]:
    """The clipped surrogate, the clipped value loss and the entropy bonus."""
    mean, log_std = policy(parameters, part.observation)
    ratio = jnp.exp(gaussian.log_density(part.action, mean, log_std) - part.log_density)
    clipped = jnp.clip(ratio, 1.0 - hyper.clip, 1.0 + hyper.clip)
    advantage = standardise(part.advantage)
    gain = jnp.minimum(ratio * advantage, clipped * advantage)
    actor_loss = -jnp.mean(gain if part.weight is None else part.weight * gain)
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


def value_loss(critic: Network, part: TrainingBatch, clip: Array | float) -> Array:
    """Half the squared error of the value, or of it clipped near its old one if that is worse."""
    value = state_value(
        critic, part.observation if part.critic_input is None else part.critic_input
    )
    near = part.value + jnp.clip(value - part.value, -clip, clip)
    worse = jnp.maximum(jnp.square(value - part.target), jnp.square(near - part.target))
    return 0.5 * jnp.mean(worse)


def shuffled(batch: TrainingBatch, key: Array, minibatches: int) -> TrainingBatch:
    """The batch in another order, in parts [minibatches, n / minibatches, ...]."""
    order = jax.random.permutation(key, batch.value.shape[0])
    return jax.tree.map(lambda a: a[order].reshape(minibatches, -1, *a.shape[1:]), batch)
