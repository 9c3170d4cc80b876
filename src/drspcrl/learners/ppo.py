"""Proximal policy optimisation (Schulman et al. 2017): clipping, GAE, normalised inputs.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1]; the Gaussian's samples are
clipped to it on their way to the task, and learned from as they were drawn.

The uncertainty says what rollouts carry, what the critic sees beside the policy's observation, and
what the states after each step are worth.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from drspcrl.config.learners import PPOSettings
from drspcrl.learners import adam, gaussian, networks, normalization
from drspcrl.learners.actor_critic import known_at_first
from drspcrl.learners.base import network_policy
from drspcrl.learners.experience import ActOutput, Privileged, Rollout
from drspcrl.learners.networks import Network
from drspcrl.learners.normalization import CLIP, Moments
from drspcrl.learners.surrogate import (
    Metrics,
    Parameters,
    PPOHyper,
    TrainingBatch,
    gae,
    loss,
    policy,
    shuffled,
    state_value,
    worst_case_traces,
)
from drspcrl.learners.uncertainty import Plain, RolloutBackup, Uncertainty, Value
from drspcrl.policy import Policy

_ADAM_EPSILON = 1e-5
_NOISE = (1 << 30) + 1  # a use of a key beside the plain learner's, far from what `split` makes


class PPOState(NamedTuple):
    """What a member has learned and seen.

    Attributes:
        parameters: of both networks.
        optimizer: Adam's.
        observations: statistics of what the policy saw, sensor noise included.
        rewards: statistics of the discounted return.
        returns: the running discounted returns, [E].
        robust: what the uncertainty knows.
    """

    parameters: Parameters
    optimizer: adam.State
    observations: Moments
    rewards: Moments
    returns: Array
    robust: Any = ()


@dataclass(frozen=True)
class PPO:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of both networks.
        epochs: passes over a rollout.
        minibatches: parts of each pass.
        uncertainty: what is trained against.
    """

    Settings: ClassVar[type[PPOSettings]] = PPOSettings
    Hyper: ClassVar[type] = PPOHyper
    loop: ClassVar[str] = "on_policy"

    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 10
    minibatches: int = 32
    uncertainty: Uncertainty = field(default_factory=Plain)

    @classmethod
    def of(cls, settings: PPOSettings, uncertainty: Uncertainty) -> "PPO":
        """See `drspcrl.learners.base`."""
        return cls(settings.hidden, settings.epochs, settings.minibatches, uncertainty)

    def init(self, key: Array, observation_size: int, action_size: int, envs: int) -> PPOState:
        """A new member that acts in `envs` environments."""
        actor_key, critic_key = jax.random.split(key)
        actor_sizes = (observation_size, *self.hidden, action_size)
        parameters = Parameters(
            actor=networks.orthogonal(actor_key, actor_sizes, last_gain=0.01),
            log_std=jnp.zeros(action_size),
            critic=self._critic(critic_key, observation_size, action_size),
        )
        return PPOState(
            parameters=parameters,
            optimizer=adam.init(parameters),
            observations=normalization.init((observation_size,)),
            rewards=normalization.init(),
            returns=jnp.zeros(envs),
            robust=known_at_first(self.uncertainty, key, observation_size, action_size),
        )

    def act(
        self, state: PPOState, observations: Array, strength: Any, key: Array
    ) -> tuple[PPOState, ActOutput]:
        """Exploring actions in states [E, O]; what the policy sees enters the statistics first.

        Returns:
            The state with new statistics, and what was drawn; `applied` makes the task's actions
            of it.
        """
        actions = state.parameters.log_std.shape[-1]
        # A key of its own, so that exploration is that of the plain learner.
        noise_key = jax.random.fold_in(key, _NOISE)
        inputs = self.uncertainty.noisy_inputs(
            state.robust, observations, strength, actions, noise_key
        )
        moments = normalization.include(state.observations, inputs.seen)
        x = normalization.standardise(moments, inputs.seen)
        mean, log_std = policy(state.parameters, x)
        action = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        privileged = None
        if self.uncertainty.extra_v_inputs(x.shape[-1], actions):
            privileged = Privileged(
                state=inputs.true,
                standard=normalization.standardise(moments, inputs.true),
                sensor=inputs.error,
                actuator=inputs.actuator_noise(mean),
                world=inputs.world,
            )
        drawn = ActOutput(x, action, gaussian.log_density(action, mean, log_std), privileged)
        return state._replace(observations=moments), drawn

    def act_deterministic(self, state: PPOState, observations: Array) -> Array:
        """The policy's mean, clipped."""
        x = normalization.standardise(state.observations, observations)
        return jnp.clip(policy(state.parameters, x)[0], -1.0, 1.0)

    def policy_parts(self, state: PPOState) -> tuple[Parameters, Moments]:
        """Both networks, and what observations are normalised by."""
        return state.parameters, state.observations

    def policy(
        self,
        parts: tuple[Parameters, Moments],
        settings: PPOSettings,
        low: np.ndarray,
        high: np.ndarray,
    ) -> Policy:
        """A Gaussian around the network's output, of normalised observations."""
        del settings
        parameters, moments = parts
        return network_policy(
            *("gaussian", "tanh", parameters.actor, low, high),
            noise_log_std=np.asarray(parameters.log_std),
            observation_mean=np.asarray(moments.mean),
            observation_scale=np.asarray(normalization.scale(moments)),
            observation_clip=CLIP,
        )

    def update(
        self,
        state: PPOState,
        rollout: Rollout,
        hyper: PPOHyper,
        strength: Any,
        key: Array,
        progress: Array,
    ) -> tuple[PPOState, Metrics, Metrics]:
        """Learn from one rollout.

        Args:
            state: the member.
            rollout: what it did since the last update.
            hyper: its numbers.
            strength: how strong the uncertainty is for it, and was when it acted.
            key: randomness of this update.
            progress: share of the run that is over, for the learning rate.

        Returns:
            The member, metrics, and the signal for its curriculum (none from a plain learner), of
            the critic that the targets came from.
        """
        known = self.uncertainty.observe_rewards(state.robust, rollout.reward)
        state, rewards, unit = normalise_rewards(state, rollout, hyper.discount)
        state, rollout = state._replace(robust=known), rollout._replace(reward=rewards)
        backup = self.rollout_backup(state, rollout, strength, key)
        batch = self.training_batch(state, rollout, hyper, backup)
        batch = self.bounded(known, batch, hyper, strength, unit)
        rate = hyper.learning_rate * (1.0 - progress)

        def epoch(carry: tuple, epoch_key: Array) -> tuple[tuple, Metrics]:
            return lax.scan(
                lambda c, part: self._minibatch_step(c, part, hyper, rate),
                carry,
                shuffled(batch, epoch_key, self.minibatches),
            )

        keys = jax.random.split(key, self.epochs)
        carry, metrics = lax.scan(epoch, (state.parameters, state.optimizer), keys)
        metrics = jax.tree.map(jnp.mean, metrics) | {"value": jnp.mean(batch.value)}
        output = self.uncertainty.rollout_signal(
            *(state.robust, value_of(state), rollout, state.observations, backup),
            *(normalization.scale(state.rewards), strength, key),
        )
        state = state._replace(parameters=carry[0], optimizer=carry[1], robust=output.known)
        return state, metrics | output.log, output.signal

    def rollout_backup(
        self, state: PPOState, rollout: Rollout, strength: Any, key: Array
    ) -> RolloutBackup:
        """What the critic sees in the rollout, and what its next states are worth."""
        moments, known = state.observations, state.robust
        value = value_of(state)
        return self.uncertainty.rollout_backup(known, value, rollout, moments, strength, key)

    def training_batch(
        self, state: PPOState, rollout: Rollout, hyper: PPOHyper, backup: RolloutBackup
    ) -> TrainingBatch:
        """Advantages and value targets, flattened to [T·E, ...].

        Robust targets follow the worst case, `worst_case_traces`. The policy's advantages are plain
        GAE over the robust residuals: nothing is bootstrapped from them, and where the worst case
        is sharp, weighted traces would be cut after a step or two.
        """
        γ, λ, x = hyper.discount, hyper.trace, backup.critic_input
        values = state_value(state.parameters.critic, x)
        bootstrap = jnp.where(rollout.terminated, 0.0, backup.bootstrap)
        residuals = rollout.reward + γ * bootstrap - values
        advantages = missing = gae(residuals, rollout.ended, γ, λ)
        if backup.ratio is not None:
            missing = worst_case_traces(residuals, rollout.ended, γ, λ, backup.ratio)
        batch = TrainingBatch(
            observation=rollout.observation,
            action=rollout.action,
            log_density=rollout.log_density,
            value=values,
            advantage=advantages,
            target=missing + values,
            critic_input=None if x is rollout.observation else x,
            weight=backup.weight,
        )
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), batch)

    def bounded(
        self, known: Any, batch: TrainingBatch, hyper: PPOHyper, strength: Any, unit: Array
    ) -> TrainingBatch:
        """The batch with targets that the rewards seen allow, `unit` as `Uncertainty.bound` says.

        Advantages keep their residuals: nothing is bootstrapped from them.
        """
        target = self.uncertainty.bound(known, batch.target, strength, hyper.discount, unit=unit)
        return batch._replace(target=target)

    def _critic(self, key: Array, observation_size: int, action_size: int) -> Network:
        critic = networks.orthogonal(key, (observation_size, *self.hidden, 1), last_gain=1.0)
        extra = self.uncertainty.extra_v_inputs(observation_size, action_size)
        return networks.widen(critic, extra)

    def _minibatch_step(
        self, carry: tuple, part: TrainingBatch, hyper: PPOHyper, rate: Array
    ) -> tuple[tuple, Metrics]:
        parameters, optimizer = carry
        grads, metrics = jax.grad(loss, has_aux=True)(parameters, part, hyper)
        grads = adam.clip_by_norm(grads, hyper.max_gradient)
        return adam.step(parameters, grads, optimizer, rate, _ADAM_EPSILON), metrics


def normalise_rewards(
    state: PPOState, rollout: Rollout, discount: Array | float
) -> tuple[PPOState, Array, Array]:
    """Rewards divided by the running std of the discounted return, clipped, step by step.

    Returns:
        The state with new statistics, the rewards, and the least that they were divided by.
    """

    def step(carry: tuple[Array, Moments], now: tuple[Array, Array]):
        returns, moments = carry
        reward, ended = now
        returns = returns * discount + reward
        moments = normalization.include(moments, returns)
        unit = normalization.scale(moments)
        scaled = jnp.clip(reward / unit, -CLIP, CLIP)
        return (jnp.where(ended, 0.0, returns), moments), (scaled, unit)

    (returns, moments), (rewards, units) = lax.scan(
        step, (state.returns, state.rewards), (rollout.reward, rollout.ended)
    )
    return state._replace(returns=returns, rewards=moments), rewards, jnp.min(units)


def value_of(state: PPOState) -> Value:
    """V by the present critic, of its inputs [..., I]."""
    return lambda x: state_value(state.parameters.critic, x)
