"""Value targets of a robust critic on a two-state chain: what diverges, and what converges to what.

The chain stays where it is with probability .95 and pays 1 in its second state. For γ = .99,
λ = .95 and a KL ball of radius .5, one sweep of plain GAE over robust residuals multiplies an error
of the values by up to 1.5: I + (I − γλP)⁻¹(γQ − I) has that spectral radius, where P is the nominal
kernel that the rollouts follow and Q the worst case that the residuals contain.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL
from drspcrl.learners.surrogate import gae, worst_case_traces
from drspcrl.tabular import MDP, robust_policy_evaluation

DISCOUNT, TRACE, RADIUS, STAY = 0.99, 0.95, 0.5, 0.95
KERNEL = np.array([[STAY, 1 - STAY], [1 - STAY, STAY]])
CHAIN = MDP(KERNEL[:, None], np.array([[0.0], [1.0]]), DISCOUNT, np.array([0.5, 0.5]))
STEPS, ENVS = 128, 256

pytestmark = pytest.mark.usefixtures("float64")


def laws(draws: int | None) -> np.ndarray:
    """Every law of the successor that a backup may meet, [K, 2]: P0's own, or all shares of n."""
    if draws is None:
        return KERNEL
    share = np.arange(draws + 1) / draws
    return np.stack([1 - share, share], axis=-1)


def rollout(random: np.random.Generator, draws: int | None) -> tuple[np.ndarray, np.ndarray]:
    """States [T + 1, E], and which law each step meets, [T, E]; draw 0 is what came true."""
    states = [random.integers(2, size=ENVS)]
    for _ in range(STEPS):
        states.append(np.where(random.random(ENVS) < STAY, states[-1], 1 - states[-1]))
    states = np.stack(states)
    if draws is None:
        return states, states[:-1]
    others = random.binomial(draws - 1, KERNEL[states[:-1], 1])
    return states, states[1:] + others


@partial(jax.jit, static_argnames="weighted")
def swept(
    values: jax.Array, laws: jax.Array, states: jax.Array, met: jax.Array, weighted: bool
) -> jax.Array:
    """The mean target of each state."""
    worst = jax.vmap(KL().worst_case, (None, 0, None))(values, laws, RADIUS)
    here, following, ended = states[:-1], states[1:], jnp.zeros(met.shape, bool)
    rewards = here.astype(values.dtype)
    residuals = rewards + DISCOUNT * worst.value[met] - values[here]
    if weighted:
        ratio = worst.weights[met, following] / laws[met, following]
        missing = worst_case_traces(residuals, ended, DISCOUNT, TRACE, ratio)
    else:
        missing = gae(residuals, ended, DISCOUNT, TRACE)
    targets = values[here] + missing
    return jnp.stack([jnp.mean(targets, where=here == s) for s in range(2)])


def swept_often(draws: int | None, weighted: bool, sweeps: int) -> np.ndarray:
    """Values after each sweep, [sweeps, 2]; they start at what the rewards add up to nominally."""
    random = np.random.default_rng(0)
    values, history = jnp.array([45.0, 55.0]), []
    for _ in range(sweeps):
        drawn = map(jnp.asarray, rollout(random, draws))
        values = swept(values, jnp.asarray(laws(draws)), *drawn, weighted)
        history.append(np.asarray(values))
    return np.stack(history)


@pytest.mark.parametrize("draws", [None, 64])
def test_plain_gae_diverges_as_value_target(draws):
    size = np.abs(swept_often(draws, weighted=False, sweeps=40)).max(axis=1)
    growth = (size[-1] / size[-11]) ** 0.1
    # The spectral radii are 1.499 for the law itself and 1.385 for 64 draws.
    np.testing.assert_allclose(growth, 1.499 if draws is None else 1.385, rtol=0.1)
    assert size[-1] > 1e5


@pytest.mark.parametrize(("draws", "tolerance"), [(None, 1e-4), (64, 5e-3)])
def test_worst_case_traces_converge_to_the_exact_value(draws, tolerance):
    exact = robust_policy_evaluation(CHAIN, np.zeros(2, int), KL(), RADIUS, draws=draws).values
    history = swept_often(draws, weighted=True, sweeps=250)
    np.testing.assert_allclose(history[-100:].mean(axis=0), exact, atol=tolerance * exact.max())


def test_where_nature_changes_nothing_they_are_plain_gae():
    random = np.random.default_rng(1)
    residuals, ended = random.normal(size=(2, 50, 3))
    ended = jnp.asarray(ended > 1)
    ones = jnp.ones(residuals.shape)
    np.testing.assert_array_equal(
        worst_case_traces(jnp.asarray(residuals), ended, 0.99, 0.95, ones),
        gae(jnp.asarray(residuals), ended, 0.99, 0.95),
    )


def test_by_hand():
    # γλ = .5. Â_2 = 4; Â_1 = 2 + .5·.5·4 = 3; the ratio 3 counts as 1: Â_0 = 1 + .5·3 = 2.5.
    residuals, ratio = jnp.array([1.0, 2.0, 4.0]), jnp.array([3.0, 0.5, 1.0])
    running = jnp.zeros(3, bool)
    found = worst_case_traces(residuals, running, 1.0, 0.5, ratio)
    np.testing.assert_allclose(found, [2.5, 3.0, 4.0])
    # A negative weight is none, and no trace passes the end of an episode.
    found = worst_case_traces(residuals, running.at[0].set(True), 1.0, 0.5, ratio.at[1].set(-1.0))
    np.testing.assert_allclose(found, [1.0, 2.0, 4.0])
