"""Member k of a population is the member alone."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners import DDPG, PPO, SAC, TD3, DDPGHyper, PPOHyper, SACHyper
from drspcrl.learners.cpu.compiling import over_members
from drspcrl.learners.experience import Rollout
from drspcrl.learners.population import stack, update_block
from drspcrl.learners.replay import Batch
from drspcrl.transitions.nominal import Scales, Strength

DETERMINISTIC = [
    DDPGHyper(),
    DDPGHyper(0.9, 0.01, 1e-3, 1e-4),
    DDPGHyper(0.5, 0.1, 1e-4, 5e-4),
]
# Every scalar differs between the members.
OFF_POLICY = {
    "sac": (
        SAC((16, 16)),
        [
            SACHyper(),
            SACHyper(0.9, 0.01, 1e-3, 1e-4, 1e-2, -0.5),
            SACHyper(0.5, 0.1, 1e-4, 5e-4, 0.0, -2.0),
        ],
    ),
    "ddpg": (DDPG((16, 16)), DETERMINISTIC),
    "td3": (TD3((16, 16)), DETERMINISTIC),
}
UNCERTAINTIES = [
    Strength(),
    Strength(0.3, Scales(0.1, 0.0, 0.05)),
    Strength(1.0, Scales(0.0, 0.2, 0.0)),
]
PPO_HYPERS = [PPOHyper(), PPOHyper(0.9, 0.8, 1e-3, 0.1, 1.0, 0.01, 1.0), PPOHyper(clip=0.3)]


def recorded(updates: int, size: int = 16) -> Batch:
    random = np.random.default_rng(0)
    shape = (3, updates, size)
    return Batch(
        observation=jnp.asarray(random.normal(size=(*shape, 3))),
        action=jnp.asarray(random.uniform(-1, 1, (*shape, 2))),
        reward=jnp.asarray(random.normal(size=shape)),
        next_observation=jnp.asarray(random.normal(size=(*shape, 3))),
        terminated=jnp.asarray(random.random(shape) < 0.1),
    )


def rollouts(count: int) -> Rollout:
    random = np.random.default_rng(0)
    shape = (3, count, 8, 2)
    terminated = random.random(shape) < 0.05
    ended = terminated | (random.random(shape) < 0.05)
    return Rollout(
        observation=jnp.asarray(random.normal(size=(*shape, 3))),
        action=jnp.asarray(random.normal(size=(*shape, 2))),
        log_density=jnp.asarray(random.normal(-3.0, 0.1, shape)),
        final_observation=jnp.asarray(random.normal(size=(*shape, 3))),
        reward=jnp.asarray(random.normal(size=shape)),
        terminated=jnp.asarray(terminated),
        ended=jnp.asarray(ended),
    )


def keys() -> jax.Array:
    return jnp.stack([jax.random.key(k) for k in range(3)])


def alone(population, k: int):
    """Member k; on the host, so that nothing is compiled for it."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[k], population)


def off_policy(name: str, updates: int):
    """Three members together, and each alone; on the same recorded data."""
    learner, hypers = OFF_POLICY[name]
    hyper, batches, against = stack(hypers), recorded(updates), stack(UNCERTAINTIES)
    states = jax.jit(jax.vmap(lambda k: learner.init(k, 3, 2)))(keys())
    block = jax.jit(partial(update_block, learner))
    together = jax.jit(jax.vmap(partial(update_block, learner), in_axes=(0, 0, 0, 0, 0, None)))
    all_states, _ = together(states, batches, hyper, against, keys(), jnp.int32(0))
    for k in range(3):
        own = (alone(part, k) for part in (states, batches, hyper, against))
        yield alone(all_states, k), block(*own, jax.random.key(k), jnp.int32(0))[0]


def ppo(updates: int):
    """The same for PPO; one update is one minibatch."""
    epochs, minibatches = (1, 1) if updates == 1 else (10, 4)
    learner = PPO((16, 16), epochs, minibatches)
    count = max(1, updates // (epochs * minibatches))
    hyper, data, against = stack(PPO_HYPERS), rollouts(count), stack(UNCERTAINTIES)
    states = jax.jit(jax.vmap(lambda k: learner.init(k, 3, 2, 2)))(keys())

    def learn(state, rollouts, hyper, against, key):
        def one(state, given):
            rollout, index = given
            progress = jnp.zeros(())
            own_key = jax.random.fold_in(key, index)
            return learner.update(state, rollout, hyper, against, own_key, progress)[:2]

        return jax.lax.scan(one, state, (rollouts, jnp.arange(count)))[0]

    members = (states, data, hyper, against)
    all_states, learn = jax.jit(jax.vmap(learn))(*members, keys()), jax.jit(learn)
    for k in range(3):
        own = (alone(part, k) for part in members)
        yield alone(all_states, k), learn(*own, jax.random.key(k))


def compare(pairs, tolerance: float) -> None:
    seen = 0
    for together, single in pairs:
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(single), strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        seen += 1
    assert seen == 3


@pytest.mark.parametrize(
    "name", ["sac", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ddpg", "td3", "ppo"))]
)
def test_a_thousand_updates_in_double_precision(name, float64):
    compare(ppo(1000) if name == "ppo" else off_policy(name, 1000), 1e-9)


@pytest.mark.parametrize(
    "name", ["td3", "ppo", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ddpg", "sac"))]
)
def test_one_update_in_single_precision(name):
    compare(ppo(1) if name == "ppo" else off_policy(name, 1), 1e-5)


@pytest.mark.parametrize("members", [1, 3])
def test_functions_over_members_have_their_axis(members):
    def one(state, number, shared):
        return {"sum": state["a"] + number * shared, "rest": (number,)}

    population = ({"a": jnp.ones((members, 2))}, jnp.arange(float(members)), jnp.array([1.0, 2.0]))
    found = over_members(one, members, in_axes=(0, 0, None))(*population)
    expected = jax.vmap(one, in_axes=(0, 0, None))(*population)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_skipped_actor_steps_cost_nothing_in_a_population():
    # A condition that is data of the members would be computed on both sides.
    learner = DDPG((8, 8))
    states = jax.jit(jax.vmap(lambda k: learner.init(k, 3, 2)))(keys())
    together = jax.vmap(partial(update_block, learner), in_axes=(0, 0, 0, 0, 0, None))
    hyper, against = stack([DDPGHyper()] * 3), stack(UNCERTAINTIES)
    arguments = (states, recorded(2), hyper, against, keys(), jnp.int32(0))
    assert "cond[" in str(jax.make_jaxpr(together)(*arguments))
