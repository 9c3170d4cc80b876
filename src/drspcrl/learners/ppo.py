"""Proximal policy optimisation (Schulman et al. 2017): clipping, GAE, normalised inputs.

One member; `jax.vmap` makes a population of it. Actions lie in [−1, 1]; the Gaussian's samples are
clipped to it on their way to the task, and learned from as they were drawn.

Under a nominal model it is robust PPO: rollouts carry the nominal noise, the critic also sees what
came true of it (`drspcrl.learners.privileged`), and a next state is worth its worst case
(`drspcrl.learners.outlook`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.learners import adam, gaussian, networks, normalization
from drspcrl.learners.advantage import gae, worst_case_traces
from drspcrl.learners.backup import Robust, RobustState
from drspcrl.learners.experience import Drawn, Rollout, applied, successors
from drspcrl.learners.networks import Network
from drspcrl.learners.normalization import CLIP, Moments
from drspcrl.learners.outlook import Outlook, outlook, start_value
from drspcrl.learners.privileged import Privileged, Scene, critic_network
from drspcrl.learners.signals import dual_gap, metrics_of, signal_of
from drspcrl.learners.surrogate import (
    Lesson,
    Metrics,
    Parameters,
    PPOHyper,
    loss,
    policy,
    shuffled,
    state_value,
)
from drspcrl.nominal import Transition, Uncertainty

_ADAM_EPSILON = 1e-5
# Uses of a key beside the plain learner's, far from what `split` makes of the same key.
_ROBUST, _NOISE, _DRAWS, _SIGNAL = range(1 << 30, (1 << 30) + 4)


class PPOState(NamedTuple):
    """What a member has learned and seen.

    Attributes:
        parameters: of both networks.
        optimizer: Adam's.
        observations: statistics of what the policy saw, sensor noise included.
        rewards: statistics of the discounted return.
        returns: the running discounted returns, [E].
        robust: what the nominal model and the dual know; none for a plain learner.
    """

    parameters: Parameters
    optimizer: adam.State
    observations: Moments
    rewards: Moments
    returns: Array
    robust: Any = ()  # `RobustState`, or nothing in a plain learner


@dataclass(frozen=True)
class PPO:
    """The learner's fixed choices.

    Attributes:
        hidden: sizes of the hidden layers of both networks.
        epochs: passes over a rollout.
        minibatches: parts of each pass.
        robust: the worst case that is learned against; without one it is plain PPO.
    """

    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 10
    minibatches: int = 32
    robust: Robust | None = None

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
            robust=self._robust(jax.random.fold_in(key, _ROBUST), observation_size, action_size),
        )

    def act(
        self, state: PPOState, observations: Array, uncertainty: Uncertainty, key: Array
    ) -> tuple[PPOState, Drawn]:
        """Exploring actions in states [E, O]; what the policy sees enters the statistics first.

        Returns:
            The state with new statistics, and what was drawn; `applied` makes the task's actions
            of it.
        """
        noise = self._noise(state, observations, uncertainty, key)
        seen = observations if noise is None else observations + noise[0]
        moments = normalization.include(state.observations, seen)
        x = normalization.standardise(moments, seen)
        mean, log_std = policy(state.parameters, x)
        action = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        privileged = None
        if noise is not None:
            standard = normalization.standardise(moments, observations)
            privileged = Privileged(observations, standard, *noise)
        drawn = Drawn(x, action, gaussian.log_density(action, mean, log_std), privileged)
        return state._replace(observations=moments), drawn

    def act_deterministic(self, state: PPOState, observations: Array) -> Array:
        """The policy's mean, clipped."""
        x = normalization.standardise(state.observations, observations)
        return jnp.clip(policy(state.parameters, x)[0], -1.0, 1.0)

    def update(
        self,
        state: PPOState,
        rollout: Rollout,
        hyper: PPOHyper,
        uncertainty: Uncertainty,
        key: Array,
        progress: Array,
    ) -> tuple[PPOState, Metrics, Metrics]:
        """Learn from one rollout.

        Args:
            state: the member.
            rollout: what it did since the last update.
            hyper: its numbers.
            uncertainty: what it is trained against, and was when it acted.
            key: randomness of this update.
            progress: share of the run that is over, for the learning rate.

        Returns:
            The member, metrics, and the signal for its curriculum (none from a plain learner), of
            the critic that the targets came from.
        """
        state, rewards = normalise_rewards(state, rollout, hyper.discount)
        rollout = rollout._replace(reward=rewards)
        ahead = self.outlook(state, rollout, uncertainty, key)
        lesson = self.lesson(state, rollout, hyper, ahead)
        rate = hyper.learning_rate * (1.0 - progress)

        def epoch(carry: tuple, epoch_key: Array) -> tuple[tuple, Metrics]:
            return lax.scan(
                lambda c, part: self._minibatch_step(c, part, hyper, rate),
                carry,
                shuffled(lesson, epoch_key, self.minibatches),
            )

        keys = jax.random.split(key, self.epochs)
        carry, metrics = lax.scan(epoch, (state.parameters, state.optimizer), keys)
        metrics = jax.tree.map(jnp.mean, metrics) | {"value": jnp.mean(lesson.value)}
        signal = {}
        if ahead is not None and self.robust is not None:
            signal = self._signal(state, rollout, ahead, uncertainty, key)
            metrics |= metrics_of(ahead, rollout.terminated, signal)
            metrics |= dual_gap(self.robust, ahead, rollout.terminated, uncertainty.epsilon)
            state = self._informed(state, rollout, ahead)
        return state._replace(parameters=carry[0], optimizer=carry[1]), metrics, signal

    def lesson(
        self, state: PPOState, rollout: Rollout, hyper: PPOHyper, ahead: Outlook | None = None
    ) -> Lesson:
        """Advantages and value targets, flattened to [T·E, ...].

        Robust targets follow the worst case, `worst_case_traces`. The policy's advantages are plain
        GAE over the robust residuals: nothing is bootstrapped from them, and where the worst case
        is sharp, weighted traces would be cut after a step or two.
        """
        critic, γ, λ = state.parameters.critic, hyper.discount, hyper.trace
        x = rollout.observation if ahead is None else ahead.critic_input
        values = state_value(critic, x)
        if ahead is None:
            bootstrap = state_value(critic, successors(state.observations, x, rollout))
        else:
            bootstrap = ahead.worst.value
        bootstrap = jnp.where(rollout.terminated, 0.0, bootstrap)
        residuals = rollout.reward + γ * bootstrap - values
        advantages = missing = gae(residuals, rollout.ended, γ, λ)
        if ahead is not None:
            missing = worst_case_traces(residuals, rollout.ended, γ, λ, ahead.ratio)
        lesson = Lesson(
            observation=rollout.observation,
            action=rollout.action,
            log_density=rollout.log_density,
            value=values,
            advantage=advantages,
            target=missing + values,
            critic_input=None if ahead is None else x,
        )
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), lesson)

    def outlook(
        self, state: PPOState, rollout: Rollout, uncertainty: Uncertainty, key: Array
    ) -> Outlook | None:
        """What the rollout's next states are worth in the worst case; none for a plain learner."""
        if self.robust is None or rollout.privileged is None:
            return None

        def value(x: Array) -> Array:
            return state_value(state.parameters.critic, x)

        scene, key = _scene(state, rollout), jax.random.fold_in(key, _DRAWS)
        return outlook(self.robust, state.robust, value, scene, uncertainty, key)

    def _signal(
        self,
        state: PPOState,
        rollout: Rollout,
        ahead: Outlook,
        uncertainty: Uncertainty,
        key: Array,
    ) -> Metrics:
        assert self.robust is not None
        assert rollout.starts is not None
        starts, moments = rollout.starts, state.observations
        idle = jnp.zeros((len(starts), rollout.action.shape[-1]))
        states_key, start_key = jax.random.split(jax.random.fold_in(key, _SIGNAL))
        told = signal_of(ahead, rollout.reward, rollout.terminated, rollout.ended, states_key)
        return told | {
            "start_value": start_value(
                self.robust,
                state.robust._replace(dual=ahead.dual),
                lambda x: state_value(state.parameters.critic, x),
                Transition(starts, idle, starts),
                normalization.standardise(moments, starts),
                normalization.scale(moments),
                uncertainty,
                start_key,
            )
        }

    def _informed(self, state: PPOState, rollout: Rollout, ahead: Outlook) -> PPOState:
        """The state whose nominal model has seen the rollout; the next one's noise follows it."""
        assert self.robust is not None
        steps = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), _scene(state, rollout).steps)
        nominal, _ = self.robust.nominal.update(state.robust.nominal, steps)
        return state._replace(robust=RobustState(nominal, ahead.dual))

    def _critic(self, key: Array, observation_size: int, action_size: int) -> Network:
        if self.robust is not None:
            return critic_network(key, observation_size, action_size, self.hidden)
        return networks.orthogonal(key, (observation_size, *self.hidden, 1), last_gain=1.0)

    def _robust(
        self, key: Array, observation_size: int, action_size: int
    ) -> RobustState | tuple[()]:
        if self.robust is None:
            return ()
        return self.robust.init(key, observation_size, action_size)

    def _noise(
        self, state: PPOState, observations: Array, uncertainty: Uncertainty, key: Array
    ) -> tuple[Array, Array] | None:
        if self.robust is None:
            return None
        # A key of its own, so that exploration is that of the plain learner.
        key, actions = jax.random.fold_in(key, _NOISE), state.parameters.log_std.shape[-1]
        nominal, known = self.robust.nominal, state.robust.nominal
        return nominal.sample_now(known, key, uncertainty.scales, observations, actions)

    def _minibatch_step(
        self, carry: tuple, part: Lesson, hyper: PPOHyper, rate: Array
    ) -> tuple[tuple, Metrics]:
        parameters, optimizer = carry
        grads, metrics = jax.grad(loss, has_aux=True)(parameters, part, hyper)
        grads = adam.clip_by_norm(grads, hyper.max_gradient)
        return adam.step(parameters, grads, optimizer, rate, _ADAM_EPSILON), metrics


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


def _scene(state: PPOState, rollout: Rollout) -> Scene:
    noise = rollout.privileged
    assert noise is not None
    return Scene(
        steps=Transition(noise.state, applied(rollout), rollout.final_observation),
        noise=noise,
        following=successors(state.observations, noise.standard, rollout),
        ended=rollout.ended,
        scale=normalization.scale(state.observations),
    )
