"""What the uncertainty object of worlds says: noise, targets, tilts and prices."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.divergences import KL, ChiSquared, CVaR, TotalVariation
from drspcrl.learners import DDPG, PPO, SAC, TD3, DDPGHyper, PPOHyper, SACHyper
from drspcrl.learners.actor_critic import critic_target
from drspcrl.learners.experience import Rollout, SignalInputs
from drspcrl.learners.ppo import PPOState, normalise_rewards
from drspcrl.learners.replay import Batch
from drspcrl.learners.sac import entropy_range
from drspcrl.learners.uncertainty import Backup, NoisyInputs, Plain
from drspcrl.worlds import WorldModel, declared, learning, signal, tilt, world_model
from drspcrl.worlds.learning import MARGIN, Worlds
from drspcrl.worlds.signal import RADII, WINDOW, WorldStrength, fitted_slope, near_radii
from drspcrl.worlds.tilt import CANDIDATES, STARTS, SolvedTilt, at_starts, solve_tilt, tilt_weight

SIZE, A, B = 2, 1, 64
THETA = {"name": "theta", "nominal": 0.0, "tolerance": 0.5, "law": "above"}
KEY = jax.random.key(0)
HYPER = {SAC: SACHyper, DDPG: DDPGHyper, TD3: DDPGHyper}
OFF_POLICY = [SAC, DDPG, pytest.param(TD3, marks=pytest.mark.slow)]
NOTHING: Any = None  # of what is known


def model(**changes) -> WorldModel:
    unit = changes.pop("unit", None)
    given = {"sensor": 0.1, "actuator": 0.2, "bias": 0.3, "parameters": [THETA]} | changes
    return world_model(declared(given), None, SIZE, A, unit)


def strength(ρ: float = 0.5, τ: float = 0.0, budget: float = 1.0) -> WorldStrength:
    return WorldStrength(*(jnp.float32(x) for x in (ρ, budget, τ)))


def batch(form: Worlds, n: int = B, seed: int = 0) -> Batch:
    random = np.random.default_rng(seed)
    size = SIZE + form.coordinates
    rows = [jnp.asarray(random.normal(size=shape), jnp.float32) for shape in ((n, size), (n, size))]
    action = jnp.tanh(jnp.asarray(random.normal(size=(n, A)), jnp.float32))
    reward = jnp.asarray(random.uniform(-1, 1, n), jnp.float32)
    return Batch(rows[0], action, reward, rows[1], jnp.zeros(n, bool))


def of_kind(worlds: WorldModel, **values: float) -> jax.Array:
    """One world whose coordinates of each kind are all the same."""
    f = np.zeros(worlds.size, np.float32)
    for kind, value in values.items():
        f[worlds.columns(kind)] = value
    return jnp.asarray(f)


def test_sensor_noise_actuator_noise_and_bias_act_in_the_users_units():
    n, unit = 100_000, np.array([1.0, 10.0])
    form = Worlds(model(unit=unit))
    states = jnp.ones((n, SIZE))
    world = of_kind(form.model, sensor=2.0, actuator=1.5, bias=-1.0)
    inputs = form.disturbed(states, jnp.broadcast_to(world, (n, form.coordinates)), KEY)
    error = np.asarray(inputs.seen) - 1.0
    # Standard errors: a level by √(2n) is .22%, a mean by √n .32% of its level; five of them.
    np.testing.assert_allclose(error.std(axis=0), 2.0 * 0.1 * unit, rtol=0.012)
    np.testing.assert_allclose(error.mean(axis=0), -0.3 * unit, atol=0.016 * unit[1])
    assert inputs.actuator is not None
    np.testing.assert_allclose(np.asarray(inputs.actuator).std(axis=0), 1.5 * 0.2, rtol=0.012)
    np.testing.assert_array_equal(inputs.true, states)
    assert inputs.sensor is not None
    np.testing.assert_allclose(inputs.sensor, error, atol=1e-5)
    np.testing.assert_array_equal(inputs.arriving(jnp.full((n, A), 0.9)).max(), 1.0)
    assert inputs.critic[0].shape == (n, form.coordinates)


def test_each_kind_acts_by_itself_and_none_in_the_simulator():
    form = Worlds(model())
    states = jnp.ones((B, SIZE))

    def seen(**values):
        world = jnp.broadcast_to(of_kind(form.model, **values), (B, form.coordinates))
        return form.noisy_inputs(
            NOTHING, jnp.concatenate([states, world], axis=1), strength(), A, KEY
        )

    nothing = seen(parameters=1.0)
    np.testing.assert_array_equal(nothing.seen, states)
    np.testing.assert_array_equal(nothing.actuator, np.zeros((B, A)))
    assert not np.array_equal(seen(sensor=1.0).seen, states)
    np.testing.assert_allclose(seen(bias=1.0).seen, states + 0.3)
    assert np.all(np.asarray(seen(actuator=1.0).actuator) != 0)
    without = Worlds(model(sensor=0.0, actuator=0.0, bias=0.0))
    world = jnp.zeros((B, 1))
    inputs = without.noisy_inputs(
        NOTHING, jnp.concatenate([states, world], axis=1), strength(), A, KEY
    )
    np.testing.assert_array_equal(inputs.seen, states)
    assert inputs.actuator is None


def test_units_are_draws_of_the_law():
    form = Worlds(model())
    u = np.asarray(form.units(KEY, 50_000))
    assert np.mean(np.sum(u * u, axis=1)) == pytest.approx(form.model.mean_square, rel=0.02)


# Targets.

REWARDS = (-1.0, 2.0)


def bounded(form: Worlds, target, budget: float, bonus=(0.0, 0.0)) -> np.ndarray:
    known = form.init(KEY, SIZE, A)._replace(
        low=jnp.float32(REWARDS[0]), high=jnp.float32(REWARDS[1])
    )
    return np.asarray(form.bound(known, jnp.asarray(target), strength(budget=budget), 0.9, bonus))


def test_targets_stay_within_what_rewards_allow():
    form, wild = Worlds(model()), [-1e6, -9.0, 0.0, 19.0, 1e6]
    # From −1 to 2 for ever is −10 to 20; a tenth of that width may lie beyond either end.
    np.testing.assert_allclose(bounded(form, wild, 1.0), [-13, -9, 0, 19, 23], rtol=1e-5)
    # An entropy bonus from −.5 to .25 in each step may come on top.
    bonus = bounded(form, wild, 1.0, (-0.5, 0.25))
    np.testing.assert_allclose(bonus, [-18, -9, 0, 19, 25.5], rtol=1e-5)
    np.testing.assert_array_equal(bounded(form, wild, 0.0), np.array(wild, np.float32))  # vanilla
    np.testing.assert_array_equal(bounded(Worlds(model(), bounded=False), wild, 1.0), wild)


def test_a_value_at_the_bound_is_not_bent_down():
    """Targets around the best that there is, 20, keep their mean."""
    around = 20.0 + np.random.default_rng(0).normal(size=1000).clip(-2.9, 2.9)
    kept = bounded(Worlds(model()), around, 1.0)
    np.testing.assert_allclose(kept, around, rtol=1e-6)


def test_an_end_is_worth_0_whatever_rewards_are():
    form = Worlds(model())
    known = form.init(KEY, SIZE, A)._replace(high=jnp.float32(2.0))  # all rewards from 1 to 2
    found = form.bound(known, jnp.array([-5.0, 0.5]), strength(), 0.9, (0.0, 0.0))
    np.testing.assert_allclose(found, [-2.0, 0.5], rtol=1e-6)  # 0, and a tenth of 20 below it


@pytest.mark.parametrize("kind", OFF_POLICY)
def test_an_overvaluing_critics_target_is_clipped(kind):
    form = Worlds(model())
    learner, hyper = kind(hidden=(8,), uncertainty=form), HYPER[kind]()
    state = learner.init(KEY, SIZE, A)
    targets = "targets" if kind is SAC else "target_critic"
    network = getattr(state, targets)
    last = network[-1]._replace(bias=network[-1].bias + 1e6)
    state = state._replace(**{targets: (*network[:-1], last)})
    data = batch(form)
    bonus = entropy_range(state, A) if kind is SAC else (0.0, 0.0)

    @jax.jit
    def target(budget: float) -> jax.Array:
        now = strength()._replace(budget=budget)
        backup = learner.backup(state, data, now, KEY)
        return critic_target(form, backup, data, hyper, now, bonus)

    width = float(data.reward.max() - data.reward.min())
    most = (float(data.reward.max()) + float(bonus[1]) + MARGIN * width) * 100
    np.testing.assert_allclose(target(1.0), most, rtol=1e-4)
    assert target(0.0).min() > 9e5  # a vanilla member


def acted(learner: PPO, now: WorldStrength) -> tuple[PPOState, Rollout]:
    """A new member, and a rollout through states that do not care what it does."""
    random, (steps, envs) = np.random.default_rng(0), (16, 4)
    size = SIZE + learner.uncertainty.coordinates
    states = jnp.asarray(random.normal(size=(steps + 1, envs, size)), jnp.float32)
    terminated = random.random((steps, envs)) < 0.1
    state = learner.init(jax.random.key(1), SIZE, A, envs)
    keys = jax.random.split(jax.random.key(2), steps)
    given = states[:-1], keys
    state, drawn = jax.lax.scan(lambda s, x: learner.act(s, x[0], now, x[1]), state, given)
    rollout = Rollout(
        **drawn._asdict(),
        final_observation=states[1:, :, :SIZE],
        reward=jnp.asarray(random.uniform(-1, 2, (steps, envs)), jnp.float32),
        terminated=jnp.asarray(terminated),
        ended=jnp.asarray(terminated),
        signal_inputs=SignalInputs(states[0, :, :SIZE]),
    )
    return state, rollout


def ppo_in(bounded: bool) -> PPO:
    return PPO((8,), epochs=1, minibatches=2, uncertainty=Worlds(model(), bounded=bounded))


@jax.jit
def ppo_targets(excess: float, budget: float) -> tuple[Any, ...]:
    """PPO's targets where the critic overvalues everything, without a bound and with it."""
    learner, now = ppo_in(bounded=True), strength()._replace(budget=budget)
    state, rollout = acted(learner, now)
    last = state.parameters.critic[-1]
    critic = (*state.parameters.critic[:-1], last._replace(bias=last.bias + excess))
    state = state._replace(parameters=state.parameters._replace(critic=critic))
    known = learner.uncertainty.observe_rewards(state.robust, rollout.reward)
    state, rewards, unit = normalise_rewards(state, rollout, PPOHyper().discount)
    normalised = rollout._replace(reward=rewards)
    backup = learner.rollout_backup(state, normalised, now, KEY)
    free = learner.training_batch(state, normalised, PPOHyper(), backup)
    bound = learner.bounded(known, free, PPOHyper(), now, unit)
    return rollout.reward, rewards, unit, free.target, bound.target


