"""One update of each learner, worked by hand on linear networks of one number each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drspcrl.learners import TD3, adam, ddpg, normalization, sac
from drspcrl.learners.actor_critic import critic_target
from drspcrl.learners.experience import Rollout
from drspcrl.learners.networks import Layer
from drspcrl.learners.ppo import PPO, PPOState
from drspcrl.learners.replay import Batch
from drspcrl.learners.surrogate import Parameters, PPOHyper, TrainingBatch, loss
from drspcrl.transitions.nominal import Strength

pytestmark = pytest.mark.usefixtures("float64")


def linear(kernel: list[list[float]], bias: list[float]) -> tuple[Layer, ...]:
    return (Layer(jnp.array(kernel), jnp.array(bias)),)


def one(terminated: bool = False) -> Batch:
    """s = 0.5, a = −0.2, r = 1.5, s' = 0.8."""
    return Batch(
        jnp.array([[0.5]]),
        jnp.array([[-0.2]]),
        jnp.array([1.5]),
        jnp.array([[0.8]]),
        jnp.array([terminated]),
    )


def target(learner, state, batch: Batch, hyper) -> jax.Array:
    """The critic's target, as an update works it out."""
    backup = learner.backup(state, batch, Strength(), jax.random.key(0))
    return critic_target(learner.uncertainty, backup, batch, hyper, Strength())


@pytest.fixture
def exploring(monkeypatch):
    """Sets the exploration noise z of all that a plain learner looks at."""

    def all_draws_are(z: float) -> None:
        monkeypatch.setattr(
            "drspcrl.learners.uncertainty.normal", lambda key, shape: jnp.full(shape, z)
        )

    return all_draws_are


class TestDDPG:
    """π(s) = tanh(0.5 s), Q(s, a) = s + 2a + 0.1; the targets start equal."""

    def state(self) -> ddpg.DDPGState:
        actor, critic = linear([[0.5]], [0.0]), linear([[1.0], [2.0]], [0.1])
        optimizers = adam.init(actor), adam.init(critic)
        return ddpg.DDPGState(actor, critic, actor, critic, *optimizers)

    def test_target(self):
        # y = 1.5 + 0.99·(0.8 + 2·tanh 0.4 + 0.1); nothing comes after a termination.
        learner, hyper = ddpg.DDPG(()), ddpg.DDPGHyper()
        expected = 1.5 + 0.99 * (0.9 + 2 * np.tanh(0.4))
        found = target(learner, self.state(), one(), hyper)
        np.testing.assert_allclose(found, [expected], rtol=1e-12)
        ended = target(learner, self.state(), one(terminated=True), hyper)
        np.testing.assert_allclose(ended, [1.5], rtol=1e-12)

    def test_update(self):
        # Q(s, a) = 0.5 − 0.4 + 0.1 = 0.2 < y, so dL/dQ = 2(Q − y) < 0. Adam's first step is
        # lr·sign: the critic's weights on s = 0.5 and the bias rise, the weight on a = −0.2 falls.
        # The actor ascends 2·tanh(w s + b): both rise.
        hyper = ddpg.DDPGHyper(actor_lr=0.01, critic_lr=0.1, tau=0.25)
        state, metrics = ddpg.DDPG(()).update(
            self.state(), one(), hyper, Strength(), jax.random.key(0), jnp.int32(0)
        )
        y = 1.5 + 0.99 * (0.9 + 2 * np.tanh(0.4))
        np.testing.assert_allclose(metrics["critic_loss"], (0.2 - y) ** 2, rtol=1e-12)
        np.testing.assert_allclose(metrics["value"], 0.2, rtol=1e-12)
        np.testing.assert_allclose(state.critic[0].kernel, [[1.1], [1.9]], rtol=1e-6)
        np.testing.assert_allclose(state.critic[0].bias, [0.2], rtol=1e-6)
        np.testing.assert_allclose(state.actor[0].kernel, [[0.51]], rtol=1e-6)
        # The actor's loss is that of the critic it has just been given: 0.5·1.1 + 1.9·tanh + 0.2.
        expected = -(0.55 + 1.9 * np.tanh(0.25) + 0.2)
        np.testing.assert_allclose(metrics["actor_loss"], expected, rtol=1e-6)
        # A quarter of the way: 1 + (1.1 − 1)/4.
        np.testing.assert_allclose(state.target_critic[0].kernel, [[1.025], [1.975]], rtol=1e-6)
        np.testing.assert_allclose(state.target_actor[0].kernel, [[0.5025]], rtol=1e-6)

    def test_every_other_update_leaves_actor_and_targets(self):
        state, metrics = ddpg.DDPG(()).update(
            self.state(), one(), ddpg.DDPGHyper(), Strength(), jax.random.key(0), jnp.int32(1)
        )
        assert np.isnan(metrics["actor_loss"])
        np.testing.assert_array_equal(state.actor[0].kernel, [[0.5]])
        np.testing.assert_array_equal(state.target_critic[0].kernel, [[1.0], [2.0]])
        assert state.critic[0].bias[0] > 0.1

    def test_acting(self):
        hyper, key = ddpg.DDPGHyper(exploration=0.3), jax.random.key(3)
        z = jax.random.normal(key, (1, 1))
        acted = ddpg.DDPG(()).act(self.state(), jnp.array([[0.4]]), key, hyper)
        np.testing.assert_allclose(acted, np.clip(np.tanh(0.2) + 0.3 * z, -1, 1), rtol=1e-12)


