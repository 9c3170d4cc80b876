"""Robust PPO's critic against the exact value of the same n-draw operator, for a fixed policy.

The task is a small random MDP behind Box spaces, P0 its own kernel, so that the draws after a step
are next states; the policy is uniform and is put back after every update. The critic is linear in
one-hot states, that is a table, or in the slow suite a network. Members of one population differ
in ε alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.config.learners import PPOSettings
from drspcrl.divergences import KL, ChiSquared, Divergence, TotalVariation
from drspcrl.envs.probe import finite
from drspcrl.learners import PPO, PPOHyper
from drspcrl.learners.normalization import Moments
from drspcrl.learners.population import stack
from drspcrl.learners.surrogate import state_value
from drspcrl.tabular import garnet, robust_policy_evaluation
from drspcrl.training.collector import Collector
from drspcrl.training.onpolicy import OnPolicyLoop
from drspcrl.transitions.backup import Transitions
from drspcrl.transitions.dual import Exact
from drspcrl.transitions.nominal import Draws, NominalModel, Scales, Strength, Transition

EPSILONS = (0.0, 0.1, 0.5, 1.0)
STATES, CHOICES = 4, 2
ENVS, LENGTH = 32, 32
TASK = garnet(STATES, CHOICES, 3, discount=0.9, seed=3).to_dense()


@dataclass(frozen=True)
class Kernel(NominalModel):
    """P0 is the task's own kernel: a next state that came true is one of its draws."""

    stored_is_a_draw: ClassVar[bool] = True

    def init(self, key, observation_size, action_size):
        return ()

    def update(self, state, batch):
        return state, {}

    def sample(self, state, key, scales: Scales, transition: Transition, n: int) -> Draws:
        choice = jnp.clip(jnp.floor((transition.action[0] + 1.0) / 2.0 * CHOICES), 0, CHOICES - 1)
        here = jnp.argmax(transition.observation)
        law = jnp.asarray(TASK.transitions, jnp.float32)[here, choice.astype(int)]
        drawn = jax.nn.one_hot(jax.random.categorical(key, jnp.log(law), shape=(n,)), STATES)
        process = drawn - transition.next_observation[None]
        none = jnp.zeros_like(process)
        return Draws(process, none, jnp.zeros((n, transition.action.shape[-1])), jnp.zeros(n))

    def state_scale(self, state):
        return jnp.ones(STATES)


def standard(shape: tuple[int, ...]) -> Moments:
    """Statistics that nothing changes: mean 0, deviation 1."""
    members = (len(EPSILONS), *shape)
    return Moments(jnp.zeros(members), jnp.ones(members), jnp.full(len(EPSILONS), 1e12))


def population(
    divergence: Divergence, hidden: tuple[int, ...], draws: int, steps: int, monkeypatch
) -> OnPolicyLoop:
    monkeypatch.setattr(
        "drspcrl.training.collector.make", lambda task, envs, **options: finite(TASK, envs)
    )
    form = Transitions(Kernel(), Exact(divergence), draws)
    learner = PPO(hidden, epochs=4, minibatches=8, uncertainty=form)
    rate = 0.005 if hidden else 0.05
    numbers = PPOHyper(0.9, 0.95, rate, clip=1e9, value_weight=0.5, max_gradient=1e9)
    hyper = stack([numbers] * len(EPSILONS))
    zeros = np.zeros(len(EPSILONS), np.float32)
    uncertainty = Strength(np.array(EPSILONS, np.float32), Scales(zeros, zeros, zeros))
    seeds, cpu = range(len(EPSILONS)), jax.devices("cpu")[0]
    collector = Collector("finite", seeds, ENVS)
    settings = PPOSettings(envs_per_member=ENVS, rollout_size=ENVS * LENGTH, minibatches=8)
    return OnPolicyLoop(learner, hyper, collector, seeds, settings, steps, cpu, cpu, uncertainty)


def critics(loop: OnPolicyLoop) -> np.ndarray:
    """V of every state, [M, S]."""
    x = jnp.eye(STATES, 2 * STATES + 1)
    return np.asarray(jax.vmap(state_value, (0, None))(loop.state.parameters.critic, x))


def learned(loop: OnPolicyLoop, rollouts: int) -> np.ndarray:
    """The critics' mean over the last third of the rollouts, under a policy that stays."""
    loop.state = loop.state._replace(observations=standard((STATES,)), rewards=standard(()))
    values = []
    for _ in range(rollouts):
        parameters = loop.state.parameters
        actor, log_std = jax.tree.map(jnp.zeros_like, (parameters.actor, parameters.log_std))
        uniform = parameters._replace(actor=actor, log_std=log_std)
        loop.state = loop.state._replace(parameters=uniform)
        loop.iterate()
        values.append(critics(loop))
    return np.mean(values[-rollouts // 3 :], axis=0)


def check(divergence: Divergence, hidden: tuple[int, ...], draws: int, rollouts: int, monkeypatch):
    loop = population(divergence, hidden, draws, rollouts * LENGTH * ENVS, monkeypatch)
    found = learned(loop, rollouts)
    policy = np.full((STATES, CHOICES), 1 / CHOICES)
    for ε, values in zip(EPSILONS, found, strict=True):
        exact = robust_policy_evaluation(TASK, policy, divergence, ε, draws=draws).values
        np.testing.assert_allclose(values, exact, rtol=0.02, err_msg=f"radius {ε}")


def test_a_table_agrees_with_the_exact_operator(monkeypatch):
    check(KL(10), (), draws=8, rollouts=60, monkeypatch=monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [8, 64])
@pytest.mark.parametrize("divergence", [KL(), ChiSquared(), TotalVariation()], ids=repr)
def test_a_network_agrees_with_the_exact_operator(divergence, draws, monkeypatch):
    check(divergence, (32,), draws, rollouts=150, monkeypatch=monkeypatch)
