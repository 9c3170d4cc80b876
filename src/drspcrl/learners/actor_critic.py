"""What SAC, DDPG and TD3 share: learning off policy from a replay, against any uncertainty.

value of s'      by the uncertainty: V itself, in the transition's world, or its worst case
critics          mean squared error to r + γ(1 − d)·value
actor            ascends the same value with the learning critics
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import networks
from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import Backup, SignalOutput, Uncertainty

Metrics = dict[str, Array]
_UNCERTAINTY = 1 << 30  # a key of its own, far from those that `split` gives


class Hyper(Protocol):
    """A member's numbers."""

    @property
    def discount(self) -> Any:
        """γ."""
        ...


class OffPolicyLearner(Protocol):
    """What the training loop asks of SAC, DDPG and TD3."""

    @property
    def uncertainty(self) -> Uncertainty:
        """What it is trained against."""
        ...

    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """A new member."""
        ...

    def act(self, state: Any, observations: Array, key: Array, hyper: Any) -> Array:
        """Exploring actions for observations [E, O]."""
        ...

    def act_deterministic(self, state: Any, observations: Array) -> Array:
        """The actions that it is evaluated by."""
        ...

    def update(
        self, state: Any, batch: Batch, hyper: Any, strength: Any, key: Array, index: Array
    ) -> tuple[Any, Metrics]:
        """One gradient step of everything."""
        ...

    def signal(
        self, state: Any, batch: Batch, signal_inputs: SignalInputs, strength: Any, key: Array
    ) -> SignalOutput:
        """The signal for curricula."""
        ...


def known_at_first(
    uncertainty: Uncertainty, key: Array, observation_size: int, action_size: int
) -> Any:
    """What the uncertainty of a new member knows."""
    own_key = jax.random.fold_in(key, _UNCERTAINTY)
    return uncertainty.init(own_key, observation_size, action_size)


def make_critic(
    uncertainty: Uncertainty,
    key: Array,
    observation_size: int,
    action_size: int,
    hidden: tuple[int, ...],
) -> Network:
    """Q of state, action and whatever else the uncertainty shows it."""
    critic = networks.uniform(key, (observation_size + action_size, *hidden, 1))
    return networks.widen(critic, uncertainty.extra_q_inputs(observation_size, action_size))


def make_twin_critics(
    uncertainty: Uncertainty,
    keys: Sequence[Array],
    observation_size: int,
    action_size: int,
    hidden: tuple[int, ...],
) -> Network:
    """Two critics, stacked."""
    sizes = observation_size, action_size
    return jax.vmap(lambda key: make_critic(uncertainty, key, *sizes, hidden))(jnp.stack(keys))


class Unstacked(NamedTuple):
    """Two critics that are not stacked: quicker to ask on a CPU, slower to learn with."""

    first: Network
    second: Network


def unstack(critics: Network) -> Unstacked:
    """Stacked critics one by one."""
    return Unstacked(*(jax.tree.map(lambda a, k=k: a[k], critics) for k in range(2)))


def q_values(critics: Network | Unstacked, *inputs: Array) -> Array:
    """Both critics' values of states, actions and what else they see, [2, B]."""
    if isinstance(critics, Unstacked):
        return jnp.stack([networks.apply(critic, *inputs)[..., 0] for critic in critics])
    return jax.vmap(lambda critic: networks.apply(critic, *inputs)[..., 0])(critics)


def twin_loss(critics: Network, seen: tuple[Array, ...], target: Array) -> tuple[Array, Array]:
    """The sum over both critics of their mean squared error, and their mean value."""
    values = q_values(critics, *seen)
    return jnp.sum(jnp.mean(jnp.square(values - target[None]), axis=1)), jnp.mean(values)


def critic_target(
    uncertainty: Uncertainty,
    backup: Backup,
    batch: Batch,
    hyper: Hyper,
    strength: Any,
    bonus: Any = (0.0, 0.0),
) -> Array:
    """r + γ(1 − d)·value, a constant to autodiff, [B].

    Args:
        uncertainty: what is trained against.
        backup: its value of the next states.
        batch: transitions.
        hyper: the member's numbers.
        strength: of the member.
        bonus: least and most that a step may bring beside its reward.
    """
    following = jnp.where(batch.terminated, 0.0, backup.value)
    target = batch.reward + hyper.discount * following
    target = uncertainty.bound(backup.known, target, strength, hyper.discount, bonus)
    return lax.stop_gradient(target)


def seen_by_critic(uncertainty: Uncertainty, batch: Batch) -> tuple[Array, ...]:
    """Inputs of Q in the batch: states, actions, worlds."""
    if not uncertainty.coordinates:
        return batch.observation, batch.action
    state, world = split_world(batch.observation, uncertainty.coordinates)
    return state, batch.action, uncertainty.critic_world(world)


def split_world(observations: Array, coordinates: int) -> tuple[Array, Array]:
    """The task's readings, and the world behind them."""
    return observations[..., :-coordinates], observations[..., -coordinates:]