class TestTD3:
    """π(s) = tanh(0.5 s), Q_1 = s + 2a + 0.3, Q_2 = 2s − 3a + 0.1; the targets start equal."""

    def state(self) -> ddpg.DDPGState:
        actor = linear([[0.5]], [0.0])
        kernel = jnp.array([[[1.0], [2.0]], [[2.0], [-3.0]]])
        critics = (Layer(kernel, jnp.array([[0.3], [0.1]])),)
        optimizers = adam.init(actor), adam.init(critics)
        return ddpg.DDPGState(actor, critics, actor, critics, *optimizers)

    @pytest.mark.parametrize(
        ("z", "noise"),
        [(0.0, 0.0), (1.5, 0.3), (-1.5, -0.3), (4.0, 0.5), (-40.0, -0.5)],  # 0.2·z within ±0.5
    )
    def test_target(self, z, noise, exploring):
        # Q_1 = 1.1 + 2a is the lesser where a < 0.12, Q_2 = 1.7 − 3a where a is above.
        exploring(z)
        a = np.tanh(0.4) + noise
        expected = 1.5 + 0.99 * min(1.1 + 2 * a, 1.7 - 3 * a)
        found = target(TD3(()), self.state(), one(), ddpg.DDPGHyper())
        np.testing.assert_allclose(found, [expected], rtol=1e-12)
        ended = target(TD3(()), self.state(), one(terminated=True), ddpg.DDPGHyper())
        np.testing.assert_allclose(ended, [1.5], rtol=1e-12)

    def test_smoothed_actions_stay_in_bounds(self, exploring):
        exploring(10.0)
        found = target(TD3((), noise_clip=0.9), self.state(), one(), ddpg.DDPGHyper())
        np.testing.assert_allclose(found, [1.5 + 0.99 * (1.7 - 3)], rtol=1e-12)

    def updated(self, index: int):
        hyper = ddpg.DDPGHyper(actor_lr=0.01, critic_lr=0.1, tau=0.25)
        given = one(), hyper, Strength(), jax.random.key(0), jnp.int32(index)
        return TD3(()).update(self.state(), *given)

    def test_update(self, exploring):
        # Without noise a = tanh 0.4 = 0.38, where Q_2 is the lesser: y = 1.5 + 0.99·(1.7 − 3a).
        # Q_1 = 0.5 − 0.4 + 0.3 = 0.4 and Q_2 = 1 + 0.6 + 0.1 = 1.7 of s = 0.5 and a = −0.2.
        # y = 2.05 is above both. Adam's first step is lr·sign, see DDPG: biases and weights on s
        # rise, weights on a = −0.2 fall.
        exploring(0.0)
        state, metrics = self.updated(0)
        y = 1.5 + 0.99 * (1.7 - 3 * np.tanh(0.4))
        loss = (0.4 - y) ** 2 + (1.7 - y) ** 2
        np.testing.assert_allclose(metrics["critic_loss"], loss, rtol=1e-12)
        np.testing.assert_allclose(metrics["value"], 1.05, rtol=1e-12)
        kernel = [[[1.1], [1.9]], [[2.1], [-3.1]]]
        np.testing.assert_allclose(state.critic[0].kernel, kernel, rtol=1e-6)
        np.testing.assert_allclose(state.critic[0].bias, [[0.4], [0.2]], rtol=1e-6)
        # The actor ascends the new Q_1 = 1.1·0.5 + 1.9·tanh(0.25) + 0.4, though Q_2 falls in a.
        expected = -(0.55 + 1.9 * np.tanh(0.25) + 0.4)
        np.testing.assert_allclose(metrics["actor_loss"], expected, rtol=1e-6)
        np.testing.assert_allclose(state.actor[0].kernel, [[0.51]], rtol=1e-6)
        # A quarter of the way.
        kernel = [[[1.025], [1.975]], [[2.025], [-3.025]]]
        np.testing.assert_allclose(state.target_critic[0].kernel, kernel, rtol=1e-6)
        np.testing.assert_allclose(state.target_actor[0].kernel, [[0.5025]], rtol=1e-6)

    def test_the_actor_is_not_smoothed(self, exploring):
        exploring(3.0)
        _, metrics = self.updated(0)
        y = 1.5 + 0.99 * (1.7 - 3 * (np.tanh(0.4) + 0.5))
        first, second = np.sign(y - np.array([0.4, 1.7]))
        assert (first, second) == (1, -1)
        expected = -(0.55 + 1.9 * np.tanh(0.25) + 0.4)
        np.testing.assert_allclose(metrics["actor_loss"], expected, rtol=1e-6)

    def test_every_other_update_leaves_actor_and_targets(self):
        state, metrics = self.updated(1)
        before = self.state()
        assert np.isnan(metrics["actor_loss"])
        np.testing.assert_array_equal(state.actor[0].kernel, before.actor[0].kernel)
        np.testing.assert_array_equal(state.target_critic[0].kernel, before.critic[0].kernel)
        np.testing.assert_array_equal(state.target_actor[0].kernel, before.actor[0].kernel)
        assert (np.asarray(state.critic[0].bias) != np.asarray(before.critic[0].bias)).all()

    def test_new_critics_differ(self):
        (layer,) = TD3(()).init(jax.random.key(0), 3, 2).critic
        assert layer.kernel.shape == (2, 5, 1)
        assert not np.isclose(*layer.kernel).any()

    def test_acting(self):
        hyper, key = ddpg.DDPGHyper(exploration=0.3), jax.random.key(3)
        z = jax.random.normal(key, (1, 1))
        acted = TD3(()).act(self.state(), jnp.array([[0.4]]), key, hyper)
        np.testing.assert_allclose(acted, np.clip(np.tanh(0.2) + 0.3 * z, -1, 1), rtol=1e-12)


