"""Whole trainings on tasks whose values are known: each isolates one thing that may be wrong.

`probe/constant` pays 1 for ever but is cut after 50 steps, so a learner that does not bootstrap
through time limits ends below 1/(1 − γ). `probe/two_step` pays 1 with its last action and ends, so
one that bootstraps through terminations ends above. `probe/action` wants half the observation.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners import normalization
from drspcrl.learners.actor_critic import q_values
from drspcrl.learners.ddpg import q_value
from drspcrl.learners.population import member
from drspcrl.learners.surrogate import state_value

STEPS = 3000
QUICK = {
    "sac": {"batch_size": 64, "actor_lr": 3e-3, "critic_lr": 3e-3, "temperature_lr": 0.02},
    "ddpg": {"batch_size": 64, "actor_lr": 3e-3, "critic_lr": 3e-3, "exploration": 0.3},
    "td3": {"batch_size": 64, "actor_lr": 3e-3, "critic_lr": 3e-3, "exploration": 0.3},
    "ppo": {"rollout_size": 256, "learning_rate": 3e-3},
}
OFF_POLICY = {"tau": 0.05, "learning_starts": 200, "hidden": [32, 32], "envs_per_member": 8}


def quick(*algorithms: str) -> list:
    """These learners in the quick suite, the others in the whole one."""
    return [
        name if name in algorithms else pytest.param(name, marks=pytest.mark.slow)
        for name in ("sac", "ddpg", "td3", "ppo")
    ]


@pytest.fixture
def learn(small_loop):
    """Train on a probe with discount 0.5."""

    def train(algorithm: str, task: str):
        shared = {"envs_per_member": 8} if algorithm == "ppo" else OFF_POLICY
        steps = 20_480 if algorithm == "ppo" else STEPS
        changes = QUICK[algorithm] | shared | {"discount": 0.5}
        loop, _ = small_loop(algorithm, (0,), task, steps, **changes)
        while loop.steps < steps:
            loop.iterate()
        return loop

    return train


def values(algorithm: str, loop, observations: list[float]) -> np.ndarray:
    """The critic's values at the policy's own actions, in the task's units."""
    state, states = member(loop.state, 0), jnp.array(observations)[:, None]
    if algorithm == "ppo":
        x = normalization.standardise(state.observations, states)
        return np.asarray(
            state_value(state.parameters.critic, x) * normalization.scale(state.rewards)
        )
    actions = loop.learner.act_deterministic(state, states)
    if algorithm == "ddpg":
        return np.asarray(q_value(state.critic, states, actions))
    critics = state.critic if algorithm == "td3" else state.critics
    return np.asarray(q_values(critics, states, actions).min(axis=0))


@pytest.mark.parametrize("algorithm", quick("ddpg"))
def test_bootstraps_through_time_limits(algorithm, learn):
    loop = learn(algorithm, "probe/constant")
    # SAC's entropy bonus has died away by then: every action is as good, so entropy is no effort.
    np.testing.assert_allclose(values(algorithm, loop, [0.0]), [2.0], rtol=0.05)


@pytest.mark.parametrize("algorithm", quick("sac", "td3"))
def test_nothing_comes_after_a_termination(algorithm, learn):
    loop = learn(algorithm, "probe/two_step")
    np.testing.assert_allclose(values(algorithm, loop, [0.0, 1.0]), [0.5, 1.0], atol=0.05)


@pytest.mark.parametrize("algorithm", quick("ppo"))
def test_finds_the_best_action(algorithm, learn):
    loop = learn(algorithm, "probe/action")
    acted = loop.deterministic_actions(np.array([[[-1.0], [1.0]]], np.float32))
    np.testing.assert_allclose(acted[0, :, 0], [-0.5, 0.5], atol=0.1)
