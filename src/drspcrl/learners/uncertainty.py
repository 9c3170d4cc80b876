"""What a learner is trained against: the interface, and the plain learner's answer to it.

A learner is made with one `Uncertainty`, which says what the critic sees beside the state, what a
next state is worth, what the actor ascends and what the signal for a curriculum is:

| object | the world differs | worst case |
|---|---|---|
| `Plain` | not at all | – |
| `drspcrl.worlds.learning.Worlds` | from episode to episode | over worlds, `tilt` |
| `drspcrl.transitions.backup.Transitions` | at every step | over draws of nominal noise, ε |

The numbers in which members of a population differ come as a `Strength` of its own kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from drspcrl.learners.cpu.threefry import normal
from drspcrl.learners.experience import Rollout, SignalInputs, successors
from drspcrl.learners.networks import Network
from drspcrl.learners.normalization import Moments
from drspcrl.learners.replay import Batch

Numbers = dict[str, Array]


class NoisyInputs(NamedTuple):
    """States with the noise that critic and policy meet there.

    Attributes:
        true: where the system is, [..., O]; [..., 1, O] where all draws agree on it.
        seen: what the policy sees of it, [..., O].
        actuator: what is added to its actions, [..., A]; None for nothing.
        world: what the critic sees beside the state, [..., W]; None for nothing.
        sensor: what the policy sees too much, [..., O]; None for `seen` less `true`.
    """

    true: Array
    seen: Array
    actuator: Array | None = None
    world: Array | None = None
    sensor: Array | None = None

    def arriving(self, wanted: Array) -> Array:
        """The actions that arrive where these are wanted, in [−1, 1]."""
        if self.actuator is None:
            return wanted
        return jnp.clip(wanted + self.actuator, -1.0, 1.0)

    @property
    def error(self) -> Array:
        """What the policy sees too much."""
        return self.seen - self.true if self.sensor is None else self.sensor

    def actuator_noise(self, wanted: Array) -> Array:
        """What is added to these actions."""
        return jnp.zeros_like(wanted) if self.actuator is None else self.actuator

    @property
    def critic(self) -> tuple[Array, ...]:
        """What the critic sees beside state and action."""
        return () if self.world is None else (self.world,)


def undisturbed(states: Array) -> NoisyInputs:
    """States as they are, seen as they are, with actions that arrive as they are wanted."""
    return NoisyInputs(states, states)


Value = Callable[[Array], Array]
"""From critic inputs [..., I] to values [...]."""
NoisyValue = Callable[[NoisyInputs, Array], tuple[Array, Array]]
"""From inputs [..., O] and exploration noise z [..., A] to values and log densities [...]."""


class Backup(NamedTuple):
    """What an update of SAC or DDPG learns from.

    Attributes:
        known: what the uncertainty knows now.
        value: of the states after the batch's transitions, [B].
        actor_inputs: what `Uncertainty.actor_loss` looks at.
        log: numbers for the log.
    """

    known: Any
    value: Array
    actor_inputs: Any
    log: Mapping[str, Array] = MappingProxyType({})


class RolloutBackup(NamedTuple):
    """What PPO learns from.

    Attributes:
        critic_input: x_t, [T, E, I].
        bootstrap: what the states after each step are worth, [T, E].
        ratio: how much likelier the worst case makes what came true, [T, E]; None for plain traces.
        weight: of each step in the policy's loss, [T, E]; None for 1.
        detail: the uncertainty's own, for `rollout_signal`.
    """

    critic_input: Array
    bootstrap: Array
    ratio: Array | None = None
    weight: Array | None = None
    detail: Any = None


class SignalOutput(NamedTuple):
    """What a look at the members says: to curricula, to the log; and what is known after it."""

    signal: Numbers
    log: Numbers
    known: Any = ()


class Uncertainty(ABC):
    """What a learner is trained against; states go in and come out."""

    # Whether there is a signal for curricula.
    paced: ClassVar[bool] = True
    # World coordinates that observations carry behind the task's own readings.
    coordinates: int = 0

    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """What it knows before anything was seen."""
        del key, observation_size, action_size
        return ()

    def critic_world(self, world: Array) -> Array:
        """What the critic sees of the world [..., W] that observations carry."""
        return world

    def extra_q_inputs(self, observation_size: int, action_size: int) -> int:
        """What Q sees beside state and action."""
        del observation_size, action_size
        return self.coordinates

    def extra_v_inputs(self, observation_size: int, action_size: int) -> int:
        """What V sees beside the state."""
        del observation_size, action_size
        return self.coordinates

    def rounded(self, *target_networks: Network) -> tuple[Network, ...]:
        """Target networks in the number format in which they value next states."""
        return target_networks

    @abstractmethod
    def noisy_inputs(
        self,
        known: Any,
        observations: Array,
        strength: Any,
        action_size: int,
        key: Array,
        factor: Array | float = 1.0,
    ) -> NoisyInputs:
        """What policies meet in observations [E, ...] of the simulators.

        Args:
            known: what the uncertainty knows.
            observations: of the simulators, with the coordinates of the episodes' worlds behind.
            strength: of the member.
            action_size: numbers in an action.
            key: randomness of the noise.
            factor: multiple of the nominal noise under which experience is gathered.
        """

    @abstractmethod
    def backup(
        self, known: Any, value: NoisyValue, batch: Batch, strength: Any, key: Array
    ) -> Backup:
        """What comes after a batch is worth, `value` being the target networks'."""

    @abstractmethod
    def actor_loss(self, backup: Backup, value: NoisyValue, strength: Any) -> tuple[Array, Array]:
        """What the actor descends, and log densities; `value` has the actor and the critics."""

    def observe_rewards(self, known: Any, rewards: Array) -> Any:
        """What it knows once these rewards of the task were seen; `backup` does so by itself."""
        del rewards
        return known

    def bound(
        self,
        known: Any,
        target: Array,
        strength: Any,
        discount: Any,
        bonus: Any = (0.0, 0.0),
        unit: Array | float = 1.0,
    ) -> Array:
        """Critic targets within what rewards allow.

        Args:
            known: what the uncertainty knows.
            target: [B].
            strength: of the member.
            discount: γ.
            bonus: least and most that a step may bring beside its reward.
            unit: what 1 is in the critic's units, in the task's; the least where it changes.
        """
        del known, strength, discount, bonus, unit
        return target

    @abstractmethod
    def rollout_backup(
        self,
        known: Any,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        strength: Any,
        key: Array,
    ) -> RolloutBackup:
        """What PPO's critic sees in a rollout, and what the next states are worth to it."""

    def signal(
        self,
        known: Any,
        value: NoisyValue,
        mean_value: NoisyValue,
        batch: Batch,
        signal_inputs: SignalInputs,
        strength: Any,
        key: Array,
    ) -> SignalOutput:
        """What SAC and DDPG tell curricula, from transitions of their replay.

        Args:
            known: what the uncertainty knows.
            value: with the target networks, as `backup` has it.
            mean_value: the mean of the target critics, without entropy.
            batch: transitions from the replay, [B, …].
            signal_inputs: start states and probe episodes.
            strength: of the member.
            key: randomness of this look.
        """
        del value, mean_value, batch, signal_inputs, strength, key
        return SignalOutput({}, {}, known)

    def rollout_signal(
        self,
        known: Any,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        backup: RolloutBackup,
        reward_scale: Array,
        strength: Any,
        key: Array,
    ) -> SignalOutput:
        """What PPO tells curricula of a rollout that it has learned from.

        Args:
            known: what the uncertainty knew.
            value: the critic that the targets came from.
            rollout: with normalised rewards.
            moments: by which observations are normalised.
            backup: what `rollout_backup` gave.
            reward_scale: what one normalised reward is in the task's units.
            strength: of the member.
            key: randomness of this update.
        """
        del value, rollout, moments, backup, reward_scale, strength, key
        return SignalOutput({}, {}, known)


