"""The learned robust value is that of the exact n-draw operator, on a finite MDP behind Box spaces.

A state is a one-hot observation, and an action ±1 one of two choices. The fixed policy is
sign(k·o) of what it sees, o = s + η with η ~ N(0, σ²I), so it chooses +1 with probability
Φ(k_s/(σ‖k‖)): sensor noise is a coin with a known side for each state. The task is deterministic,
so what follows (s, choice) is one state s', and nature tilts the coin there. That is a robust MDP
over pairs y = (s, choice) with one action each:

    P(y'|y) = 1[s' = f(y)] · Pr(choice'|s'),    Q(y) = r(y) + γ · worst case over y' of Q(y').
"""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from drspcrl.divergences import KL, ChiSquared, TotalVariation
from drspcrl.envs.probe import finite
from drspcrl.learners import DDPG, SAC, DDPGHyper, SACHyper, adam
from drspcrl.learners.actor_critic import q_values
from drspcrl.learners.ddpg import q_value
from drspcrl.learners.networks import Layer
from drspcrl.learners.population import stack, update_block
from drspcrl.learners.replay import Batch
from drspcrl.tabular import MDP, robust_policy_evaluation
from drspcrl.transitions.backup import Transitions
from drspcrl.transitions.dual import Exact
from drspcrl.transitions.nominal import Noise, Scales, Strength

S, γ = 4, 0.8
AFTER = np.array([[1, 2], [3, 0], [0, 3], [2, 1]])  # f(s, choice)
REWARDS = np.array([[1.0, 0.0], [0.5, 2.0], [-1.0, 1.5], [0.0, 3.0]])
K = np.array([0.5, -0.3, 0.8, 0.1])
UP = norm.cdf(K / np.linalg.norm(K))  # σ = 1
EPSILONS = (0.0, 0.1, 0.5, 1.0)
DIVERGENCES = {"kl": KL(10), "chi2": ChiSquared(), "tv": TotalVariation()}
REPEATS = 24


def task() -> MDP:
    """The two-choice task itself."""
    return MDP(np.eye(S)[AFTER], REWARDS, γ, np.full(S, 1 / S))


def exact(divergence, epsilon: float, draws: int | None) -> np.ndarray:
    """Q(s, choice) of the robust MDP over pairs, [S, 2]."""
    coin = np.stack([1 - UP, UP], axis=1)
    kernel = np.zeros((S, 2, 1, S, 2))
    for s, c in np.ndindex(S, 2):
        kernel[s, c, 0, AFTER[s, c]] = coin[AFTER[s, c]]
    pairs = MDP(
        kernel.reshape(2 * S, 1, 2 * S),
        REWARDS.reshape(2 * S, 1),
        γ,
        np.full(2 * S, 1 / (2 * S)),
    )
    policy = np.zeros(2 * S, int)
    found = robust_policy_evaluation(pairs, policy, divergence, epsilon, draws=draws)
    assert found.converged
    return found.values.reshape(S, 2)


def transitions() -> Batch:
    """Every pair, as the probe environment plays it, many times over."""
    seen = {}
    env = finite(task(), 32, seed=0, time_limit=1000)
    observation, random = env.reset(), np.random.default_rng(0)
    for _ in range(200):
        action = random.choice([-1.0, 1.0], size=(32, 1)).astype(np.float32)
        step = env.step(action)
        for o, a, r, after in zip(
            observation, action, step.reward, step.final_observation, strict=True
        ):
            seen[int(o.argmax()), float(a[0])] = (o, a, r, after)
        observation = step.observation
    assert len(seen) == 2 * S
    rows = [np.stack(part).astype(np.float32) for part in zip(*seen.values(), strict=True)]
    o, a, r, after = (jnp.asarray(np.repeat(part, REPEATS, axis=0)) for part in rows)
    return Batch(o, a, r, after, jnp.zeros(len(r), bool))


