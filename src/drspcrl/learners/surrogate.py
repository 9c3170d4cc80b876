"""What an update of PPO descends: advantages, and the clipped surrogate with its networks.

Advantages are generalised advantage estimates, also over the traces of a robust value.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import gaussian, networks
from drspcrl.learners.networks import Network


def gae(residuals: Array, ended: Array, discount: Array | float, trace: Array | float) -> Array:
    """Advantages from temporal-difference residuals (Schulman et al. 2016).

        A_t = δ_t + γλ·A_{t+1}, and A_{t+1} = 0 where an episode ended with step t

    Residuals carry their own bootstrap: δ_t = r_t + γ(1 − terminated_t)·V(s_{t+1}) − V(s_t), where
    s_{t+1} is the true successor even where a time limit cut the episode.

    Args:
        residuals: δ, [T, ...].
        ended: whether an episode ended with the step, for whatever reason, [T, ...].
        discount: γ.
        trace: λ.
    """

    def backwards(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        residual, end = now
        advantage = residual + discount * trace * jnp.where(end, 0.0, following)
        return advantage, advantage

    return lax.scan(backwards, jnp.zeros_like(residuals[0]), (residuals, ended), reverse=True)[1]


def worst_case_traces(
    residuals: Array,
    ended: Array,
    discount: Array | float,
    trace: Array | float,
    ratio: Array,
) -> Array:
    """What a robust value lacks, V + Â being its target: traces under the worst-case law.

        Â_t = δ_t + γλ·min(1, q_t/p_t)·Â_{t+1}, and Â_{t+1} = 0 where an episode ended with step t

    Residuals are robust, δ_t = r_t + γ(1 − terminated_t)·worst_case V(x') − V(x_t), but the rollout
    follows the nominal law. q_t/p_t says how much likelier the worst case makes the draw that came
    true; without it (`gae`) each sweep adds what nature would have avoided, and targets diverge.
    At q = p it is `gae`.

    Args:
        residuals: δ, [T, ...].
        ended: whether an episode ended with the step, for whatever reason, [T, ...].
        discount: γ.
        trace: λ.
        ratio: worst-case weight of the realised draw over its nominal one, [T, ...]; a functional
            that is no worst case of a ball may make it negative, which counts as 0.
    """
    kept = jnp.clip(ratio, 0.0, 1.0)

    def backwards(following: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        residual, end, share = now
        missing = residual + discount * trace * jnp.where(end, 0.0, share * following)
        return missing, missing

    start = jnp.zeros_like(residuals[0])
    return lax.scan(backwards, start, (residuals, ended, kept), reverse=True)[1]


def standardise(advantages: Array) -> Array:
    """Mean 0 and standard deviation 1 over the whole batch."""
    centred = advantages - jnp.mean(advantages)
    # With the sample's n − 1, as PyTorch's std.
    variance = jnp.sum(jnp.square(centred)) / (advantages.size - 1)
    return centred / (jnp.sqrt(variance) + 1e-8)


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
