"""Uncertainty in transitions: the worst case around the next state, as in the paper.

Around a nominal model SAC and DDPG ask for the worst case over n draws of noise ω = (w, η, ν), see
`drspcrl.transitions.nominal`, with the same value for the critic's target and the actor's
objective, so that critic and actor never optimise different things:

    o_i  = s + w_i + η_i                     what the policy sees
    a_i  = clip(policy(o_i; z) + ν_i)        one exploration noise z for all draws of a state
    V_i  = Q(s + w_i, a_i) − α·log π         entropy inside, in SAC
    U(s) = worst case within ε over i of V_i

With one z per draw instead, the adversary would tilt the policy's own exploration, and ε would cost
value even without nominal noise.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.config.transitions import DRAWS_FOR_THE_ACTOR, PRECISIONS
from drspcrl.errors import InputError
from drspcrl.learners import networks, normalization
from drspcrl.learners.cpu.threefry import normal
from drspcrl.learners.experience import Rollout, SignalInputs
from drspcrl.learners.networks import Network
from drspcrl.learners.normalization import Moments
from drspcrl.learners.replay import Batch
from drspcrl.learners.uncertainty import (
    Backup,
    NoisyInputs,
    NoisyValue,
    Numbers,
    RolloutBackup,
    SignalOutput,
    Uncertainty,
    Value,
    undisturbed,
)
from drspcrl.transitions.bootstrap import (
    RobustBootstrap,
    robust_bootstrap,
    rollout_noise,
    start_value,
)
from drspcrl.transitions.dual import Dual, DualOutput, Exact, ValueOfDraws, Worst
from drspcrl.transitions.nominal import Noise, NominalModel, Scales, Strength, Transition
from drspcrl.transitions.signal import draw_signal, metrics_of, signal_of

# Uses of a key beside the plain learner's, far from what `split` makes of the same key.
_DRAWS, _SIGNAL = (1 << 30) + 2, (1 << 30) + 3
_EARLIER = 32  # for so many successors the actor sees one state where a transition began


class DrawBatch(NamedTuple):
    """States with n draws each.

    Attributes:
        origin: what led to the states, [B, …].
        inputs: the draws, [B, n, …].
        probabilities: of the draws, [B, n].
        z: exploration noise, one for each state, [B, 1, A].
        alive: whether anything follows from the state, [B].
    """

    origin: Transition
    inputs: NoisyInputs
    probabilities: Array
    z: Array
    alive: Array


class RobustState(NamedTuple):
    """What the nominal model and the dual have learned."""

    nominal: Any
    dual: Any


@dataclass(frozen=True)
class Transitions(Uncertainty):
    """A backup against the worst case around a nominal model.

    Attributes:
        nominal: the model that draws come from.
        dual: how the worst case over them is found.
        draws: n; a nominal model that is not sampled has one draw whatever it says.
        actor_draws: `all` ascends U itself. `one` draws one index i per state from the worst-case
            weights that the target critics gave, and ascends V_i alone: by the envelope theorem
            ∇U = Σ w_i ∇V_i, so its mean is the same gradient, for an n-th of the cost.
        noisy_rollouts: whether experience is gathered under the noise; random numbers cost time,
            also where every member multiplies them by 0.
        precision: number format in which the target networks value the draws, see
            `networks.rounded`. What is differentiated stays in float32.

    Raises:
        InputError: fewer than two draws of a sampled model, an unknown name.
    """

    nominal: NominalModel = field(default_factory=Noise)
    dual: Dual = field(default_factory=Exact)
    draws: int = 8
    actor_draws: str = "all"
    precision: str = "float32"
    noisy_rollouts: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.nominal.sampled and self.draws < 2:
            raise InputError(
                f"Transitions: draws is {self.draws}; a sampled model needs at least 2"
            )
        if self.actor_draws not in DRAWS_FOR_THE_ACTOR:
            raise InputError(
                f"Transitions: actor_draws is {self.actor_draws!r}; "
                f"choose one of {', '.join(DRAWS_FOR_THE_ACTOR)}"
            )
        if self.precision not in PRECISIONS:
            raise InputError(
                f"Transitions: precision is {self.precision!r}; "
                f"choose one of {', '.join(PRECISIONS)}"
            )

    def init(self, key: Array, observation_size: int, action_size: int) -> RobustState:
        """Before anything was seen."""
        nominal_key, dual_key = jax.random.split(key)
        return RobustState(
            self.nominal.init(nominal_key, observation_size, action_size),
            self.dual.init(dual_key, observation_size, action_size),
        )

    def rounded(self, *target_networks: Network) -> tuple[Network, ...]:
        """Target networks in the number format in which they value draws."""
        if self.precision == "float32" or not self.dual.tilts:  # a moving dual differentiates them
            return target_networks
        return tuple(networks.rounded(network, self.precision) for network in target_networks)

    def extra_v_inputs(self, observation_size: int, action_size: int) -> int:
        """The noise that came true, see `Privileged`."""
        return observation_size + action_size

    def noisy_inputs(
        self,
        known: RobustState,
        observations: Array,
        strength: Strength,
        action_size: int,
        key: Array,
        factor: Array | float = 1.0,
    ) -> NoisyInputs:
        """What policies meet in states [E, O] where rollouts carry the nominal noise."""
        if not self.noisy_rollouts:
            return undisturbed(observations)
        scales = strength.scales.times(factor)
        η, ν = self.nominal.sample_now(known.nominal, key, scales, observations, action_size)
        actuator = ν if self.nominal.moves_actions else None
        return NoisyInputs(observations, observations + η, actuator, sensor=η)

    def draw_batch(
        self, known: RobustState, origin: Transition, alive: Array, scales: Scales, key: Array
    ) -> DrawBatch:
        """Draws and exploration noise for the states that transitions led to."""
        noise_key, z_key = jax.random.split(key)
        keys = jax.random.split(noise_key, alive.shape[0])

        def sample(own_key: Array, transition: Transition) -> Any:
            return self.nominal.sample(known.nominal, own_key, scales, transition, self.draws)

        drawn = jax.vmap(sample)(keys, origin)
        true = origin.next_observation[:, None]
        if self.nominal.moves_states:
            true = true + drawn.process
        actuator = drawn.actuator if self.nominal.moves_actions else None
        z = normal(z_key, origin.action.shape)  # each is used for all draws
        return DrawBatch(
            origin=origin,
            inputs=NoisyInputs(true, true + drawn.sensor, actuator),
            probabilities=jax.nn.softmax(drawn.log_weight, axis=1),
            z=z[:, None],
            alive=alive,
        )

    def worst_case(
        self, known: RobustState, value: NoisyValue, draws: DrawBatch, epsilon: Array
    ) -> DualOutput:
        """U of the drawn states, with the values [B, n] and log densities of their draws."""
        return self.dual.find(known.dual, self._of_draws(known, value, draws), epsilon)

    def learn(
        self, known: RobustState, value: NoisyValue, batch: Batch, strength: Strength, key: Array
    ) -> tuple[RobustState, DrawBatch, Worst, Numbers]:
        """U of the states that a batch reached, after nominal model and dual have learned from it.

        Args:
            known: what they have learned so far.
            value: with the target networks.
            batch: transitions from a replay.
            strength: ε and the nominal scales.
            key: randomness of the draws.

        Returns:
            What they know now, the states with their draws, the worst case at each, and what the
            nominal model says of itself.
        """
        nominal, log = self.nominal.update(known.nominal, batch)
        known = known._replace(nominal=nominal)
        draws = self.draw_batch(known, *backup_states(batch), strength.scales, key)
        drawn, ε = self._of_draws(known, value, draws), jnp.asarray(strength.epsilon)
        dual, found = self.dual.learn(known.dual, drawn, ε)
        return known._replace(dual=dual), draws, found.worst, of_the_model(log)

    def backup(
        self, known: RobustState, value: NoisyValue, batch: Batch, strength: Strength, key: Array
    ) -> Backup:
        """U of the states after the batch; the actor ascends U as well."""
        key, actor_key = jax.random.split(key)
        known, draws, worst, log = self.learn(known, value, batch, strength, key)
        following = worst.value[: batch.reward.shape[0]]
        return Backup(known, following, (draws, worst, actor_key), log)

    def actor_loss(
        self, backup: Backup, value: NoisyValue, strength: Strength
    ) -> tuple[Array, Array]:
        """−U, and log π where that was looked at, both means over the states that are alive.

        The worst case is found again with the critics that the actor learns from, but with one draw
        per state by the weights that the target critics gave.
        """
        draws, worst, key = backup.actor_inputs
        if self.actor_draws == "one" and self.dual.tilts:
            index, factor = pick(worst.weights, key)
            values, log_density = value(chosen(draws.inputs, index), draws.z[:, 0])
            values = factor * values
        else:
            ε = jnp.asarray(strength.epsilon)
            worst, _, log_densities = self.worst_case(backup.known, value, draws, ε)
            values, log_density = worst.value, jnp.sum(worst.weights * log_densities, axis=1)
        return -mean_where(draws.alive, values), mean_where(draws.alive, log_density)

    def signal(
        self,
        known: RobustState,
        value: NoisyValue,
        mean_value: NoisyValue,
        batch: Batch,
        signal_inputs: SignalInputs,
        strength: Strength,
        key: Array,
    ) -> SignalOutput:
        """See `Uncertainty`; nothing is learned from asking."""
        del mean_value
        found = draw_signal(self, known, value, batch, signal_inputs.starts, strength, key)
        return found._replace(known=known)

    def rollout_backup(
        self,
        known: RobustState,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        strength: Strength,
        key: Array,
    ) -> RolloutBackup:
        """The critic at draws after every step, and their worst case; see `robust_bootstrap`."""
        noise = rollout_noise(rollout, moments)
        key = jax.random.fold_in(key, _DRAWS)
        found = robust_bootstrap(self, known, value, noise, strength, key)
        return RolloutBackup(found.critic_input, found.worst.value, found.ratio, detail=found)

    def rollout_signal(
        self,
        known: RobustState,
        value: Value,
        rollout: Rollout,
        moments: Moments,
        backup: RolloutBackup,
        reward_scale: Array,
        strength: Strength,
        key: Array,
    ) -> SignalOutput:
        """The signal of a rollout; dual and nominal model have learned from it."""
        del reward_scale
        assert rollout.signal_inputs is not None
        found: RobustBootstrap = backup.detail
        starts, idle = rollout.signal_inputs.starts, jnp.zeros((1, rollout.action.shape[-1]))
        idle = jnp.broadcast_to(idle, (len(starts), idle.shape[-1]))
        states_key, start_key = jax.random.split(jax.random.fold_in(key, _SIGNAL))
        signal = signal_of(found, rollout.reward, rollout.terminated, rollout.ended, states_key)
        signal |= {
            "start_value": start_value(
                self,
                known._replace(dual=found.dual),
                value,
                Transition(starts, idle, starts),
                normalization.standardise(moments, starts),
                normalization.scale(moments),
                strength,
                start_key,
            )
        }
        log = metrics_of(found, rollout.terminated, signal)
        log |= self._dual_numbers(found, rollout.terminated, strength)
        steps = rollout_noise(rollout, moments).steps
        flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), steps)
        nominal, own = self.nominal.update(known.nominal, flat)
        log |= of_the_model(own)
        return SignalOutput(signal, log, RobustState(nominal, found.dual))

    def _dual_numbers(
        self, found: RobustBootstrap, terminated: Array, strength: Strength
    ) -> Numbers:
        worst, values, p = jax.tree.map(
            lambda a: a.reshape(-1, *a.shape[2:]), (found.worst, found.values, found.nominal)
        )
        alive = ~terminated.reshape(-1)
        return self.dual.numbers(worst, values, p, alive, jnp.asarray(strength.epsilon))

    def _of_draws(self, known: RobustState, value: NoisyValue, draws: DrawBatch) -> ValueOfDraws:
        """The values of the draws as a dual asks for them."""

        def at(shift: Array | None) -> tuple[Array, Array]:
            inputs = draws.inputs
            if shift is not None:  # the state moves for the critic and for the policy's eyes alike
                inputs = inputs._replace(true=inputs.true + shift, seen=inputs.seen + shift)
            return value(inputs, draws.z)

        return ValueOfDraws(
            value=at,
            unit=self.nominal.state_scale(known.nominal) if not self.dual.tilts else None,
            like=draws.inputs.seen,
            probabilities=draws.probabilities,
            origin=draws.origin,
        )


def of_the_model(numbers: Numbers) -> Numbers:
    """A nominal model's own metrics, under names that no learner has."""
    return {f"nominal_{name}": x for name, x in numbers.items()}


