"""The loop of PPO: collect a rollout, learn from it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from drspcrl.learners.ppo import PPO, PPOState, Rollout
from drspcrl.nominal import Uncertainty
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.loop import Device, Loop, member_keys, unpack

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
        settings: the resolved settings.
        steps: length of the run, over which the learning rate falls.
        device: where to learn.
        uncertainty: what the members are trained against, [M] each.
    """

    def __init__(
        self,
        learner: PPO,
        hyper: Any,
        collector: Collector,
        seeds: Sequence[int],
        settings: dict[str, Any],
        steps: int,
        device: Device,
        uncertainty: Uncertainty,
    ):
        self.learner, self.collector = learner, collector
        self.hyper, self.uncertainty = jax.device_put((hyper, uncertainty), device)
        self._envs, self._size, self._total = collector.envs, collector.observation_size, steps
        self._length = settings["rollout_size"] // collector.envs
        self._device = device
        self._act_keys, self._update_keys = (
            jax.device_put(member_keys(seeds, use), device) for use in (ACT, UPDATE)
        )
        self.metrics: dict[str, Array] = {}
        self._compile()
        init = partial(
            learner.init,
            observation_size=self._size,
            action_size=collector.action_size,
            envs=collector.envs,
        )
        self.state = jax.jit(jax.vmap(init))(jax.device_put(member_keys(seeds, INIT), device))
        self._observation = collector.reset()

    def iterate(self) -> None:
        """Collect a rollout and learn from it."""
        shape = (self.collector.members, self._length, self._envs)
        outcomes = np.empty((*shape, 2 * self._size + 3), np.float32)
        drawn = self._blank_rollout()
        progress = np.float32(min(1.0, self.steps / self._total))
        for t in range(self._length):
            self.state, drawn, actions = self._act(
                self.state, drawn, self._observation, self._act_keys, np.int32(self.steps), t
            )
            outcomes[:, t] = self.collector.step(np.asarray(actions))
            self._observation = outcomes[:, t, :, : self._size].copy()
            self.steps += self._envs
        self.state, self.metrics = self._update(
            self.state,
            drawn,
            outcomes,
            self.hyper,
            self._update_keys,
            np.int32(self.steps),
            progress,
        )

    def tree(self) -> dict[str, Any]:
        """Learners, the newest observations and the counter that the keys are folded with."""
        return {"state": self.state, "observation": self._observation, "steps": self.steps}

    def _blank_rollout(self) -> tuple[Array, Array, Array]:
        shape = (self.collector.members, self._length, self._envs)
        sizes = ((self._size,), (self.collector.action_size,), ())
        x, action, log_density = (jnp.zeros((*shape, *size), device=self._device) for size in sizes)
        return x, action, log_density

    def _compile(self) -> None:
        learner, size = self.learner, self._size

        def act(
            state: PPOState, drawn: tuple, observation: Array, key: Array, steps: Array, t: Array
        ) -> tuple[PPOState, tuple, Array]:
            key = jax.random.fold_in(key, steps)
            state, now = learner.act(state, observation, key)
            drawn = jax.tree.map(lambda whole, row: whole.at[t].set(row), drawn, now)
            return state, drawn, jnp.clip(now[1], -1.0, 1.0)

        def update(
            state: PPOState,
            drawn: tuple,
            outcomes: Array,
            hyper: Any,
            key: Array,
            steps: Array,
            progress: Array,
        ) -> tuple[PPOState, dict[str, Array]]:
            seen = unpack(outcomes, size)._asdict()
            del seen["observation"]
            key = jax.random.fold_in(key, steps)
            return learner.update(state, Rollout(*drawn, **seen), hyper, key, progress)

        self._act = jax.jit(jax.vmap(act, in_axes=(0, 0, 0, 0, None, None)), donate_argnums=(0, 1))
        self._update = jax.jit(
            jax.vmap(update, in_axes=(0, 0, 0, 0, 0, None, None)), donate_argnums=0
        )
        self._jit_deterministic()
