"""Robust PPO: the identities that tie it to plain PPO, and its targets by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.learners import PPO, PPOHyper
from drspcrl.learners.experience import Rollout, SignalInputs, applied
from drspcrl.learners.ppo import PPOState
from drspcrl.transitions.backup import Transitions
from drspcrl.transitions.bootstrap import snap_rounding
from drspcrl.transitions.dual import Exact
from drspcrl.transitions.nominal import Noise, Scales, Strength

OBSERVATIONS, ACTIONS, STEPS, ENVS = 3, 2, 16, 4
PLAIN = PPO((16, 16), epochs=2, minibatches=4)
ROBUST = PPO(
    (16, 16),
    epochs=2,
    minibatches=4,
    uncertainty=Transitions(Noise(relative="none"), Exact(KL()), 8),
)
EPSILONS = (0.0, 0.1, 1.0, 5.0)


def acted(learner: PPO, strength: Strength) -> tuple[PPOState, Rollout]:
    """A new member, and a rollout through states that do not care what it does."""
    random = np.random.default_rng(0)
    states = jnp.asarray(random.normal(1.0, 2.0, (STEPS + 1, ENVS, OBSERVATIONS)), jnp.float32)
    terminated = random.random((STEPS, ENVS)) < 0.1
    ended = terminated | (random.random((STEPS, ENVS)) < 0.1)
    state = learner.init(jax.random.key(1), OBSERVATIONS, ACTIONS, ENVS)
    keys = jax.random.split(jax.random.key(2), STEPS)

    def step(state, given):
        return learner.act(state, given[0], strength, given[1])

    state, drawn = jax.lax.scan(step, state, (states[:-1], keys))
    rollout = Rollout(
        **drawn._asdict(),
        final_observation=states[1:],
        reward=jnp.asarray(random.normal(size=(STEPS, ENVS)), jnp.float32),
        terminated=jnp.asarray(terminated),
        ended=jnp.asarray(ended),
        signal_inputs=SignalInputs(states[0]) if learner.uncertainty.paced else None,
    )
    return state, rollout


def awake(state: PPOState, gain: jax.Array) -> PPOState:
    """The member with a critic that already prices noise."""
    first, *rest = state.parameters.critic
    weights = np.random.default_rng(5).normal(size=first.kernel.shape)
    critic = (first._replace(kernel=first.kernel + gain * jnp.asarray(weights, jnp.float32)), *rest)
    return state._replace(parameters=state.parameters._replace(critic=critic))


@jax.jit
def robust_batch(strength: Strength, gain: jax.Array):
    state, rollout = acted(ROBUST, strength)
    state = awake(state, gain)
    bootstrap = ROBUST.rollout_backup(state, rollout, strength, jax.random.key(3))
    batch = ROBUST.training_batch(state, rollout, PPOHyper(), bootstrap)
    return state, rollout, bootstrap.detail, batch


def noisy(epsilon: float, process: float = 0.1) -> Strength:
    return Strength(jnp.float32(epsilon), Scales(*map(jnp.float32, (0.3, 0.2, process))))


def noiseless(epsilon: float) -> Strength:
    return Strength(jnp.float32(epsilon), Scales(*[jnp.float32(0.0)] * 3))


@pytest.fixture(scope="module")
def plain_batch():
    @jax.jit
    def learn():
        state, rollout = acted(PLAIN, Strength())
        bootstrap = PLAIN.rollout_backup(state, rollout, Strength(), jax.random.key(3))
        return PLAIN.training_batch(state, rollout, PPOHyper(), bootstrap)

    return learn()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_without_noise_every_radius_gives_the_plain_batch(epsilon, plain_batch):
    _, _, bootstrap, batch = robust_batch(noiseless(epsilon), jnp.float32(0.0))
    for name in ("observation", "action", "log_density", "value", "advantage", "target"):
        np.testing.assert_allclose(
            getattr(batch, name), getattr(plain_batch, name), rtol=1e-5, atol=1e-6, err_msg=name
        )
    np.testing.assert_allclose(bootstrap.ratio, 1.0, rtol=1e-6)


def test_radius_zero_is_the_plain_expectation():
    _, _, bootstrap, batch = robust_batch(noisy(0.0), jnp.float32(1.0))
    assert np.ptp(bootstrap.values, axis=-1).min() > 0.01
    np.testing.assert_allclose(
        bootstrap.worst.value, bootstrap.values.mean(axis=-1), rtol=1e-5, atol=1e-6
    )
    # With equal weights the traces are those of plain GAE, whose sum with V is the target.
    np.testing.assert_array_equal(bootstrap.ratio, 1.0)
    np.testing.assert_allclose(batch.target, batch.value + batch.advantage, rtol=1e-5, atol=1e-5)


def test_draw_zero_is_what_came_true():
    _, rollout, bootstrap, batch = robust_batch(noisy(0.5, process=0.0), jnp.float32(1.0))
    values = batch.value.reshape(STEPS, ENVS)
    running = ~np.asarray(rollout.ended[:-1])
    realised = np.asarray(bootstrap.values[:-1, :, 0])
    np.testing.assert_allclose(realised[running], np.asarray(values[1:])[running], rtol=1e-4)
    # Where an episode ended the next step is another one's.
    assert not np.isclose(realised[~running], np.asarray(values[1:])[~running], rtol=1e-3).any()


def test_targets_and_advantages_are_worked_from_the_worst_case():
    _, rollout, bootstrap, batch = robust_batch(noisy(0.5), jnp.float32(1.0))
    values, target, advantage = (
        np.asarray(a, np.float64).reshape(STEPS, ENVS)
        for a in (batch.value, batch.target, batch.advantage)
    )
    ended, ratio = np.asarray(rollout.ended), np.asarray(bootstrap.ratio, np.float64)
    worst = np.where(rollout.terminated, 0.0, bootstrap.worst.value)
    residuals = np.asarray(rollout.reward) + 0.99 * worst - values
    missing = gains = np.zeros(ENVS)
    for t in reversed(range(STEPS)):
        kept = np.where(ended[t], 0.0, np.clip(ratio[t], 0, 1))
        missing = residuals[t] + 0.99 * 0.95 * kept * missing
        gains = residuals[t] + 0.99 * 0.95 * np.where(ended[t], 0.0, gains)
        np.testing.assert_allclose(target[t], values[t] + missing, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(advantage[t], gains, rtol=1e-4, atol=1e-4)
    assert np.all(bootstrap.worst.value < bootstrap.values.mean(axis=-1))
    assert ratio.min() < 0.5 < 1.5 < ratio.max()


def test_rollouts_carry_the_noise():
    state, rollout, _, _ = robust_batch(noisy(0.5), jnp.float32(1.0))
    noise = rollout.privileged
    assert abs(float(jnp.std(noise.sensor)) - 0.3) < 0.06
    assert abs(float(jnp.std(noise.actuator)) - 0.2) < 0.06
    # What the task gets: the clipped action, shaken, and clipped again.
    asked = np.clip(rollout.action, -1, 1) + np.asarray(noise.actuator)
    np.testing.assert_allclose(applied(rollout), np.clip(asked, -1, 1), rtol=1e-6)
    # Statistics are those of what the policy saw.
    seen = np.asarray(noise.state + noise.sensor).reshape(-1, OBSERVATIONS)
    np.testing.assert_allclose(state.observations.mean, seen.mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(state.observations.variance, seen.var(axis=0), rtol=1e-3)


def updated(learner: PPO, strength: Strength):
    state, rollout = acted(learner, strength)
    return learner.update(state, rollout, PPOHyper(), strength, jax.random.key(3), jnp.float32(0.0))


@pytest.mark.slow
def test_without_noise_learning_is_plain():
    plain, _, nothing = jax.jit(lambda: updated(PLAIN, Strength()))()
    assert nothing == {}
    robust, _, _ = jax.jit(lambda u: updated(ROBUST, u))(noiseless(1.0))
    first, *rest = robust.parameters.critic
    seen = (first._replace(kernel=first.kernel[:OBSERVATIONS]), *rest)
    together = (robust.parameters._replace(critic=seen), plain.parameters)
    for a, b in zip(*map(jax.tree.leaves, together), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(first.kernel[OBSERVATIONS:], 0.0)


def test_rounding_is_no_spread():
    values = jnp.float32([[100.0, 100.0001, 100.0], [0.0, 1e-6, 0.0], [1.0, 1.5, 1.0]])
    np.testing.assert_array_equal(snap_rounding(values), [[100.0] * 3, [0.0] * 3, [1.0, 1.5, 1.0]])