class Plain(Uncertainty):
    """The simulator is taken at its word."""

    paced: ClassVar[bool] = False

    def noisy_inputs(
        self,
        known: Any,
        observations: Array,
        strength: Any,
        action_size: int,
        key: Array,
        factor: Array | float = 1.0,
    ) -> NoisyInputs:
        """The observations themselves."""
        del known, strength, action_size, key, factor
        return undisturbed(observations)

    def backup(
        self, known: Any, value: NoisyValue, batch: Batch, strength: Any, key: Array
    ) -> Backup:
        """V(s') with one action; the actor learns where the transitions began."""
        del strength
        target_z, actor_z = normal(key, (2, *batch.action.shape))
        following, _ = value(undisturbed(batch.next_observation), target_z)
        return Backup(known, following, (undisturbed(batch.observation), actor_z))

    def actor_loss(self, backup: Backup, value: NoisyValue, strength: Any) -> tuple[Array, Array]:
        """The mean of −V(s)."""
        del strength
        values, log_density = value(*backup.actor_inputs)
        return -jnp.mean(values), log_density

    def rollout_backup(
        self,
        known: Any,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        strength: Any,
        key: Array,
    ) -> RolloutBackup:
        """V of the true successors, as the policy would see them."""
        del known, strength, key
        x = rollout.observation
        return RolloutBackup(x, value(successors(moments, x, rollout)))
