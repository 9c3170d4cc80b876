"""The robust value: its identities, its gradient, and what it is made of."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CVaR, TotalVariation
from drspcrl.errors import InputError
from drspcrl.learners import DDPG, SAC, TD3, DDPGHyper, SACHyper, ddpg, sac
from drspcrl.learners.actor_critic import critic_target, seen_by_critic, twin_loss
from drspcrl.learners.networks import Layer
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import Backup, NoisyInputs, Plain, Uncertainty, undisturbed
from drspcrl.transitions.backup import Transitions, backup_states, chosen, mean_where, pick
from drspcrl.transitions.dual import Exact, FirstOrderWasserstein, Gaussian, NetworkDual
from drspcrl.transitions.nominal import KINDS, Noise, NoiseState, Scales, Spread, Strength

pytestmark = pytest.mark.usefixtures("float64")
LEARNERS = {"sac": (SAC, SACHyper()), "ddpg": (DDPG, DDPGHyper()), "td3": (TD3, DDPGHyper())}
NOISY = Scales(sensor=np.float64(0.3), actuator=np.float64(0.2), process=np.float64(0.5))
DUALS = {
    "kl": Exact(KL()),
    "kl in steps": Exact(),
    "chi2": Exact(ChiSquared()),
    "tv": Exact(TotalVariation()),
    "cvar": Exact(CVaR()),
    "gaussian": Gaussian(),
}


def batch(size: int = 16) -> Batch:
    random = np.random.default_rng(0)
    return Batch(
        observation=jnp.asarray(random.normal(size=(size, 3))),
        action=jnp.asarray(random.uniform(-1, 1, (size, 2))),
        reward=jnp.asarray(random.normal(size=size)),
        next_observation=jnp.asarray(random.normal(size=(size, 3))),
        terminated=jnp.asarray(random.random(size) < 0.2),
    )


def make(name: str, uncertainty: Uncertainty):
    learner = LEARNERS[name][0](hidden=(16, 16), uncertainty=uncertainty)
    return learner, learner.init(jax.random.key(0), 3, 2)


@cache
def compiled(name: str, uncertainty: Transitions):
    learner, state = make(name, uncertainty)

    def face(strength):
        backup = learner.backup(state, batch(), strength, jax.random.key(1))
        seen, worst, _ = backup.actor_inputs
        return state._replace(robust=backup.known), seen, worst

    return learner, jax.jit(face)


def faced(name: str, uncertainty: Transitions, strength: Strength):
    """The learner, and its backup of a batch: state, states with their draws and worst case."""
    learner, face = compiled(name, uncertainty)
    return learner, *face(strength)


def plain_value(name: str, state, inputs: NoisyInputs, z):
    """The value of the target networks, written again."""
    if name == "ddpg":
        return ddpg.policy_value(state.target_actor, state.target_critic, inputs, z)[0]
    if name == "td3":
        targets = state.target_actor, state.target_critic
        return TD3().smoothed_value(jnp.min, *targets, inputs, z)[0]
    return sac.soft_value(state, state.actor, state.targets, inputs, z)[0]


ALL = ["sac", "ddpg", pytest.param("td3", marks=pytest.mark.slow)]
# Every dual with one learner, the default with all; a few of them in the quick suite.
CASES = [
    (name, dual)
    if dual in ("kl in steps", "tv") and name != "td3"
    else pytest.param(name, dual, marks=pytest.mark.slow)
    for name, dual in (
        *(("ddpg", dual) for dual in DUALS),
        ("sac", "kl in steps"),
        ("td3", "kl in steps"),
    )
]


@pytest.mark.parametrize(("name", "dual"), CASES)
def test_without_noise_it_is_the_plain_value_for_every_epsilon(name, dual):
    for epsilon in (0.0, 0.3, 1.0):
        against = Strength(jnp.array(epsilon), Scales(*jnp.zeros(3)))
        _, state, seen, worst = faced(name, Transitions(dual=DUALS[dual]), against)
        states = seen.origin.next_observation
        expected = plain_value(name, state, undisturbed(states), seen.z[:, 0])
        np.testing.assert_allclose(worst.value, expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "dual"), [*CASES, ("sac", "network")])
def test_at_epsilon_zero_it_is_the_mean_over_the_draws(name, dual):
    robust = Transitions(dual=DUALS.get(dual) or NetworkDual((8,)))
    _, state, seen, worst = faced(name, robust, Strength(jnp.array(0.0), NOISY))
    values = plain_value(name, state, seen.inputs, seen.z)
    np.testing.assert_allclose(worst.value, values.mean(axis=1), rtol=1e-12)
    assert np.ptp(values, axis=1).min() > 1e-4
    assert np.isfinite(worst.slope).all()


@pytest.mark.parametrize(("name", "dual"), [case for case in CASES if "gaussian" not in str(case)])
def test_the_target_is_the_divergence_s_worst_case(name, dual):
    ε = jnp.array(0.4)
    _, state, seen, worst = faced(name, Transitions(dual=DUALS[dual]), Strength(ε, NOISY))
    values = plain_value(name, state, seen.inputs, seen.z)
    divergence = KL() if dual == "kl in steps" else DUALS[dual].divergence
    solve = jax.vmap(divergence.worst_case, in_axes=(0, None, None))
    expected = jax.jit(solve)(values, jnp.full(8, 1 / 8), ε)
    np.testing.assert_allclose(worst.value, expected.value, rtol=1e-8)
    np.testing.assert_allclose(worst.multiplier, expected.multiplier, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_half_precision_changes_the_target_by_its_rounding_alone(name):
    against = Strength(jnp.array(0.4), NOISY)
    _, _, _, full = faced(name, Transitions(), against)
    _, _, _, half = faced(name, Transitions(precision="float16"), against)
    assert half.value.dtype == full.value.dtype
    error = np.abs(half.value - full.value).max() / np.std(full.value)
    assert 0 < error < 0.01


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_without_noise_and_the_plain_one_learn_the_same_target(name, monkeypatch):
    # One update of both, with the same exploration noise: the critics move alike.
    learner, state = make(name, Transitions(draws=4))
    hyper, key = LEARNERS[name][1], jax.random.key(1)
    against = Strength(jnp.array(0.7), Scales())
    update = jax.jit(
        lambda state: learner.update(state, batch(), hyper, against, key, jnp.int32(1))
    )
    after, _ = update(state)
    plain, plain_state = make(name, Plain())
    z_key = jax.random.split(jax.random.split(key)[0])[1]
    z = jax.random.normal(z_key, (17, 2))[:16]
    monkeypatch.setattr(
        "drspcrl.learners.uncertainty.normal", lambda key, shape: jnp.stack([z, jnp.zeros_like(z)])
    )
    backup = plain.backup(plain_state, batch(), against, key)
    target = critic_target(plain.uncertainty, backup, batch(), hyper, against)
    if name == "sac":
        expected, _ = plain._critic_step(plain_state, batch(), target, hyper)
    else:
        seen = seen_by_critic(plain.uncertainty, batch())
        loss = twin_loss if name == "td3" else ddpg.critic_loss
        expected, _ = ddpg.critic_step(loss, plain_state, seen, target, hyper)
    part = "critics" if name == "sac" else "critic"
    for a, b in zip(
        jax.tree.leaves(getattr(after, part)), jax.tree.leaves(getattr(expected, part)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_noise_goes_where_it_belongs():
    # Linear networks of one number: π's mean is 0.1·o, Q = s + 2a. Each noise shows in its place.
    actor = (Layer(jnp.array([[0.1, 0.0]]), jnp.array([0.0, -10.0])),)
    critics = (Layer(jnp.array([[[1.0], [2.0]]] * 2), jnp.zeros((2, 1))),)
    state = SAC(()).init(jax.random.key(0), 1, 1)
    state = state._replace(actor=actor, targets=critics, log_temperature=jnp.array(-jnp.inf))
    s, w, η, ν = 0.5, 0.2, -0.4, 0.3
    inputs = NoisyInputs(jnp.array([[s + w]]), jnp.array([[s + w + η]]), jnp.array([[ν]]))
    value, _ = sac.soft_value(state, actor, critics, inputs, jnp.zeros((1, 1)))
    np.testing.assert_allclose(value, s + w + 2 * (np.tanh(0.1 * (s + w + η)) + ν), rtol=1e-9)
    full = inputs._replace(actuator=jnp.array([[7.0]]))
    value, _ = sac.soft_value(state, actor, critics, full, jnp.zeros((1, 1)))
    np.testing.assert_allclose(value, s + w + 2.0, rtol=1e-12)  # actions arrive clipped


def test_all_draws_of_a_state_share_one_exploration_noise():
    _, _, seen, _ = faced(
        "sac", Transitions(dual=DUALS["kl in steps"]), Strength(jnp.array(0.5), NOISY)
    )
    assert seen.z.shape == (17, 1, 2)
    assert seen.inputs.true.shape == (17, 8, 3)


def test_states_to_face():
    # Successors first; the last few are where transitions began, and they are always alive.
    given = batch(16)
    origin, alive = backup_states(given)
    np.testing.assert_array_equal(origin.next_observation[:16], given.next_observation)
    np.testing.assert_array_equal(origin.next_observation[16:], given.observation[:1])
    np.testing.assert_array_equal(alive, [*~given.terminated, True])


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.7], [-0.25, 0.5, 0.75]])
def test_one_draw_has_the_mean_of_all(weights):
    many = 200_000
    index, factor = pick(jnp.broadcast_to(jnp.array(weights), (many, 3)), jax.random.key(0))
    x = np.array([5.0, -2.0, 3.0])
    estimates = np.asarray(factor) * x[np.asarray(index)]
    error = 4 * estimates.std() / np.sqrt(many)
    np.testing.assert_allclose(estimates.mean(), np.dot(weights, x), atol=error)


# Not with TD3, whose weights are of both target critics and whose actor ascends the first critic.
@pytest.mark.parametrize("name", ["sac", "ddpg"])
def test_the_gradient_of_one_draw_is_in_the_mean_that_of_all(name):
    # Its mean over which draw is picked, written out: Σ_i w_i ∇V_i, against ∇U by autodiff. The
    # weights are those of the target critics, which at the start are the learning ones.
    ε = jnp.array(0.5)
    whole, state, seen, worst = faced(
        name, Transitions(dual=DUALS["kl in steps"]), Strength(ε, NOISY)
    )

    def value(actor):
        if name == "ddpg":
            return partial(ddpg.policy_value, actor, state.critic)
        return partial(sac.soft_value, state, actor, state.critics)

    def mean_of_one(actor):
        total = 0.0
        for i in range(8):
            one = chosen(seen.inputs, jnp.full(17, i))
            values = worst.weights[:, i] * value(actor)(one, seen.z[:, 0])[0]
            total -= mean_where(seen.alive, values)
        return total

    def of_all(actor):
        backup = Backup(state.robust, worst.value[:16], (seen, worst, jax.random.key(0)))
        found = whole.actor_loss(actor, state, backup, Strength(ε, NOISY))
        return jax.tree.leaves(found)[0]

    expected = jax.jit(jax.grad(of_all))(state.actor)
    found = jax.jit(jax.grad(mean_of_one))(state.actor)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_draws_are_chosen_together():
    parts = jnp.arange(24.0).reshape(2, 4, 3)
    one = chosen(NoisyInputs(parts, -parts, parts[..., :1]), jnp.array([2, 0]))
    np.testing.assert_array_equal(one.true, [parts[0, 2], parts[1, 0]])
    np.testing.assert_array_equal(one.seen, -one.true)
    np.testing.assert_array_equal(one.actuator, one.true[:, :1])


def test_what_all_draws_share_is_chosen_with_each():
    shared, own = jnp.arange(6.0).reshape(2, 1, 3), jnp.arange(24.0).reshape(2, 4, 3)
    one = chosen(NoisyInputs(shared, own, own), jnp.array([2, 0]))
    np.testing.assert_array_equal(one.true, shared[:, 0])
    np.testing.assert_array_equal(one.seen, [own[0, 2], own[1, 0]])


@pytest.mark.parametrize("name", ["sac", "ddpg"])
def test_draws_that_share_their_state_are_worth_what_they_are_apart(name):
    scales, ε = Scales(sensor=0.3), jnp.array(0.5)
    found = []
    for kinds in (("sensor",), KINDS):
        learner, state = make(name, Transitions(Noise(kinds=kinds)))
        form = learner.uncertainty
        seen = form.draw_batch(state.robust, *backup_states(batch()), scales, jax.random.key(3))
        if name == "sac":
            value = partial(sac.soft_value, state, state.actor, state.targets)
        else:
            value = partial(ddpg.policy_value, state.target_actor, state.target_critic)
        worst, _, _ = form.worst_case(state.robust, value, seen, ε)
        found.append((seen.inputs.true.shape[1], worst.value))
    (one, shared), (many, apart) = found
    assert (one, many) == (1, 8)
    assert float(jnp.std(apart)) > 0
    np.testing.assert_allclose(shared, apart, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_wasserstein_is_the_value_less_its_steepness():
    # Without noise the n draws are one point: U = V − ε·‖unit∘dV/ds‖, dV/ds through the policy.
    ε, unit = 0.3, np.array([1.0, 2.0, 0.5])
    learner, state = make("ddpg", Transitions(dual=FirstOrderWasserstein(), draws=2))
    spread = Spread(jnp.zeros(3), jnp.asarray(unit**2 - 1e-8), jnp.array(1000.0))
    known = state.robust._replace(nominal=NoiseState(spread, spread))
    origin, alive = backup_states(batch())
    form = learner.uncertainty
    seen = form.draw_batch(known, origin, alive, Scales(), jax.random.key(0))
    value = partial(ddpg.policy_value, state.actor, state.critic)
    worst, _, _ = jax.jit(lambda: form.worst_case(known, value, seen, jnp.array(ε)))()

    def at(s):
        inputs = undisturbed(s[None])
        return ddpg.policy_value(state.actor, state.critic, inputs, jnp.zeros((1, 2)))[0][0]

    for s, u, slope in zip(origin.next_observation, worst.value, worst.slope, strict=True):
        steep = np.linalg.norm(unit * jax.grad(at)(s))
        np.testing.assert_allclose(u, at(s) - ε * steep, rtol=1e-9)
        np.testing.assert_allclose(slope, steep, rtol=1e-9)


def test_wrong_numbers():
    with pytest.raises(InputError, match="draws is 1"):
        Transitions(draws=1)
    with pytest.raises(InputError, match="actor_draws is 'two'"):
        Transitions(actor_draws="two")
    with pytest.raises(InputError, match="precision is 'float8'; choose one of float32, float16"):
        Transitions(precision="float8")
