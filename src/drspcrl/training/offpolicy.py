"""The loop of SAC, DDPG and TD3: act, learn and simulate at the same time."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.config.learners import OffPolicySettings
from drspcrl.learners import replay as replays
from drspcrl.learners.actor_critic import OffPolicyLearner
from drspcrl.learners.cpu.compiling import acting_options, learning_options, over_members
from drspcrl.learners.experience import SignalInputs
from drspcrl.learners.population import sample_block, update_block
from drspcrl.learners.replay import Batch, Replay
from drspcrl.training.collector import Collector
from drspcrl.training.loop import Device, Loop, blank_outcome, member_keys, unpack

INIT, ACT, SAMPLE, UPDATE, PROBE = range(5)
SIGNAL_STATES = 256
# A key of its own, so that exploration is the same with and without noise; far from those that
# `split` gives, which are the first ones of `fold_in`.
_NOISE = 1 << 30


class OffPolicyLoop(Loop):
    """One iteration is one step of every environment and, once learning has started, its updates.

    Actions are asked for first, then the updates, and then the host waits for the actions alone
    and simulates while the device learns. So the policy that acts is always the one from before
    the updates that run meanwhile, a lag of one iteration that no timing changes.

    Args:
        learner: SAC, DDPG or TD3.
        hyper: the members' numbers, [M] each.
        collector: the environments.
        seeds: a seed for each member.
        settings: the learner's numbers.
        steps: length of the run, which bounds the replay.
        device: where to learn.
        memory: where replay lives.
        uncertainty: what the members are trained against, [M] each.
    """

    saved = (
        *("state", "replay", "_outcome", "_probed", "metrics"),
        *("steps", "updates", "uncertainty"),
    )

    def __init__(
        self,
        learner: OffPolicyLearner,
        hyper: Any,
        collector: Collector,
        seeds: Sequence[int],
        settings: OffPolicySettings,
        steps: int,
        device: Device,
        memory: Device,
        uncertainty: Any,
    ):
        self.learner, self.collector = learner, collector
        self.hyper, self.uncertainty = jax.device_put((hyper, uncertainty), device)
        self._envs, self._size = collector.envs, collector.observation_size
        self._learning_starts = settings.learning_starts
        self._updates = round(settings.updates)
        self._batch, self._buffer_size = settings.batch_size, settings.buffer_size
        self._device, self._memory = device, memory
        self._act_keys, self._update_keys, self._signal_keys = (
            member_keys(seeds, use, device) for use in (ACT, UPDATE, PROBE)
        )
        self._sample_keys, self._signal_batch_keys = (
            member_keys(seeds, use, memory) for use in (SAMPLE, PROBE)
        )
        self.updates = 0
        self._compile()
        if learner.uncertainty.paced:
            self._starts = jax.device_put(collector.starts(), device)
        first = collector.reset()
        init = partial(learner.init, observation_size=self._size, action_size=collector.action_size)
        self.state = jax.jit(jax.vmap(init))(member_keys(seeds, INIT, device))
        self.replay = self._empty_replay(first, min(settings.buffer_size, steps))
        self._outcome = jax.device_put(blank_outcome(first, self._size), device)
        self._probed = self._unmeasured_signal()  # the signal's metrics; checkpoints have this name
        self.metrics = self._unmeasured() | self._probed

    def iterate(self) -> None:
        """Act, learn and simulate."""
        actions = self._act(
            *(self.state, self._outcome, self._act_keys, self.hyper, self.uncertainty),
            np.int32(self.steps),
        )
        if self.steps >= self._learning_starts:
            self.learn()
        taken = np.asarray(actions)
        outcome = self.collector.step(taken)
        self._outcome = jax.device_put(outcome, self._device)
        if self._memory == self._device:
            self.replay = self._store(self.replay, actions, self._outcome)
        else:
            self.replay = self._store(self.replay, *jax.device_put((taken, outcome), self._memory))
        self.steps += self._envs

    def learn(self) -> None:
        """The updates of one iteration, from what is in the replay."""
        first = np.int32(self.updates)
        batches = self._sample(self.replay, self._sample_keys, first)
        if self._memory != self._device:
            batches = jax.device_put(batches, self._device)
        self.state, metrics = self._update(
            self.state, batches, self.hyper, self.uncertainty, self._update_keys, first
        )
        self.metrics = metrics | self._probed
        self.updates += self._updates

    @property
    def learned(self) -> bool:
        """See `Loop`."""
        return self.updates > 0

    def signal(self) -> dict[str, np.ndarray]:
        """The signal for curricula, and the metrics beside it; see `drspcrl.learners.uncertainty`.

        Randomness follows from the number of steps, so that asking again gives the same values. In
        worlds asking renews the tilt, and takes what episodes have returned since the last time:
        it is for the curricula alone. Empty from plain learners, and before the first
        step.
        """
        if not self.learner.uncertainty.paced or self.steps == 0:
            return {}
        steps = np.int32(self.steps)
        batch = self._signal_batch(self.replay, self._signal_batch_keys, steps)
        if self._memory != self._device:
            batch = jax.device_put(batch, self._device)
        found = self._signal_of(
            self.state, batch, self._signal_inputs(), self.uncertainty, self._signal_keys, steps
        )
        self._probed = found.log
        self.metrics = self.metrics | found.log
        if self.learner.uncertainty.coordinates:  # a tilt is learned with the signal
            self.state = self.state._replace(robust=found.known)
        return self._with_episodes(found.signal)

    def restart(self, first: np.ndarray) -> None:
        """See `Loop`; what the lost episodes brought stays in the replay."""
        place = jax.device_put(first, self._memory)
        self.replay = jax.jit(jax.vmap(replays.begin), donate_argnums=0)(self.replay, place)
        self._outcome = jax.device_put(blank_outcome(first, self._size), self._device)

    def extend(self, steps: int) -> None:
        """See `Loop`; a replay that the shorter run bounded grows, and keeps what it holds."""
        rows = -(-min(self._buffer_size, steps) // self._envs)
        if rows > self.replay.action.shape[2]:
            grow = partial(replays.grow, transitions=rows)
            self.replay = jax.jit(jax.vmap(grow))(self.replay)

    def _compile(self) -> None:
        learner, size, starts = self.learner, self._size, self._learning_starts
        action_size = self.collector.action_size

        def act(
            state: Any, outcome: Array, key: Array, hyper: Any, strength: Any, steps: Array
        ) -> Array:
            key = jax.random.fold_in(key, steps)
            act_key, uniform_key = jax.random.split(key)
            noise_key = jax.random.fold_in(key, _NOISE)
            observation = unpack(outcome, size).observation
            inputs = learner.uncertainty.noisy_inputs(
                state.robust, observation, strength, action_size, noise_key, hyper.rollout_noise
            )
            actions = inputs.arriving(learner.act(state, inputs.seen, act_key, hyper))
            uniform = jax.random.uniform(uniform_key, actions.shape, minval=-1.0, maxval=1.0)
            return jnp.where(steps < starts, uniform, actions)

        def store(replay: Replay, actions: Array, outcome: Array) -> Replay:
            return replays.add(replay, actions, unpack(outcome, size))

        def signal_of(
            state: Any,
            batch: Batch,
            signal_inputs: SignalInputs,
            strength: Any,
            key: Array,
            steps: Array,
        ) -> Any:
            key = jax.random.fold_in(jax.random.fold_in(key, steps), 1)
            return learner.signal(state, batch, signal_inputs, strength, key)

        def signal_batch(replay: Replay, key: Array, steps: Array) -> Batch:
            return replays.sample(replay, jax.random.fold_in(key, steps), SIGNAL_STATES)

        sample = partial(sample_block, updates=self._updates, size=self._batch)
        update = partial(update_block, learner)
        self._act = jax.jit(
            jax.vmap(act, in_axes=(0, 0, 0, 0, 0, None)),
            compiler_options=acting_options(self._device.platform),
        )
        self._store = jax.jit(jax.vmap(store), donate_argnums=0)
        self._sample = jax.jit(jax.vmap(sample, in_axes=(0, 0, None)))
        self._update = jax.jit(
            over_members(update, self.collector.members, in_axes=(0, 0, 0, 0, 0, None)),
            donate_argnums=0,
            compiler_options=learning_options(self._device.platform),
        )
        self._signal_batch = jax.jit(jax.vmap(signal_batch, in_axes=(0, 0, None)))
        self._signal_of = jax.jit(jax.vmap(signal_of, in_axes=(0, 0, 0, 0, 0, None)))
        self._jit_deterministic()

    def _signal_inputs(self) -> SignalInputs:
        """What the signal for curricula needs beside the replay."""
        return SignalInputs(self._starts, self._known_episodes())

    def _unmeasured(self) -> dict[str, Array]:
        """The metrics of an update as nan, so that their names are known from the start."""
        first = np.int32(0)
        batches = jax.eval_shape(self._sample, self.replay, self._sample_keys, first)
        members = (self.state, batches, self.hyper, self.uncertainty, self._update_keys)
        names = jax.eval_shape(self._update, *members, first)[1]
        return {name: jnp.full(like.shape, jnp.nan) for name, like in names.items()}

    def _unmeasured_signal(self) -> dict[str, Array]:
        """The metrics of the signal as nan; none of a plain learner."""
        if not self.learner.uncertainty.paced:
            return {}
        zero = np.int32(0)
        batch = jax.eval_shape(self._signal_batch, self.replay, self._signal_batch_keys, zero)
        members = (self.state, batch, self._signal_inputs(), self.uncertainty, self._signal_keys)
        names = jax.eval_shape(self._signal_of, *members, zero).log
        return {name: jnp.full(like.shape, jnp.nan) for name, like in names.items()}

    def _empty_replay(self, first: np.ndarray, size: int) -> Replay:
        rows = -(-size // self._envs)
        init = partial(replays.init, action_size=self.collector.action_size, transitions=rows)
        return jax.jit(jax.vmap(init))(jax.device_put(first, self._memory))