def backup_states(batch: Batch) -> tuple[Transition, Array]:
    """The states to face: every successor of a batch, and some states where a transition began.

    The successors are what the critic's target needs and, but for the terminal ones, states that
    the actor may learn from as well, so that their draws are evaluated once for both. Start states
    are nobody's successor; they are among the last B/32, where transitions began.

    Returns:
        What led to them, and whether anything follows from them, [B + B/32, …].
    """
    size = batch.reward.shape[0]
    few = max(1, size // _EARLIER)
    states = jnp.concatenate([batch.next_observation, batch.observation])
    origin = Transition(
        jnp.concatenate([batch.observation, batch.observation[:few]]),
        jnp.concatenate([batch.action, jnp.zeros_like(batch.action[:few])]),
        # Looked up rather than sliced: a CPU would fuse the joint into the loop that draws noise,
        # which takes three times as long then.
        states[jnp.arange(size + few)],
    )
    return origin, jnp.concatenate([~batch.terminated, jnp.ones(few, bool)])


def pick(weights: Array, key: Array) -> tuple[Array, Array]:
    """One draw i of each state by its weight, and a factor with E[factor·x_i] = Σ w x.

    The factor is 1 but where weights are negative, which a `Gaussian` dual's may be.

    Args:
        weights: [B, n], summing to 1.
        key: randomness.

    Returns:
        Index and factor, [B] each.
    """
    size = jnp.abs(weights)
    upto = jnp.cumsum(size, axis=1)
    uniform = jax.random.uniform(key, weights.shape[:1]) * upto[:, -1]
    index = jnp.minimum(jnp.sum(uniform[:, None] >= upto, axis=1), weights.shape[1] - 1)
    sign = jnp.sign(jnp.take_along_axis(weights, index[:, None], axis=1)[:, 0])
    return index, lax.stop_gradient(sign * upto[:, -1])


def chosen(inputs: NoisyInputs, index: Array) -> NoisyInputs:
    """Draw `index` [B] of inputs [B, n, …]."""

    def of(part: Array) -> Array:
        only = part.shape[1] == 1
        return part[:, 0] if only else jnp.take_along_axis(part, index[:, None, None], axis=1)[:, 0]

    return jax.tree.map(of, inputs)


def mean_where(alive: Array, x: Array) -> Array:
    """The mean of x over the states that are alive."""
    return jnp.sum(jnp.where(alive, x, 0.0)) / jnp.maximum(jnp.sum(alive.astype(x.dtype)), 1.0)
