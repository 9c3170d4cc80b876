"""Twin delayed deterministic policy gradient (Fujimoto et al. 2018): DDPG with three changes.

Twin critics, whose minimum is the target; noise on the target policy's actions, which smooths the
target over similar actions; and a delay of the actor and the targets behind the critics. Numbers
and state of a member are DDPG's, with two critics stacked.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from drspcrl.config.learners import TD3Settings
from drspcrl.learners import actor_critic, ddpg, networks
from drspcrl.learners.actor_critic import Metrics, Unstacked, unstack
from drspcrl.learners.ddpg import DDPGHyper, DDPGState, DeterministicActor
from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import Backup, NoisyInputs, Plain, SignalOutput, Uncertainty


@dataclass(frozen=True)
class TD3(DeterministicActor):
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of all networks.
        actor_every: updates of the critics per update of the actor and the targets.
        policy_noise: σ, the standard deviation of the noise on the target policy's actions.
        noise_clip: c, the most that this noise may be.
        uncertainty: what is trained against.
    """

    Settings: ClassVar[type[TD3Settings]] = TD3Settings

    hidden: tuple[int, ...] = (256, 256)
    actor_every: int = 2
    policy_noise: float = 0.2
    noise_clip: float = 0.5
    uncertainty: Uncertainty = field(default_factory=Plain)

    @classmethod
    def of(cls, settings: TD3Settings, uncertainty: Uncertainty) -> "TD3":
        """See `drspcrl.learners.base`."""
        s = settings
        return cls(s.hidden, s.actor_every, s.policy_noise, s.noise_clip, uncertainty)

    def init(self, key: Array, observation_size: int, action_size: int) -> DDPGState:
        """A new member."""
        actor_key, *critic_keys = jax.random.split(key, 3)
        form, sizes = self.uncertainty, (observation_size, action_size)
        actor = networks.uniform(actor_key, (observation_size, *self.hidden, action_size))
        critics = actor_critic.make_twin_critics(form, critic_keys, *sizes, self.hidden)
        return ddpg.new_state(actor, critics, actor_critic.known_at_first(form, key, *sizes))

    def update(
        self,
        state: DDPGState,
        batch: Batch,
        hyper: DDPGHyper,
        strength: Any,
        key: Array,
        index: Array,
    ) -> tuple[DDPGState, Metrics]:
        """A step of the critics, and where it is due of actor and targets; see `DDPG.update`."""
        backup = self.backup(state, batch, strength, key)
        target = actor_critic.critic_target(self.uncertainty, backup, batch, hyper, strength)
        seen, loss = actor_critic.seen_by_critic(self.uncertainty, batch), actor_critic.twin_loss
        state, metrics = ddpg.critic_step(loss, state, seen, target, hyper)
        actor_loss = partial(self.actor_loss, state=state, backup=backup, strength=strength)
        due = index % self.actor_every == 0
        state, metrics = ddpg.delayed_step(due, actor_loss, state, metrics, hyper)
        return state._replace(robust=backup.known), {**metrics, **backup.log}

    def backup(self, state: DDPGState, batch: Batch, strength: Any, key: Array) -> Backup:
        """What comes after the batch is worth, by the lesser of the target critics."""
        nets = self.uncertainty.rounded(state.target_actor, *unstack(state.target_critic))
        value = partial(self.smoothed_value, jnp.min, nets[0], Unstacked(*nets[1:]))
        return self.uncertainty.backup(state.robust, value, batch, strength, key)

    def signal(
        self, state: DDPGState, batch: Batch, signal_inputs: SignalInputs, strength: Any, key: Array
    ) -> SignalOutput:
        """The signal for curricula."""
        targets = state.target_actor, state.target_critic
        value, mean = (partial(self.smoothed_value, by, *targets) for by in (jnp.min, jnp.mean))
        return self.uncertainty.signal(
            state.robust, value, mean, batch, signal_inputs, strength, key
        )

    def actor_loss(self, actor: Network, state: DDPGState, backup: Backup, strength: Any) -> Array:
        """The mean of −U(s) with the first learning critic, without the noise."""
        value = partial(ddpg.policy_value, actor, unstack(state.critic).first)
        return self.uncertainty.actor_loss(backup, value, strength)[0]

    def smoothed_value(
        self,
        reduce: Callable,
        actor: Network,
        critics: Network | Unstacked,
        at: NoisyInputs,
        z: Array,
    ) -> tuple[Array, Array]:
        """min_j Q_j(s, clip(a + ν)) or the mean, [...], at a = clip(π(o) + clip(σ·z, ±c))."""
        noise = jnp.clip(self.policy_noise * z, -self.noise_clip, self.noise_clip)
        wanted = jnp.clip(ddpg.policy(actor, at.seen) + noise, -1.0, 1.0)
        values = actor_critic.q_values(critics, at.true, at.arriving(wanted), *at.critic)
        return reduce(values, axis=0), jnp.zeros(values.shape[1:], values.dtype)