class TestSAC:
    """π: mean 0.3, log std −1.5 everywhere; Q_1 = s + 2a + 0.5, Q_2 = s + 2a + 0.7; α = 1."""

    std = np.exp(-1.5)

    def state(self) -> sac.SACState:
        actor = linear([[0.0, 0.0]], [0.3, 0.0])
        critics = (Layer(jnp.array([[[1.0], [2.0]]] * 2), jnp.array([[0.5], [0.7]])),)
        alpha = jnp.zeros(())
        optimizers = adam.init(actor), adam.init(critics), adam.init(alpha)
        return sac.SACState(actor, critics, critics, alpha, *optimizers)

    def drawn(self, z: float) -> tuple[float, float]:
        """The action of z and its log density, from first principles."""
        action = np.tanh(0.3 + self.std * z)
        return action, -0.5 * z**2 + 1.5 - 0.5 * np.log(2 * np.pi) - np.log(1 - action**2)

    def test_target(self, exploring):
        exploring(0.7)
        action, log_density = self.drawn(0.7)
        learner, hyper = sac.SAC(()), sac.SACHyper()
        expected = 1.5 + 0.99 * (0.8 + 2 * action + 0.5 - log_density)
        found = target(learner, self.state(), one(), hyper)
        np.testing.assert_allclose(found, [expected], rtol=1e-10)
        ended = target(learner, self.state(), one(terminated=True), hyper)
        np.testing.assert_allclose(ended, [1.5], rtol=1e-12)

    def test_actor_gradient(self, exploring):
        # U = s + 2 tanh u + 0.5 − log π with u = m + std·z, and log π depends on the mean only
        # through −log(1 − tanh²u), whose slope is 2 tanh u; so −dU/dm = −2(1 − a²) + 2a.
        # In the raw log std: log std moves by 7/2·(1 − tanh²0) = 3.5, u by 3.5·std·z, and log π
        # has −log std besides.
        z, state = -1.2, self.state()
        a, log_density = self.drawn(z)
        exploring(z)
        learner = sac.SAC(())
        backup = learner.backup(state, one(), Strength(), jax.random.key(0))
        (value, log_pi), grads = jax.value_and_grad(learner.actor_loss, has_aux=True)(
            state.actor, state, backup, Strength()
        )
        np.testing.assert_allclose(value, -(0.5 + 2 * a + 0.5 - log_density), rtol=1e-10)
        np.testing.assert_allclose(log_pi, [log_density], rtol=1e-10)
        slope = -2 * (1 - a**2) + 2 * a
        raw = 3.5 * (slope * self.std * z - 1.0)
        np.testing.assert_allclose(grads[0].bias, [slope, raw], rtol=1e-9)
        np.testing.assert_allclose(grads[0].kernel, [[0.5 * slope, 0.5 * raw]], rtol=1e-9)

    def test_update(self):
        key = jax.random.key(7)
        target_z, actor_z = np.asarray(jax.random.normal(key, (2, 1, 1)))[:, 0, 0]
        action, log_density = self.drawn(target_z)
        y = 1.5 + 0.99 * (0.8 + 2 * action + 0.5 - log_density)
        q = np.array([0.6, 0.8])  # 0.5 − 0.4 + 0.5, + 0.7
        hyper = sac.SACHyper(critic_lr=0.1, temperature_lr=0.01, tau=0.5, actor_lr=0.02)
        state, metrics = sac.SAC(()).update(
            self.state(), one(), hyper, Strength(), key, jnp.int32(0)
        )
        np.testing.assert_allclose(metrics["critic_loss"], np.sum((q - y) ** 2), rtol=1e-9)
        np.testing.assert_allclose(metrics["value"], 0.7, rtol=1e-9)
        start, step = np.array([0.5, 0.7]), -0.1 * np.sign(q - y)
        np.testing.assert_allclose(state.critics[0].bias[:, 0], start + step, rtol=1e-6)
        np.testing.assert_allclose(state.critics[0].kernel[:, 1, 0], 2.0 - step, rtol=1e-6)
        np.testing.assert_allclose(state.targets[0].bias[:, 0], start + step / 2, rtol=1e-6)
        # The temperature rises while log π is above 1 nat, that is the entropy below −1.
        _, log_density = self.drawn(actor_z)
        expected = 0.01 * np.sign(log_density - 1.0)
        np.testing.assert_allclose(state.log_temperature, expected, rtol=1e-6)
        np.testing.assert_allclose(metrics["entropy"], -log_density, rtol=1e-9)
        assert state.actor[0].bias[0] != 0.3