def learned(name: str, divergence, draws: int, updates: int) -> np.ndarray:
    """Q(s, choice) of a population with one member for each ε, [ε, S, 2]."""
    form = Transitions(Noise("none", ("sensor",)), Exact(divergence), draws, "one")
    kind, hyper = {
        "sac": (SAC, SACHyper(γ, 0.05, 0.0, 3e-3, 0.0)),
        "ddpg": (partial(DDPG, actor_every=1), DDPGHyper(γ, 0.05, 0.0, 3e-3)),
    }[name]
    learner = kind((32, 32), uncertainty=form)
    state = jax.jit(jax.vmap(lambda key: learner.init(key, S, 1)))(
        jax.random.split(jax.random.key(0), len(EPSILONS))
    )
    state = with_policy(name, state)
    against = Strength(
        jnp.array(EPSILONS), Scales(*(jnp.full(len(EPSILONS), x) for x in (1.0, 0.0, 0.0)))
    )
    batches = jax.tree.map(lambda a: jnp.broadcast_to(a, (updates, *a.shape)), transitions())
    keys = jax.random.split(jax.random.key(1), len(EPSILONS))
    block = jax.jit(jax.vmap(partial(update_block, learner), in_axes=(0, None, 0, 0, 0, None)))
    total = jnp.zeros((len(EPSILONS), S, 2))
    # Learn, then learn slowly, and read the mean of the last stretches.
    stages = (3e-3, 1e-3, 3e-4, 3e-4, 3e-4)
    for k, rate in enumerate(stages):
        each = stack([hyper._replace(critic_lr=rate)] * len(EPSILONS))
        state, _ = block(state, batches, each, against, keys, jnp.int32(k * updates))
        if k >= 2:
            total += jax.vmap(partial(values, name))(state) / 3
    return np.asarray(total)


def with_policy(name: str, state):
    """The policy sign(k·o), without exploration and without a price on entropy."""
    steep, members = 1e4 * K[:, None], len(EPSILONS)
    copies = lambda x: jnp.broadcast_to(jnp.asarray(x, jnp.float32), (members, *x.shape))  # noqa: E731
    if name == "ddpg":
        actor = (Layer(copies(steep), copies(np.zeros(1))),)
        optimizer = jax.vmap(adam.init)(actor)
        return state._replace(actor=actor, target_actor=actor, actor_optimizer=optimizer)
    kernel = np.concatenate([steep, np.zeros((S, 1))], axis=1)
    actor = (Layer(copies(kernel), copies(np.array([0.0, -20.0]))),)
    optimizer = jax.vmap(adam.init)(actor)
    still = jnp.full(members, -60.0)
    return state._replace(actor=actor, actor_optimizer=optimizer, log_temperature=still)


def values(name: str, state) -> jax.Array:
    """Q of one member at every pair, [S, 2]."""
    states = jnp.repeat(jnp.eye(S), 2, axis=0)
    actions = jnp.tile(jnp.array([[-1.0], [1.0]]), (S, 1))
    if name == "ddpg":
        return q_value(state.critic, states, actions).reshape(S, 2)
    return q_values(state.critics, states, actions).min(axis=0).reshape(S, 2)


def compare(name: str, divergence, draws: int, updates: int) -> None:
    found = learned(name, divergence, draws, updates)
    for q, epsilon in zip(found, EPSILONS, strict=True):
        expected = exact(divergence, epsilon, draws)
        error = np.abs(q - expected).max() / np.abs(expected).max()
        assert error < 0.02, f"{name} at ε = {epsilon}: {error:.3%}"


def test_radius_matters_here():
    # The test would be empty if the exact values did not differ by far more than its tolerance.
    for divergence in DIVERGENCES.values():
        at = [exact(divergence, epsilon, 8) for epsilon in EPSILONS]
        for nearer, farther in pairwise(at):
            assert (nearer - farther).min() > 0.04 * np.abs(at[0]).max()


@pytest.mark.parametrize(
    ("name", "divergence"),
    [
        ("ddpg", "kl"),
        *(
            pytest.param(name, divergence, marks=pytest.mark.slow)
            for name, divergence in (
                ("ddpg", "chi2"),
                ("ddpg", "tv"),
                ("sac", "kl"),
                ("sac", "chi2"),
                ("sac", "tv"),
            )
        ),
    ],
)
def test_agrees_with_the_exact_operator_of_eight_draws(name, divergence):
    compare(name, DIVERGENCES[divergence], 8, 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ddpg", "sac"])
def test_more_draws_come_to_the_true_robust_value(name):
    true = np.stack([exact(KL(), epsilon, None) for epsilon in EPSILONS])
    errors = []
    for draws in (8, 64, 512):
        found = learned(name, KL(10), draws, 400)
        errors.append(np.abs(found - true).max() / np.abs(true).max())
    assert errors[0] > 2 * errors[1]
    assert errors[2] < errors[1] or errors[1] < 0.02
    assert errors[2] < 0.02
