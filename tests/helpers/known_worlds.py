"""Trainings on `probe/world`, where the value of every world is known."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from drspcrl.learners import normalization
from drspcrl.learners.experience import Privileged, Rollout, SignalInputs
from drspcrl.learners.networks import Layer, Network
from drspcrl.learners.ppo import value_of
from drspcrl.learners.replay import Batch
from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.settings import resolve
from drspcrl.worlds import EpisodeWorlds, WorldModel, declared, world_model
from drspcrl.worlds.declare import KINDS
from drspcrl.worlds.episodes import Roles
from drspcrl.worlds.learning import _SIGNAL, Worlds
from drspcrl.worlds.signal import WorldStrength

DISCOUNT = 0.8
TOLERANCES = {"theta": 0.3, "actuator": 0.3, "bias": 0.5}
LEARNING = {
    "sac": {"learning_starts": 64, "tau": 0.05, "critic_lr": 3e-3},
    "ddpg": {"learning_starts": 64, "tau": 0.05, "critic_lr": 3e-3, "exploration": 0.3},
    "td3": {"learning_starts": 64, "tau": 0.05, "critic_lr": 3e-3, "exploration": 0.3},
    "ppo": {"rollout_size": 2048, "learning_rate": 3e-3, "clip": 100.0, "trace": 0.5},
}
SHARED = {"envs_per_member": 16, "hidden": [64, 64], "discount": DISCOUNT}
# The policies' own noise; TD3's smooths its targets, and so the value that it learns.
SPREAD = {"sac": np.exp(-5.0), "ddpg": 0.0, "td3": 0.2, "ppo": 0.05}
MOST = {"td3": 0.5}
_ROWS, _LOOKS = 512, 32  # unit draws of one look, looks at one radius


def known_model() -> WorldModel:
    """θ one-sided, actuator noise, a bias of the one reading; each there with probability ½.

    In the ball: on the sphere hardly any world lies near the simulator without being it, and the
    slope there, at the end of what θ may be, is nobody's to learn.
    """
    theta = {"name": "theta", "nominal": 0.0, "tolerance": TOLERANCES["theta"], "law": "above"}
    given = {"sensor": 0.0, "actuator": TOLERANCES["actuator"], "bias": TOLERANCES["bias"]}
    given |= {"law": "ball"}
    return world_model(declared(given | {"parameters": [theta]}), None, 1, 1)


def unit_draws(n: int, seed: int = 0) -> np.ndarray:
    """n unit draws of the law, [n, W]."""
    model, random = known_model(), np.random.default_rng(seed)
    normal = random.standard_normal((n, model.size))
    return model.unit_draws(normal, random.random((n, len(KINDS) + 1)))


class Known:
    """A training whose policy is held fixed, so that V of every world is known.

    Args:
        algorithm: sac, ddpg, td3 or ppo.
        ρ: the radius.
        steps: its length.
        probe_every: one environment in so many is a probe.
        seed: of everything random.
        changes: other settings.
    """

    def __init__(
        self,
        algorithm: str,
        ρ: float,
        steps: int,
        probe_every: int = 8,
        seed: int = 0,
        **changes,
    ):
        self.algorithm, self._steps = algorithm, steps
        settings = resolve(algorithm, SHARED | LEARNING[algorithm] | changes, steps, "worlds")
        collector = Collector("probe/world", (seed,), settings.learner.envs_per_member)
        roles = [Roles(probe_every, 8)]
        model = known_model()
        worlds = EpisodeWorlds(model, collector.env, [seed], [1.0], roles, [DISCOUNT])
        worlds.set_radius(np.array([ρ]))
        collector.enter(worlds)
        one = np.ones(1, np.float32)
        against = Worlds(model), WorldStrength(ρ * one, one, 0 * one)
        cpu = jax.devices("cpu")[0]
        self.loop: Any = make_loop(
            *(algorithm, settings, collector, (seed,), steps, cpu, cpu), worlds=against
        )
        hyper = self.loop.hyper
        rates = {"actor_lr", "temperature_lr"} & set(hyper._fields)
        self.loop.hyper = hyper._replace(**{name: 0 * getattr(hyper, name) for name in rates})
        self._fix()

    def train(self) -> "Known":
        """All of its steps; the learning rate falls to 0 at the end, as PPO's does by itself."""
        while self.loop.steps < self._steps:
            self.loop.iterate()
            if self.algorithm == "ppo":
                self._fix()
            else:
                self._slow_down(2.0 * (1.0 - self.loop.steps / self._steps))
        return self

    def _slow_down(self, share: float) -> None:
        """Learn with a share of the learning rate, where that is less than all of it."""
        rate = LEARNING[self.algorithm]["critic_lr"] * min(1.0, share)
        slow = jnp.full_like(self.loop.hyper.critic_lr, rate)
        self.loop.hyper = self.loop.hyper._replace(critic_lr=slow)

    def _fix(self) -> None:
        """A policy that follows what it sees, with hardly any noise."""
        state = self.loop.state
        if self.algorithm == "ppo":
            actor = _following(state.parameters.actor, "tanh")
            log_std = jnp.full_like(state.parameters.log_std, np.log(SPREAD["ppo"]))
            parameters = state.parameters._replace(actor=actor, log_std=log_std)
            self.loop.state = state._replace(parameters=parameters)
            return
        actor = _following(state.actor, "relu")
        if self.algorithm in ("ddpg", "td3"):
            target = jax.tree.map(jnp.copy, actor)
            self.loop.state = state._replace(actor=actor, target_actor=target)
        else:
            cold = jnp.full_like(state.log_temperature, -20.0)
            self.loop.state = state._replace(actor=actor, log_temperature=cold)

    def known(self, worlds: np.ndarray) -> np.ndarray:
        """V(ω) = (1 − θ − E a²)/(1 − γ) of worlds [n, W], by quadrature over the action's noise."""
        model = known_model()
        f = {name: worlds[:, k] for k, name in enumerate(model.names)}
        seen = TOLERANCES["bias"] * f["bias:0"]
        mean = self.loop.deterministic_actions(seen[None, :, None].astype(np.float32))[0]
        node, weight = np.polynomial.hermite_e.hermegauss(30)
        weight = weight / weight.sum()
        most = MOST.get(self.algorithm, np.inf)
        own = np.clip(SPREAD[self.algorithm] * node, -most, most)
        wanted = np.clip(mean + own, -1, 1)  # [n, Z]
        ν = TOLERANCES["actuator"] * f["actuator"][:, None] * node
        square = np.clip(wanted[:, :, None] + ν[:, None, :], -1, 1) ** 2
        cost = np.einsum("nij,i,j->n", square, weight, weight)
        return (1 - TOLERANCES["theta"] * f["theta"] - cost) / (1 - DISCOUNT)

    def known_price(self, ρ: float, step: float = 0.01) -> float:
        """−d/dρ E V / E|V| over the looks' draws; parts that are even in ρ have no slope at 0.

        Over others the price would differ by 2%, the standard error of a mean of so many.
        """
        u = self._drawn()
        above, below = (self.known((ρ + sign * step) * u).mean() for sign in (1, -1))
        return (below - above) / (2 * step) / np.abs(self.known(ρ * u)).mean()

    def _drawn(self) -> np.ndarray:
        """The unit draws of all looks at one radius, [n, W]."""
        form = self.loop.learner.uncertainty

        def one(key: Any) -> Any:
            key = jax.random.fold_in(key, _SIGNAL) if self.algorithm == "ppo" else key
            return form.units(jax.random.split(key, 4)[0], _ROWS)

        return np.asarray(jax.jit(jax.vmap(one))(_look_keys())).reshape(-1, form.coordinates)

    def told(self, worlds: np.ndarray, radii: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """The critic's V(0, ω) of worlds [n, W], and the price at each radius.

        Both are means over many looks, and values over `_ROWS`/n draws of noise in each.
        """
        learner = self.loop.learner
        one = _ppo_signal if self.algorithm == "ppo" else _replay_signal
        rows = jnp.asarray(np.resize(worlds, (_ROWS, worlds.shape[1])), jnp.float32)
        signal_inputs = SignalInputs(jnp.zeros((4, 1)), (jnp.zeros((_ROWS, 1)), rows))
        keys = jnp.tile(_look_keys(), len(radii))
        each = jnp.repeat(jnp.asarray(radii, jnp.float32), _LOOKS)

        @jax.jit
        def look(state: Any) -> Any:
            def once(now: tuple[Any, Any]) -> Any:
                strength = WorldStrength(now[0], jnp.float32(1.0), jnp.float32(0.0))
                told = one(learner, state, signal_inputs, strength, now[1])
                return told["probe_values"], told["price"]

            return jax.lax.map(once, (each, keys))

        values, prices = map(np.asarray, look(jax.tree.map(lambda a: a[0], self.loop.state)))
        of_worlds = values.mean(axis=0).reshape(-1, len(worlds)).mean(axis=0)
        return of_worlds, prices.reshape(len(radii), _LOOKS).mean(axis=1)


def _look_keys() -> Any:
    return jax.random.split(jax.random.key(3), _LOOKS)


def _following(actor: Network, activation: str) -> Network:
    """The network whose first output is about half its input."""
    first, second, last = (
        Layer(jnp.zeros_like(layer.kernel), jnp.zeros_like(layer.bias)) for layer in actor
    )
    sign = jnp.array([1.0, -1.0]) if activation == "relu" else jnp.array([0.05, -0.05])
    first = first._replace(kernel=first.kernel.at[:, 0, :2].set(sign))
    second = second._replace(kernel=second.kernel.at[:, :2, :2].set(jnp.eye(2)))
    last = last._replace(kernel=last.kernel.at[:, :2, 0].set(0.5 * jnp.sign(sign)))
    if last.bias.shape[-1] == 2:  # SAC's raw logarithm of the spread
        last = last._replace(bias=last.bias.at[:, 1].set(-20.0))
    return first, second, last


def _replay_signal(learner: Any, state: Any, signal_inputs: Any, strength: Any, key: Any) -> Any:
    rows = jnp.zeros((_ROWS, 1 + learner.uncertainty.coordinates))
    one = jnp.zeros(_ROWS)
    batch = Batch(rows, one[:, None], one, rows, one > 0)
    return learner.signal(state, batch, signal_inputs, strength, key).signal


def _ppo_signal(learner: Any, state: Any, signal_inputs: Any, strength: Any, key: Any) -> Any:
    zeros = jnp.zeros((_ROWS, 1, 1))
    world = jnp.zeros((_ROWS, 1, learner.uncertainty.coordinates))
    privileged = Privileged(zeros, zeros, zeros, zeros, world)
    flat = zeros[..., 0]
    rollout = Rollout(
        zeros, zeros, flat, zeros, flat, flat > 0, flat > 0, privileged, signal_inputs
    )
    told = learner.uncertainty.rollout_signal(
        *(state.robust, value_of(state), rollout, state.observations, None),
        *(normalization.scale(state.rewards), strength, key),
    )
    return told.signal