class TestPPO:
    """π: mean 0.2 x, log std 0; V(x) = 3x + 1; observations already standard."""

    def state(self) -> PPOState:
        parameters = Parameters(linear([[0.2]], [0.0]), jnp.zeros(1), linear([[3.0]], [1.0]))
        standard = normalization.Moments(jnp.zeros(1), jnp.ones(1) - 1e-8, jnp.array(1e12))
        rewards = normalization.Moments(jnp.zeros(()), jnp.array(4.0 - 1e-8), jnp.array(1e12))
        optimizer = adam.init(parameters)
        return PPOState(parameters, optimizer, standard, rewards, jnp.zeros(1))

    def rollout(self) -> Rollout:
        """Three steps: an ordinary one, a time limit, a termination."""
        column = lambda *numbers: jnp.array(numbers)[:, None]  # noqa: E731
        return Rollout(
            observation=column(0.1, 0.2, 0.3)[..., None],
            action=column(0.0, 0.5, 1.0)[..., None],
            log_density=column(-1.0, -1.0, -1.0),
            final_observation=column(0.2, 0.7, 0.9)[..., None],
            reward=column(1.0, 2.0, 3.0),
            terminated=column(False, False, True),
            ended=column(False, True, True),
        )

    def test_training_batch(self):
        # γ = 0.9, λ = 0.5. V = 1.3, 1.6, 1.9. Successors: 0.2 (V 1.6), the cut episode's own
        # 0.7 (V 3.1), and nothing after the termination.
        # δ = 1 + 0.9·1.6 − 1.3 = 1.14;  2 + 0.9·3.1 − 1.6 = 3.19;  3 − 1.9 = 1.1.
        # A = 1.14 + 0.45·3.19 = 2.5755;  3.19;  1.1. Targets: A + V.
        hyper = PPOHyper(discount=0.9, trace=0.5)
        learner, state, rollout = PPO(()), self.state(), self.rollout()
        backup = learner.rollout_backup(state, rollout, Strength(), jax.random.key(0))
        batch = learner.training_batch(state, rollout, hyper, backup)
        np.testing.assert_allclose(batch.value, [1.3, 1.6, 1.9], rtol=1e-9)
        np.testing.assert_allclose(batch.advantage, [2.5755, 3.19, 1.1], rtol=1e-9)
        np.testing.assert_allclose(batch.target, [3.8755, 4.79, 3.0], rtol=1e-9)

    def test_loss(self):
        # Two samples; advantages ±1 standardise to ±1/√2. Ratios e^0.5 and e^−0.5 leave [0.8, 1.2]:
        # with A > 0 the ratio is capped at 1.2, with A < 0 the one below is floored at 0.8.
        parameters = self.state().parameters
        x, action = jnp.array([[0.0], [0.0]]), jnp.array([[1.0], [1.0]])
        log_pi = -0.5 - 0.5 * np.log(2 * np.pi)
        batch = TrainingBatch(
            observation=x,
            action=action,
            log_density=log_pi + jnp.array([-0.5, 0.5]),
            value=jnp.array([1.0, 0.5]),
            advantage=jnp.array([1.0, -1.0]),
            target=jnp.array([2.0, 0.0]),
        )
        total, metrics = loss(parameters, batch, PPOHyper(entropy_weight=0.1))
        surrogate = -np.mean([1.2 / np.sqrt(2), -0.8 / np.sqrt(2)])
        np.testing.assert_allclose(metrics["actor_loss"], surrogate, rtol=1e-6)
        # V = 1: errors −1 and 1; near the old value, 1 and 0.7: the worse of (1, 1) and (1, .49).
        np.testing.assert_allclose(metrics["critic_loss"], 0.5, rtol=1e-9)
        entropy = 0.5 * np.log(2 * np.pi * np.e)
        np.testing.assert_allclose(metrics["entropy"], entropy, rtol=1e-9)
        np.testing.assert_allclose(total, surrogate + 0.25 - 0.1 * entropy, rtol=1e-6)
        assert metrics["ratio_clipped"] == 1.0

    def test_update(self):
        # One epoch of one minibatch: a single Adam step of lr·(1 − progress) times the gradient's
        # sign. All targets are above their values, so the critic's weights rise.
        learner = PPO((), epochs=1, minibatches=1)
        hyper = PPOHyper(learning_rate=0.04, discount=0.9, trace=0.5)
        state, *_ = learner.update(
            self.state(), self.rollout(), hyper, Strength(), jax.random.key(0), jnp.array(0.75)
        )
        np.testing.assert_allclose(state.parameters.critic[0].kernel, [[3.01]], rtol=1e-4)
        np.testing.assert_allclose(state.parameters.critic[0].bias, [1.01], rtol=1e-4)

    def test_reward_normalisation(self):
        # The running return after the three steps is 1, 0.9 + 2 = 2.9, then 3 alone after the cut;
        # its variance stays 4 (it has the weight of 1e12 samples), so rewards are halved.
        from drspcrl.learners.ppo import normalise_rewards

        state, rewards, unit = normalise_rewards(self.state(), self.rollout(), 0.9)
        np.testing.assert_allclose(rewards[:, 0], [0.5, 1.0, 1.5], rtol=1e-6)
        assert float(unit) == pytest.approx(2.0)
        np.testing.assert_array_equal(state.returns, [0.0])
