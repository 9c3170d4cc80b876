"""The replay buffer against a plain list of transitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners import replay
from drspcrl.learners.replay import EnvStep


def play(envs: int, transitions: int, steps: int, episode: float, seed: int = 0):
    """Random episodes; returns the buffer and every transition ever, by environment."""
    random = np.random.default_rng(seed)
    now = random.normal(size=(envs, 2))
    buffer = replay.init(jnp.asarray(now, jnp.float32), 1, transitions)
    add = jax.jit(replay.add)
    history = [[] for _ in range(envs)]
    for t in range(steps):
        action = random.uniform(-1, 1, (envs, 1))
        final = random.normal(size=(envs, 2))
        terminated = random.random(envs) < episode / 2
        ended = terminated | (random.random(envs) < episode / 2)
        following = np.where(ended[:, None], random.normal(size=(envs, 2)), final)
        reward = np.arange(envs) * 1000.0 + t  # names the transition
        for e in range(envs):
            history[e].append((now[e], action[e], reward[e], final[e], terminated[e]))
        outcome = EnvStep(*map(as_device, (following, final, reward, terminated, ended)))
        buffer = add(buffer, jnp.float32(action), outcome)
        now = following
    return buffer, history


def as_device(array: np.ndarray) -> jax.Array:
    return jnp.asarray(array if array.dtype == bool else array.astype(np.float32))


@pytest.mark.parametrize(
    ("transitions", "steps", "episode"),
    [(50, 30, 0.2), (40, 200, 0.0), (40, 200, 0.02), (40, 333, 0.5), (7, 100, 1.0)],
)
def test_every_sample_is_a_true_transition_and_all_living_ones_are_drawn(
    transitions, steps, episode
):
    envs = 3
    buffer, history = play(envs, transitions, steps, episode)
    batch = jax.tree.map(np.asarray, replay.sample(buffer, jax.random.key(1), 20_000))
    env, step = np.divmod(batch.reward.astype(int), 1000)
    for i, drawn in enumerate(batch):
        true = np.stack([np.stack([row[i] for row in rows]) for rows in history])[env, step]
        np.testing.assert_array_equal(drawn, true.astype(drawn.dtype))
    alive = np.asarray(buffer.added - buffer.oldest)
    names, counts = np.unique(batch.reward, return_counts=True)
    newest = [1000 * e + t for e in range(envs) for t in range(steps - alive[e], steps)]
    np.testing.assert_array_equal(names, newest)  # the newest ones, without a gap
    assert chi_squared(counts) < 1.5


def chi_squared(counts: np.ndarray) -> float:
    """Mean squared deviation from a uniform draw, in its own variance: about 1."""
    return float(np.mean(np.square(counts - counts.mean())) / counts.mean())


@pytest.mark.parametrize("episode", [0.0, 0.02])
def test_ordinary_episodes_fill_the_ring(episode):
    buffer, _ = play(2, 200, 500, episode)
    np.testing.assert_array_equal(buffer.added - buffer.oldest, 200)


def test_one_step_episodes_keep_half_and_lose_nothing_else():
    # Two of the 64 + 2 + 2 observation slots for each transition, one for the next beginning.
    buffer, _ = play(1, 64, 300, 2.0)
    assert int((buffer.added - buffer.oldest)[0]) == (64 + 2 + 2 - 1) // 2


def test_observations_are_stored_once():
    buffer, _ = play(1, 64, 10, 0.0)
    stored = np.asarray(buffer.observation[0])
    assert np.count_nonzero(stored.any(axis=1)) == 11  # ten steps and the first


def test_jitted_add_works_in_place():
    buffer = replay.init(jnp.zeros((2, 3)), 1, 1000)
    pointer = buffer.observation.unsafe_buffer_pointer()
    outcome = EnvStep(*(jnp.zeros(s) for s in ((2, 3), (2, 3), (2,))), *[jnp.zeros(2, bool)] * 2)
    add = jax.jit(replay.add, donate_argnums=0)
    assert add(buffer, jnp.zeros((2, 1)), outcome).observation.unsafe_buffer_pointer() == pointer
