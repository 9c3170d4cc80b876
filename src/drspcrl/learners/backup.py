"""What a state is worth to a learner: the one place where its Bellman backup is decided.

Plain learners take the simulator at its word. Robust SAC and DDPG ask for the worst case over n
draws of nominal noise ω = (w, η, ν), see `drspcrl.nominal`, with the same value for the critic's
target and the actor's objective, so that critic and actor never optimise different things:

    o_i  = s + w_i + η_i                     what the policy sees
    a_i  = clip(policy(o_i; z) + ν_i)        one exploration noise z for all draws of a state
    V_i  = Q(s + w_i, a_i) − α·log π         entropy inside, in SAC
    U(s) = worst case within ε over i of V_i

With one z per draw instead, the adversary would tilt the policy's own exploration, and ε would cost
value even without nominal noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.errors import InputError
from drspcrl.learners import networks
from drspcrl.learners.dual import Dual, Exact, FirstOrderWasserstein, Worst
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.threefry import normal
from drspcrl.nominal import Noise, NominalModel, Scales, Transition, Uncertainty

Value = Callable[[Array], Array]
"""From states [B, O] to values [B], with networks and action noise already chosen."""

ACTOR_DRAWS = ("one", "all")
PRECISIONS = ("float32", "float16", "bfloat16")
_EARLIER = 32  # for so many successors the actor sees one state where a transition began


class Situation(NamedTuple):
    """What draws make of states.

    Attributes:
        true: where the system is, s + w, [..., O]; [..., 1, O] where all draws agree on it.
        seen: what the policy sees of it, s + w + η, [..., O].
        actuator: what is added to its actions, ν, [..., A]; None for nothing.
    """

    true: Array
    seen: Array
    actuator: Array | None

    def arriving(self, wanted: Array) -> Array:
        """The actions that arrive where these are wanted, in [−1, 1]."""
        if self.actuator is None:
            return wanted
        return jnp.clip(wanted + self.actuator, -1.0, 1.0)


def undisturbed(states: Array) -> Situation:
    """States as they are, seen as they are, with actions that arrive as they are wanted."""
    return Situation(states, states, None)


DrawnValue = Callable[[Situation, Array], tuple[Array, Array]]
"""From situations [..., O] and exploration noise z [..., A] to values and log densities [...]."""


class Faced(NamedTuple):
    """States with n draws each.

    Attributes:
        origin: what led to the states, [B, …].
        situation: the draws, [B, n, …].
        probabilities: of the draws, [B, n].
        z: exploration noise, one for each state, [B, 1, A].
        alive: whether anything follows from the state, [B].
    """

    origin: Transition
    situation: Situation
    probabilities: Array
    z: Array
    alive: Array


class RobustState(NamedTuple):
    """What the nominal model and the dual have learned."""

    nominal: Any
    dual: Any


@dataclass(frozen=True)
class Robust:
    """A backup against the worst case around a nominal model.

    Attributes:
        nominal: the model that draws come from.
        dual: how the worst case over them is found.
        draws: n; a nominal model that is not sampled has one draw whatever it says.
        actor_draws: `all` ascends U itself. `one` draws one index i per state from the worst-case
            weights that the target critics gave, and ascends V_i alone: by the envelope theorem
            ∇U = Σ w_i ∇V_i, so its mean is the same gradient, for an n-th of the cost.
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

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.nominal.sampled and self.draws < 2:
            raise InputError(f"Robust: draws is {self.draws}; a sampled model needs at least 2")
        if self.actor_draws not in ACTOR_DRAWS:
            raise InputError(
                f"Robust: actor_draws is {self.actor_draws!r}; "
                f"choose one of {', '.join(ACTOR_DRAWS)}"
            )
        if self.precision not in PRECISIONS:
            raise InputError(
                f"Robust: precision is {self.precision!r}; choose one of {', '.join(PRECISIONS)}"
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

    def face(
        self, state: RobustState, origin: Transition, alive: Array, scales: Scales, key: Array
    ) -> Faced:
        """Draws and exploration noise for the states that transitions led to."""
        noise_key, z_key = jax.random.split(key)
        keys = jax.random.split(noise_key, alive.shape[0])

        def sample(own_key: Array, transition: Transition) -> Any:
            return self.nominal.sample(state.nominal, own_key, scales, transition, self.draws)

        drawn = jax.vmap(sample)(keys, origin)
        true = origin.next_observation[:, None]
        if self.nominal.moves_states:
            true = true + drawn.process
        actuator = drawn.actuator if self.nominal.moves_actions else None
        z = normal(z_key, origin.action.shape)  # each is used for all draws
        return Faced(
            origin=origin,
            situation=Situation(true, true + drawn.sensor, actuator),
            probabilities=jax.nn.softmax(drawn.log_weight, axis=1),
            z=z[:, None],
            alive=alive,
        )

    def met(
        self, state: RobustState, observations: Array, scales: Scales, action_size: int, key: Array
    ) -> Situation:
        """What a policy meets in states [E, O] where rollouts carry the nominal noise."""
        η, ν = self.nominal.sample_now(state.nominal, key, scales, observations, action_size)
        return Situation(observations, observations + η, ν if self.nominal.moves_actions else None)

    def worst_case(
        self, state: RobustState, value: DrawnValue, faced: Faced, epsilon: Array
    ) -> tuple[Worst, Array, Array]:
        """U of the faced states, and the values and log densities of their draws, [B, n]."""
        p, origin = faced.probabilities, faced.origin
        if isinstance(self.dual, FirstOrderWasserstein):
            unit = self.nominal.state_scale(state.nominal)
            values, log_density, gradients = with_gradients(value, faced, unit)
            worst = self.dual.from_gradients(values, gradients, p, epsilon)
        else:
            values, log_density = value(faced.situation, faced.z)
            worst = self.dual.worst_case(state.dual, values, p, epsilon, origin)
        return worst, values, log_density

    def learn(
        self,
        state: RobustState,
        value: DrawnValue,
        batch: Batch,
        uncertainty: Uncertainty,
        key: Array,
    ) -> tuple[RobustState, Faced, Worst]:
        """U of the states that a batch reached, after nominal model and dual have learned from it.

        Args:
            state: what they have learned so far.
            value: with the target networks.
            batch: transitions from a replay.
            uncertainty: ε and the nominal scales.
            key: randomness of the draws.

        Returns:
            What they know now, the states with their draws, and the worst case at each.
        """
        nominal, _ = self.nominal.update(state.nominal, batch)
        state = state._replace(nominal=nominal)
        faced = self.face(state, *reached(batch), uncertainty.scales, key)
        ε = jnp.asarray(uncertainty.epsilon)
        if not self.dual.tilts:
            return state, faced, self.worst_case(state, value, faced, ε)[0]
        values, _ = value(faced.situation, faced.z)
        problem = values, faced.probabilities, ε, faced.origin
        dual = self.dual.update(state.dual, *problem)
        return state._replace(dual=dual), faced, self.dual.worst_case(dual, *problem)

    def actor_loss(
        self,
        state: RobustState,
        value: DrawnValue,
        faced: Faced,
        worst: Worst,
        epsilon: Array,
        key: Array,
    ) -> tuple[Array, Array]:
        """−U, and log π where that was looked at, both means over the states that are alive.

        Args:
            state: what nominal model and dual have learned.
            value: with the actor to differentiate and the critics it learns from.
            faced: the states.
            worst: the worst case at them, as the target critics have it.
            epsilon: ε.
            key: for the one draw per state that `actor_draws="one"` looks at.
        """
        if self.actor_draws == "one" and self.dual.tilts:
            index, factor = pick(worst.weights, key)
            values, log_density = value(chosen(faced.situation, index), faced.z[:, 0])
            values = factor * values
        else:
            worst, _, log_densities = self.worst_case(state, value, faced, epsilon)
            values, log_density = worst.value, jnp.sum(worst.weights * log_densities, axis=1)
        return -mean_where(faced.alive, values), mean_where(faced.alive, log_density)


def reached(batch: Batch) -> tuple[Transition, Array]:
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


def with_gradients(value: DrawnValue, faced: Faced, unit: Array) -> tuple[Array, Array, Array]:
    """Values, log densities [B, n] and standardised gradients of the values in the state [B, n, O].

    The state moves for the critic and for the policy's eyes alike.
    """

    def total(shift: Array) -> tuple[Array, tuple[Array, Array]]:
        moved = faced.situation._replace(
            true=faced.situation.true + shift, seen=faced.situation.seen + shift
        )
        values, log_density = value(moved, faced.z)
        return jnp.sum(values), (values, log_density)

    still = jnp.zeros_like(faced.situation.seen)
    gradients, (values, log_density) = jax.grad(total, has_aux=True)(still)
    return values, log_density, gradients * unit[None, None]


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


def chosen(situation: Situation, index: Array) -> Situation:
    """Draw `index` [B] of situations [B, n, …]."""

    def of(part: Array) -> Array:
        only = part.shape[1] == 1
        return part[:, 0] if only else jnp.take_along_axis(part, index[:, None, None], axis=1)[:, 0]

    return jax.tree.map(of, situation)


def mean_where(alive: Array, x: Array) -> Array:
    """The mean of x over the states that are alive."""
    return jnp.sum(jnp.where(alive, x, 0.0)) / jnp.maximum(jnp.sum(alive.astype(x.dtype)), 1.0)