def test_an_overvaluing_critics_target_is_clipped_in_ppo():
    reward, rewards, unit, free, bound = ppo_targets(1e6, 1.0)
    # In the critic's units, in which no reward of the rollout is above max(r)/unit.
    assert float(rewards.max()) <= float(reward.max() / unit) * 1.00001
    margin = MARGIN * (reward.max() - reward.min())
    most = float((reward.max() + margin) / unit) * 100
    least = float((reward.min() - margin) / unit) * 100
    assert np.mean(np.asarray(free) > most) > 0.8  # all but ends, whose targets are rewards
    np.testing.assert_allclose(bound, np.clip(free, least, most), rtol=1e-4)
    *_, free, low = ppo_targets(-1e6, 1.0)
    assert float(free.min()) < 10 * least
    np.testing.assert_allclose(low, np.clip(free, least, most), rtol=1e-4)
    *_, free, vanilla = ppo_targets(1e6, 0.0)
    np.testing.assert_array_equal(vanilla, free)


def test_a_bound_that_does_not_bind_changes_no_bit_of_ppo():
    *_, free, bound = ppo_targets(0.0, 1.0)
    np.testing.assert_array_equal(free, bound)
    learner, now = ppo_in(bounded=True), strength()
    first, rollout = acted(learner, now)
    update = jax.jit(learner.update)

    def learned(seen: float) -> Any:
        """After two updates, where rewards of that size were seen before."""
        known = first.robust._replace(low=jnp.float32(-seen), high=jnp.float32(seen))
        state, metrics = first._replace(robust=known), {}
        for _ in range(2):
            state, metrics, _ = update(state, rollout, PPOHyper(), now, KEY, jnp.float32(0.0))
        logged = {k: v for k, v in metrics.items() if not k.startswith("reward_")}
        return state._replace(robust=()), logged

    for one, two in zip(*map(jax.tree.leaves, (learned(0.0), learned(1e30))), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_range_of_rewards_is_remembered():
    form = Worlds(model())
    value: Any = lambda inputs, z: (jnp.zeros(inputs.seen.shape[:-1]),) * 2  # noqa: E731
    known, seen = form.init(KEY, SIZE, A), []
    for seed in range(3):
        data = batch(form, seed=seed)
        known = form.backup(known, value, data, strength(), KEY).known
        seen += [data.reward.min(), data.reward.max()]
    assert (known.low, known.high) == (min(seen), max(seen))


# The tilt.

BALLS = {"kl": KL(), "chi2": ChiSquared(), "tv": TotalVariation(), "cvar": CVaR()}
VALUES = jnp.asarray(np.random.default_rng(5).normal(size=CANDIDATES), jnp.float32)


def tilted(ball: str, τ: float, values=VALUES) -> SolvedTilt:
    return solve_tilt(BALLS[ball], values, jnp.zeros((STARTS, SIZE)), jnp.float32(τ))


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("τ", [0.1, 0.5])
def test_a_tilt_is_the_worst_case_over_candidates(ball, τ):
    solved, β, weights = tilted(ball, τ)
    even = jnp.full(CANDIDATES, 1 / CANDIDATES)
    worst = BALLS[ball].worst_case(VALUES, even, jnp.float32(τ))
    np.testing.assert_allclose(weights, worst.weights, atol=1e-6)
    assert weights @ VALUES < VALUES.mean() - 0.01
    assert float(β) == pytest.approx(float(worst.multiplier))
    # As a function of the value it gives every candidate its own weight, with a mean of 1.
    ratios = tilt_weight(solved, VALUES, jnp.float32(τ))
    np.testing.assert_allclose(ratios, worst.weights * CANDIDATES, atol=2e-5)
    assert float(ratios.mean()) == pytest.approx(1.0, abs=1e-5)


def test_a_kl_tilt_is_exponential():
    solved, β, _ = tilted("kl", 0.5, jnp.linspace(-2.0, 2.0, CANDIDATES))
    within = np.linspace(-2.0, 2.0, 500, dtype=np.float32)
    expected = np.exp(-within / float(β))
    found = tilt_weight(solved, jnp.asarray(within), jnp.float32(0.5))
    # Between two candidates, h apart, a line exceeds the exponential by at most h²/8β².
    np.testing.assert_allclose(found, expected / expected.mean(), rtol=(4 / 63) ** 2 / 8 / 0.3**2)
    assert float(β) > 0.3


@pytest.mark.parametrize("ball", BALLS)
def test_without_a_radius_a_tilt_changes_no_bit(ball):
    solved, β, weights = tilted(ball, 0.0)
    others = jnp.linspace(-9.0, 9.0, 50)
    np.testing.assert_array_equal(tilt_weight(solved, others, jnp.float32(0.0)), np.ones(50))
    np.testing.assert_array_equal(weights, np.full(CANDIDATES, np.float32(1 / CANDIDATES)))
    assert float(β) == 0.0


def test_weights_have_a_mean_of_1_and_are_constants():
    solved, *_ = tilted("kl", 0.5)
    values = jnp.linspace(-1.0, 4.0, 50)
    assert float(tilt_weight(solved, values, jnp.float32(0.5)).mean()) == pytest.approx(1.0)
    slope = jax.grad(lambda x: tilt_weight(solved, x, jnp.float32(0.5)) @ jnp.arange(50.0))(values)
    assert not np.any(slope)


def linear(inputs: NoisyInputs, z: Any) -> tuple[jax.Array, jax.Array]:
    """V = 10 + s₀ − 2θ − 3a² with actions that are nothing but noise."""
    del z
    column = model().columns("parameters")[0]
    assert inputs.world is not None
    assert inputs.actuator is not None
    cost = 2 * inputs.world[..., column] + 3 * jnp.sum(inputs.actuator**2, axis=-1)
    values = 10.0 + inputs.true[..., 0] - cost
    return values, jnp.zeros_like(values)


STATE_COLUMN = jnp.linspace(-100.0, 100.0, 16)
SHOWN = SignalInputs(jnp.stack([STATE_COLUMN, jnp.zeros(16)], axis=1))


FORMS = {
    "plain": Worlds(model()),
    "starts": Worlds(model(), at_starts=True),
    "weighted": Worlds(model(), tilted=True),
    "sampled": Worlds(model(), tilted=True, weighted=False),
}


@cache
def signal_of(name: str) -> Any:
    form = FORMS[name]
    return jax.jit(
        lambda known, data, shown, now: form.signal(known, linear, linear, data, shown, now, KEY)
    )


def told(name: str, now: WorldStrength, shown=SHOWN, data: Batch | None = None):
    form = FORMS[name]
    data = batch(form, 4096) if data is None else data
    return signal_of(name)(form.init(KEY, SIZE, A), data, shown, now)


def test_start_states_are_not_taken_for_worlds():
    """Starts differ a hundred times more than worlds do: a tilt is about worlds all the same."""
    form, now = FORMS["weighted"], strength(τ=0.5)
    own = told("weighted", now).known.tilt
    world = jnp.asarray(np.random.default_rng(1).normal(size=(50, form.coordinates)), jnp.float32)
    world = 0.5 * jnp.abs(world)
    starts, worlds = at_starts(own.starts, world)
    assert starts.shape == (STARTS, 50, SIZE)
    assert worlds.shape == (STARTS, 50, form.coordinates)
    quiet = world.at[:, form.model.columns("actuator")].set(0.0)
    values = linear(form.disturbed(*at_starts(own.starts, quiet), KEY), None)[0].mean(axis=0)
    weights = np.asarray(tilt_weight(own, values, now.tilt))
    order = np.argsort(np.asarray(quiet[:, form.model.columns("parameters")[0]]))
    assert np.all(np.diff(weights[order]) >= -1e-6)  # the costlier the world, the heavier
    assert weights.max() > 2.0
    assert float(own.values.max() - own.values.min()) < 10.0


def test_updates_weigh_worlds_as_the_tilt_was_solved():
    """With one kind of value and the same starts, the batch's mean ratio needs no correction."""
    form = Worlds(model(actuator=0.0), tilted=True)
    column = form.model.columns("parameters")[0]

    def value(inputs: NoisyInputs, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        assert inputs.world is not None
        values = inputs.true[..., 0] - 2 * inputs.world[..., column] - 5.0
        return values, jnp.zeros_like(values)

    def other(inputs: NoisyInputs, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, log_density = value(inputs, z)
        return values + 5000.0, log_density  # such as a value without entropy

    now, data = strength(ρ=1.0, τ=0.3), batch(form, 4096)
    units = form.units(jax.random.key(7), 4096)
    data = data._replace(observation=data.observation.at[:, SIZE:].set(units))

    @jax.jit
    def weigh(data: Batch) -> tuple[Any, jax.Array]:
        known = form.signal(form.init(KEY, SIZE, A), value, other, data, SHOWN, now, KEY).known
        return known, form.backup(known, value, data, now, KEY).actor_inputs[2]

    known, weight = weigh(data)
    # For KL the exact weight is exp(2θ/β), normalised.
    _, β, _ = solve_tilt(form.divergence, known.tilt.values, known.tilt.starts, now.tilt)
    exact = np.exp(2 * np.asarray(units[:, column]) / float(β))
    reach = np.asarray(-2 * units[:, column]) >= float(known.tilt.values[0] - known.tilt.values[-1])
    ratio = (weight / exact)[reach]
    assert ratio.std() / ratio.mean() < 0.03
    assert weight.max() / weight.min() > 3


def test_a_tilt_of_0_gives_the_untilted_numbers():
    found = []
    for name in ("plain", "weighted"):
        form, now = FORMS[name], strength(τ=0.0)
        learner = DDPG(hidden=(8,), uncertainty=form)
        state = learner.init(KEY, SIZE, A)
        state = state._replace(robust=told(name, now).known)
        assert np.any(state.robust.tilt.starts)
        update = jax.jit(learner.update)
        state, _ = update(state, batch(form), DDPGHyper(), now, KEY, jnp.int32(0))
        found.append(state._replace(robust=()))
    for one, two in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_sampled_form_tells_its_pool():
    sampled = FORMS["sampled"]
    assert "pool" not in told("weighted", strength(τ=0.5)).signal
    found = told("sampled", strength(τ=0.5))
    pool, weights = (np.asarray(found.signal[name]) for name in ("pool", "pool_weights"))
    assert pool.shape == (CANDIDATES, sampled.coordinates)
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    theta = pool[:, sampled.model.columns("parameters")[0]]
    assert weights @ theta > theta.mean() + 0.1
    np.testing.assert_allclose(told("sampled", strength(τ=0.0)).signal["pool_weights"], 1 / 64)


def test_the_multiplier_is_logged():
    found = told("weighted", strength(τ=0.5))
    assert float(found.log["beta"]) == float(found.signal["multiplier"]) > 0.0
    assert float(told("weighted", strength(τ=0.0)).log["beta"]) == 0.0
    assert np.isnan(told("weighted", strength(τ=0.5, budget=0.0)).log["beta"])


# The price.


@pytest.mark.parametrize("ρ", [0.0, 0.5, 1.0])
def test_the_price_is_the_relative_slope_over_the_radius(ρ):
    form, n = FORMS["plain"], 4096
    found = told("plain", strength(ρ=ρ)).signal
    states = np.asarray(batch(form, n).observation[:, 0])
    key = jax.random.split(KEY, 4)
    units = np.asarray(form.units(key[0], n))
    theta, level = (units[:, form.model.columns(kind)[0]] for kind in ("parameters", "actuator"))

    def mean(radius: float) -> tuple[float, float]:
        noise = np.asarray(
            form.disturbed(
                jnp.zeros((n, SIZE)),
                jnp.asarray(radius * units),
                jax.random.split(key[1])[0],
            ).actuator
        )[:, 0]
        values = 10.0 + states - 2 * radius * theta - 3 * noise**2
        return float(values.mean()), float(np.abs(values).mean())

    step = 1e-2
    slope = (mean(ρ + step)[0] - mean(ρ - step)[0]) / (2 * step)
    assert float(found["slope"]) == pytest.approx(-slope, rel=2e-3)
    assert float(found["price"]) == pytest.approx(-slope / mean(ρ)[1], rel=2e-3)
    along = np.asarray(found["radius_values"])
    assert along.shape == (RADII,)
    np.testing.assert_allclose(along, [mean(r)[0] for r in np.linspace(0, 1, RADII)], rtol=1e-4)
    # And the law's: E 2θ·|u| and E 3σ²u² by its moments, within the error of 4096 draws.
    exact = 2 * theta.mean() + 2 * ρ * 3 * 0.2**2 * np.mean(level**2)
    assert float(found["slope"]) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0])
def test_the_slope_of_a_parabola_is_exact(budget):
    for share in (0.0, 0.1, 0.25, 0.6, 0.9, 1.0):
        ρ = jnp.float32(share * budget)
        near, offset = near_radii(ρ, jnp.float32(budget))
        assert float(near.min()) >= -1e-6
        assert float(near.max()) <= budget * (1 + 1e-6)
        assert float(near[-1] - near[0]) == pytest.approx(WINDOW * budget)
        values = 7.0 - 0.6 * near - 0.4 * near**2
        slope = fitted_slope(values, offset, jnp.float32(budget))
        assert float(slope) == pytest.approx(-0.6 - 0.8 * float(ρ), rel=1e-4)


def test_a_kink_at_the_simulator_alone_has_no_say():
    """What a network of relus may say of a single point; its own slope there is −.1 less."""
    near, offset = near_radii(jnp.float32(0.0), jnp.float32(1.0))
    values = 7.0 - 0.6 * near - jnp.minimum(near, 0.02)
    slope = float(fitted_slope(values, offset, jnp.float32(1.0)))
    assert slope == pytest.approx(-0.6, abs=0.15)


def test_a_world_that_helps_has_no_price():
    def better(inputs: NoisyInputs, z: Any) -> tuple[jax.Array, jax.Array]:
        values, log_density = linear(inputs, z)
        return 20.0 - values, log_density

    form = Worlds(model())
    known, data = form.init(KEY, SIZE, A), batch(form)
    look = jax.jit(
        lambda data: form.signal(known, better, better, data, SHOWN, strength(), KEY).signal
    )
    found = look(data)
    assert float(found["price"]) == 0.0
    assert float(found["slope"]) < 0.0


def test_the_price_may_be_taken_at_starts():
    far = SignalInputs(SHOWN.starts + 1000.0)
    near, away = (told("starts", strength(), s).signal["price"] for s in (SHOWN, far))
    assert float(away) < 0.1 * float(near)


def test_probe_episodes_are_valued_where_they_began():
    form, random = FORMS["plain"], np.random.default_rng(0)
    first = jnp.asarray(random.normal(size=(5, SIZE)), jnp.float32)
    world = jnp.asarray(random.normal(size=(5, form.coordinates)), jnp.float32)
    world = world.at[:, form.model.columns("actuator")].set(0.0)
    found = told("plain", strength(), SHOWN._replace(probes=(first, world))).signal
    theta = world[:, form.model.columns("parameters")[0]]
    np.testing.assert_allclose(found["probe_values"], 10 + first[:, 0] - 2 * theta, rtol=1e-5)


def test_the_learned_radius_is_that_of_the_transitions():
    form, n = FORMS["plain"], 20_000
    units = np.asarray(form.units(jax.random.key(5), n))
    data = batch(form, n)
    data = data._replace(observation=data.observation.at[:, SIZE:].set(0.7 * units))
    found = told("plain", strength(), data=data)
    assert float(found.log["learned_radius"]) == pytest.approx(0.7, rel=0.02)


# What a member without worlds learns.


@pytest.mark.parametrize("kind", OFF_POLICY)
def test_without_a_budget_an_update_is_the_plain_one(kind):
    form = FORMS["weighted"]
    hyper = HYPER[kind]()
    own = batch(form)
    zero = jnp.zeros((B, form.coordinates))
    own = own._replace(
        observation=own.observation.at[:, SIZE:].set(zero),
        next_observation=own.next_observation.at[:, SIZE:].set(zero),
    )
    plain = own._replace(
        observation=own.observation[:, :SIZE], next_observation=own.next_observation[:, :SIZE]
    )
    learners = kind(hidden=(8,), uncertainty=form), kind(hidden=(8,), uncertainty=Plain())
    states = [learner.init(KEY, SIZE, A) for learner in learners]
    updates = [jax.jit(learner.update) for learner in learners]
    off = WorldStrength(*(jnp.float32(0.0),) * 3)
    for k in range(2):
        states = [
            update(state, data, hyper, off, jax.random.key(k), jnp.int32(k))[0]
            for update, state, data in zip(updates, states, (own, plain), strict=True)
        ]
    for one, two in zip(*(jax.tree.leaves(s.actor) for s in states), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", OFF_POLICY)
def test_a_critic_that_does_not_see_the_world_learns_nothing_of_it(kind):
    form = Worlds(model(), sees_world=False)
    learner, hyper = kind(hidden=(8,), uncertainty=form), HYPER[kind]()
    state = learner.init(KEY, SIZE, A)
    update = jax.jit(learner.update)
    for k in range(4):
        state, _ = update(
            state, batch(form, seed=k), hyper, strength(), jax.random.key(k), jnp.int32(k)
        )
    first = (state.critics if kind is SAC else state.critic)[0]
    assert not np.any(np.asarray(first.kernel)[..., SIZE + A :, :])  # as at the start


def test_backups_are_of_the_transitions_own_world():
    form = Worlds(model(actuator=0.0, sensor=0.0, bias=0.0))

    def value(inputs: NoisyInputs, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        assert inputs.world is not None
        values = inputs.true[..., 0] + inputs.world[..., 0]
        return values, jnp.zeros_like(values)

    data = batch(form)
    backup: Backup = form.backup(form.init(KEY, SIZE, A), value, data, strength(), KEY)
    expected = data.next_observation[:, 0] + data.observation[:, SIZE]  # not the next episode's
    np.testing.assert_allclose(backup.value, expected, rtol=1e-6)
    loss, _ = form.actor_loss(backup, value, strength())
    assert float(loss) == pytest.approx(
        -float(jnp.mean(data.observation[:, [0, SIZE]].sum(axis=1)))
    )


def test_constants_are_those_of_the_docs():
    assert (tilt.CANDIDATES, tilt.STARTS) == (64, 4)
    assert (learning.STATES, learning.MARGIN) == (256, 0.1)
    assert (signal.RADII, signal.WINDOW, signal.NEAR) == (11, 0.5, 6)
