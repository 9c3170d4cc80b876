"""The loop of PPO: collect a rollout, learn from it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.config.learners import PPOSettings
from drspcrl.learners.cpu.compiling import acting_options, learning_options
from drspcrl.learners.experience import ActOutput, Rollout, SignalInputs, applied
from drspcrl.learners.normalization import Moments
from drspcrl.training.collector import Collector
from drspcrl.training.loop import Device, Loop, member_keys, unpack

if TYPE_CHECKING:
    from drspcrl.learners.ppo import PPO, PPOState

INIT, ACT, UPDATE = range(3)


class OnPolicyLoop(Loop):
    """One iteration is one rollout and the learning from it.

    The policy that acts is the newest one, without a lag: PPO's ratio compares with the policy
    that acted, and simulating takes far longer than learning.

    Args:
        learner: PPO.
        hyper: the members' numbers, [M] each.
        collector: the environments.
        seeds: a seed for each member.
        settings: the learner's numbers.
        steps: length of the run, over which the learning rate falls.
        device: where to learn.
        memory: where a replay would live; there is none.
        uncertainty: what the members are trained against, [M] each.
    """

    saved = ("state", "_observation", "_signal", "metrics", "steps", "uncertainty")

    def __init__(
        self,
        learner: "PPO",
        hyper: Any,
        collector: Collector,
        seeds: Sequence[int],
        settings: PPOSettings,
        steps: int,
        device: Device,
        memory: Device,
        uncertainty: Any,
    ):
        del memory
        self.learner, self.collector = learner, collector
        self.hyper, self.uncertainty = jax.device_put((hyper, uncertainty), device)
        self._envs, self._size, self._total = collector.envs, collector.observation_size, steps
        self._length = settings.rollout_size // collector.envs
        self._device = device
        self._act_keys, self._update_keys = (
            member_keys(seeds, use, device) for use in (ACT, UPDATE)
        )
        self.metrics: dict[str, Array] = {}
        self._compile()
        init = partial(
            learner.init,
            observation_size=self._size,
            action_size=collector.action_size,
            envs=collector.envs,
        )
        self.state = jax.jit(jax.vmap(init))(member_keys(seeds, INIT, device))
        self._starts = None
        if learner.uncertainty.paced:
            self._starts = jax.device_put(collector.starts(), device)
        self._observation = collector.reset()
        self._width = 2 * self._size + 3 + collector.coordinates
        acting = (self.state, self._observation, self.uncertainty, self._act_keys)
        self._drawn = jax.eval_shape(jax.vmap(learner.act), *acting)[1]
        self._signal = self._unmeasured()

    def iterate(self) -> None:
        """Collect a rollout and learn from it."""
        shape = (self.collector.members, self._length, self._envs)
        outcomes = np.empty((*shape, self._width), np.float32)
        drawn = self._blank_rollout()
        progress = np.float32(min(1.0, self.steps / self._total))
        # Handing over an array takes longer than a small network does: only what acting needs.
        acting = self.state._replace(optimizer=())
        for t in range(self._length):
            moments, drawn, actions = self._act(
                acting,
                drawn,
                self._observation,
                self.uncertainty,
                self._act_keys,
                np.int32(self.steps),
                t,
            )
            acting = acting._replace(observations=moments)
            outcomes[:, t] = self.collector.step(np.asarray(actions))
            self._observation = self._newest(outcomes[:, t])
            self.steps += self._envs
        self.state = self.state._replace(observations=acting.observations)
        self.state, self.metrics, self._signal = self._update(
            self.state,
            drawn,
            outcomes,
            self._signal_inputs(),
            self.hyper,
            self.uncertainty,
            self._update_keys,
            np.int32(self.steps),
            progress,
        )

    def restart(self, first: np.ndarray) -> None:
        """See `Loop`; the running discounted returns begin at 0 as after any episode's end."""
        self._observation = first
        self.state = self.state._replace(returns=jnp.zeros_like(self.state.returns))

    def extend(self, steps: int) -> None:
        """See `Loop`; the learning rate follows the longer run's line from here on."""
        self._total = steps

    def signal(self) -> dict[str, np.ndarray]:
        """What the newest rollout tells the members' curricula, [M, ...] each.

        It is a by-product of the update: values are those of the critic that gave the targets, in
        units of normalised rewards. Before the first update, all is nan; of plain learners, empty.
        """
        return self._with_episodes(self._signal)

    def _signal_inputs(self) -> SignalInputs | None:
        """What the signal for curricula needs beside rollouts."""
        if self._starts is None:
            return None
        return SignalInputs(self._starts, self._known_episodes())

    def _newest(self, outcome: np.ndarray) -> np.ndarray:
        """What to act on next, with the world behind it."""
        world = outcome[..., 2 * self._size + 3 :]
        return np.concatenate([outcome[..., : self._size], world], axis=-1)

    def _unmeasured(self) -> dict[str, Array]:
        """The signal of an update as nan, so that its names are known from the start."""
        if not self.learner.uncertainty.paced:
            return {}
        shape = (self.collector.members, self._length, self._envs, self._width)
        members = (
            self.state,
            self._blank_rollout(),
            np.zeros(shape, np.float32),
            self._signal_inputs(),
        )
        numbers = (self.hyper, self.uncertainty, self._update_keys)
        told = jax.eval_shape(self._update, *members, *numbers, np.int32(0), np.float32(0.0))[2]
        return {name: jnp.full(like.shape, jnp.nan) for name, like in told.items()}

    def _blank_rollout(self) -> ActOutput:
        """Room for what acting leaves, [M, T, E, ...] each."""
        return jax.tree.map(
            lambda a: jnp.zeros((a.shape[0], self._length, *a.shape[1:]), device=self._device),
            self._drawn,
        )

    def _compile(self) -> None:
        learner, size = self.learner, self._size

        def act(
            state: "PPOState",
            drawn: ActOutput,
            observation: Array,
            strength: Any,
            key: Array,
            steps: Array,
            t: Array,
        ) -> tuple[Moments, ActOutput, Array]:
            key = jax.random.fold_in(key, steps)
            state, now = learner.act(state, observation, strength, key)
            drawn = jax.tree.map(lambda whole, row: whole.at[t].set(row), drawn, now)
            return state.observations, drawn, applied(now)

        def update(
            state: "PPOState",
            drawn: ActOutput,
            outcomes: Array,
            signal_inputs: SignalInputs | None,
            hyper: Any,
            strength: Any,
            key: Array,
            steps: Array,
            progress: Array,
        ) -> "tuple[PPOState, dict[str, Array], dict[str, Array]]":
            seen = unpack(outcomes, size)._asdict()
            del seen["observation"]
            seen["final_observation"] = seen["final_observation"][..., :size]
            key = jax.random.fold_in(key, steps)
            rollout = Rollout(**drawn._asdict(), **seen, signal_inputs=signal_inputs)
            return learner.update(state, rollout, hyper, strength, key, progress)

        self._act = jax.jit(
            jax.vmap(act, in_axes=(0, 0, 0, 0, 0, None, None)),
            donate_argnums=1,
            compiler_options=acting_options(self._device.platform),
        )
        self._update = jax.jit(
            jax.vmap(update, in_axes=(0, 0, 0, 0, 0, 0, 0, None, None)),
            donate_argnums=0,
            compiler_options=learning_options(self._device.platform),
        )
        self._jit_deterministic()
