"""Ways to the worst case over n draws: written for one state, vmapped to a batch of them.

| name | value | for |
|---|---|---|
| `Exact` | min over q in the ball of Σ q V, by any divergence | default |
| `NetworkDual` | −β log Σ p exp(−V/β) − βε at β = β_φ(s, a) | the paper, `eq:robust_q_dual` |
| `Gaussian` | mean − √(2ε)·sd | comparison |

and a fourth that moves the draws instead of tilting them: `FirstOrderWasserstein`. All return the
plain mean at ε = 0, exactly, and are differentiable in the values.

A dual is given the value *function* of the draws: those that tilt ask it once, the one that moves
them asks for its gradient.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from drspcrl.divergences import KL, Divergence
from drspcrl.learners import adam, networks
from drspcrl.learners.networks import Network
from drspcrl.transitions.nominal import Transition


class Worst(NamedTuple):
    """The worst case at B states with n draws each.

    Attributes:
        value: U, [B]; differentiable in the draws' values, d U/d V = weights.
        weights: of the draws, [B, n]; they sum to 1, and only `Gaussian`'s may be negative.
        multiplier: β = −dU/dε, [B]; +inf at ε = 0 where U falls like √ε.
        slope: −dU/d coordinate, finite everywhere, [B]; see `Divergence.coordinate`.
    """

    value: Array
    weights: Array
    multiplier: Array
    slope: Array


class ValueOfDraws(NamedTuple):
    """What a dual is asked about: B states with n draws each.

    Attributes:
        value: from a shift of the draws [B, n, O], None for none, to values [B, n] and whatever
            else comes with them, e.g. log densities.
        unit: length of a coordinate of the state that counts as 1, [O]; None where nothing moves.
        like: an array of the shape of shifts, [B, n, O].
        probabilities: of the draws, [B, n].
        origin: what led to the states, [B, …].
        settle: what is done to values that are weighed, but not to those that are differentiated.
    """

    value: Callable[[Array | None], tuple[Array, Any]]
    unit: Array | None
    like: Array
    probabilities: Array
    origin: Transition
    settle: Callable[[Array], Array] = lambda values: values


class DualOutput(NamedTuple):
    """A worst case, with the draws' values [B, n] and what came with them."""

    worst: Worst
    values: Array
    more: Any


class Dual(ABC):
    """How a worst case over draws is found; some learn how."""

    # Whether the worst case is a new weight for each draw; else it is a new place.
    tilts: ClassVar[bool] = True

    @property
    @abstractmethod
    def ball(self) -> Divergence | None:
        """The ball whose worst case weighs states against each other; None for none."""

    @abstractmethod
    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """What it knows at first; nothing unless it learns."""

    @abstractmethod
    def find(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> DualOutput:
        """The worst case within ε ≥ 0, a scalar."""

    @abstractmethod
    def learn(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> tuple[Any, DualOutput]:
        """`find`, after what there is to learn from these draws."""

    def numbers(
        self, worst: Worst, values: Array, probabilities: Array, alive: Array, epsilon: Array
    ) -> dict[str, Array]:
        """What there is to log about the dual itself; all [B] or [B, n]."""
        del worst, values, probabilities, alive, epsilon
        return {}


class Tilting(Dual):
    """A dual that weighs draws by their values."""

    @property
    def ball(self) -> Divergence | None:
        """KL, unless it has a divergence of its own."""
        return KL()

    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """What it knows at first; nothing unless it learns."""
        del key, observation_size, action_size
        return ()

    def update(
        self, state: Any, values: Array, probabilities: Array, epsilon: Array, origin: Transition
    ) -> Any:
        """Learn from values [B, n] of draws; nothing unless it learns."""
        del values, probabilities, epsilon, origin
        return state

    @abstractmethod
    def worst_case(
        self, state: Any, values: Array, probabilities: Array, epsilon: Array, origin: Transition
    ) -> Worst:
        """The worst case within ε, of one state.

        Args:
            state: what it has learned.
            values: V of the draws, [n].
            probabilities: p of the draws, [n].
            epsilon: ε ≥ 0, a scalar.
            origin: what led to the state.
        """

    def worst_cases(
        self, state: Any, values: Array, probabilities: Array, epsilon: Array, origin: Transition
    ) -> Worst:
        """`worst_case` of B states: values and probabilities [B, n], origins [B, …]."""
        # States along the last axis: sums over few draws run over many states at once.
        solve = jax.vmap(self.worst_case, in_axes=(None, 1, 1, None, 0), out_axes=-1)
        found = solve(state, values.T, probabilities.T, epsilon, origin)
        return found._replace(weights=found.weights.T)

    def find(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> DualOutput:
        """See `Dual`."""
        values, more = drawn.value(None)
        values = drawn.settle(values)
        worst = self.worst_cases(state, values, drawn.probabilities, epsilon, drawn.origin)
        return DualOutput(worst, values, more)

    def learn(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> tuple[Any, DualOutput]:
        """See `Dual`."""
        values, more = drawn.value(None)
        values = drawn.settle(values)
        problem = values, drawn.probabilities, epsilon, drawn.origin
        state = self.update(state, *problem)
        return state, DualOutput(self.worst_cases(state, *problem), values, more)


@dataclass(frozen=True)
class Exact(Tilting):
    """The divergence's own solution, state by state."""

    divergence: Divergence = field(default_factory=lambda: KL.for_learners())

    @property
    def ball(self) -> Divergence | None:
        """The divergence itself."""
        return self.divergence

    def worst_case(
        self, state: Any, values: Array, probabilities: Array, epsilon: Array, origin: Transition
    ) -> Worst:
        """See `Dual`."""
        del state, origin
        found = self.divergence.worst_case(values, probabilities, epsilon)
        return Worst(found.value, found.weights, found.multiplier, found.slope)


@dataclass(frozen=True)
class Gaussian(Tilting):
    """mean − √(2ε)·sd: what KL costs if the values are normal and their law is known.

    On n draws it is a χ² ball without non-negativity: some weights are negative for large ε, and
    the value may lie below the least draw. Slope in √ε: √2·sd.
    """

    def worst_case(
        self, state: Any, values: Array, probabilities: Array, epsilon: Array, origin: Transition
    ) -> Worst:
        """See `Dual`."""
        del state, origin
        v, p = lax.stop_gradient((values, probabilities))
        centred = v - jnp.sum(p * v)
        sd = jnp.sqrt(jnp.sum(p * jnp.square(centred)))
        unit = jnp.where(sd > 0, sd, 1.0)
        reach = jnp.sqrt(2.0 * epsilon)
        weights = p * (1.0 - reach * centred / unit)
        slope = jnp.sqrt(2.0) * sd
        β = jnp.where(sd > 0, jnp.where(epsilon > 0, sd / reach, jnp.inf), 0.0)
        value = jnp.sum(p * values) - reach * sd
        # The envelope theorem: zero, with the derivative of the reach in the values.
        tilted = jnp.sum((weights - p) * (values - v))
        return Worst(value + tilted, weights, β, slope)


@dataclass(frozen=True)
class FirstOrderWasserstein(Dual):
    """V − ε·(E‖∇V‖²)^½: a Wasserstein-2 ball to first order in ε.

    The gradient is that of the value in the state, through the policy, in coordinates that count
    the nominal model's `state_scale` as 1. For linear V it is exact. Unlike the others it is not
    empty around a point mass.
    """

    tilts: ClassVar[bool] = False

    @property
    def ball(self) -> Divergence | None:
        """None: it does not weigh."""
        return None

    def init(self, key: Array, observation_size: int, action_size: int) -> Any:
        """Nothing."""
        del key, observation_size, action_size
        return ()

    def find(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> DualOutput:
        """The worst case by the gradients of the draws' values."""
        del state

        def total(shift: Array) -> tuple[Array, tuple[Array, Any]]:
            values, more = drawn.value(shift)
            return jnp.sum(values), (values, more)

        gradients, (values, more) = jax.grad(total, has_aux=True)(jnp.zeros_like(drawn.like))
        values = drawn.settle(values)
        assert drawn.unit is not None
        gradients = gradients * jnp.broadcast_to(drawn.unit, gradients.shape)
        solve = jax.vmap(self.from_gradients, in_axes=(0, 0, 0, None))
        return DualOutput(solve(values, gradients, drawn.probabilities, epsilon), values, more)

    def learn(self, state: Any, drawn: ValueOfDraws, epsilon: Array) -> tuple[Any, DualOutput]:
        """See `find`; there is nothing to learn."""
        return state, self.find(state, drawn, epsilon)

    def from_gradients(
        self, values: Array, gradients: Array, probabilities: Array, epsilon: Array
    ) -> Worst:
        """The worst case of one state, from values [n] and standardised gradients [n, O]."""
        square = jnp.sum(probabilities * jnp.sum(jnp.square(gradients), axis=-1))
        # √ has no derivative at 0, where there is nothing to move against either.
        size = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
        value = jnp.sum(probabilities * values) - epsilon * size
        constant = lax.stop_gradient(size)
        return Worst(value, probabilities, constant, constant)


class NetworkState(NamedTuple):
    """A dual network, its optimiser, and the unit that it counts β in."""

    network: Network
    optimizer: adam.State
    unit: Array


@dataclass(frozen=True)
class NetworkDual(Tilting):
    """β_φ(s, a), learned by ascending the dual objective of a KL ball (`eq:robust_q_dual`).

        β_φ = unit · exp(log(reach)·tanh(network(s, a)))

    It is positive by construction, within a factor `reach` of the unit, and the unit is the running
    standard deviation of the values between draws (of a single draw: between states), so the
    network's output has no scale to learn.
    Its value never exceeds the exact worst case; at ε = 0, where a finite β would still cost a
    Jensen penalty, it is the plain mean.

    Attributes:
        hidden: sizes of the hidden layers.
        learning_rate: the paper's.
        steps: K, gradient steps per update of the learner; the paper's.
        reach: largest β over the unit, and unit over the smallest.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 5e-4
    steps: int = 5
    reach: float = 1000.0

    def init(self, key: Array, observation_size: int, action_size: int) -> NetworkState:
        """A network that says β = unit, about."""
        sizes = (observation_size + action_size, *self.hidden, 1)
        network = networks.uniform(key, sizes)
        return NetworkState(network, adam.init(network), jnp.zeros(()))

    def multiplier(self, network: Network, unit: Array, origin: Transition) -> Array:
        """β_φ(s, a), of one origin or [B] of them."""
        x = jnp.concatenate([origin.observation, origin.action], axis=-1)
        exponent = jnp.tanh(networks.apply(network, x)[..., 0])
        return jnp.maximum(unit, 1e-6) * jnp.exp(jnp.log(self.reach) * exponent)

    def update(
        self,
        state: NetworkState,
        values: Array,
        probabilities: Array,
        epsilon: Array,
        origin: Transition,
    ) -> NetworkState:
        """K steps up the mean dual objective, in units of the spread."""
        values = lax.stop_gradient(values)
        spread = jnp.mean(jax.vmap(deviation)(values, probabilities))
        if values.shape[1] == 1:  # one draw has no spread: take that of the states' values
            spread = jnp.std(values)
        unit = jnp.where(state.unit > 0, state.unit + 0.01 * (spread - state.unit), spread)

        def loss(network: Network) -> Array:
            β = self.multiplier(network, unit, origin)
            gain = jax.vmap(dual_objective, (0, 0, 0, None))(values, probabilities, β, epsilon)
            return -jnp.mean(gain - jnp.min(values, axis=1)) / jnp.maximum(unit, 1e-6)

        network, optimizer = state.network, state.optimizer
        for _ in range(self.steps):
            grads = jax.grad(loss)(network)
            network, optimizer = adam.step(network, grads, optimizer, self.learning_rate)
        return NetworkState(network, optimizer, unit)

    def worst_case(
        self,
        state: NetworkState,
        values: Array,
        probabilities: Array,
        epsilon: Array,
        origin: Transition,
    ) -> Worst:
        """See `Dual`; the multiplier is what the network says."""
        β = lax.stop_gradient(self.multiplier(state.network, state.unit, origin))
        mean = jnp.sum(probabilities * values)
        tilted = dual_objective(values, probabilities, β, epsilon)
        weights = jax.nn.softmax(jnp.log(probabilities) - values / β)
        plain = epsilon == 0
        return Worst(
            value=jnp.where(plain, mean, tilted),
            weights=lax.stop_gradient(jnp.where(plain, probabilities, weights)),
            multiplier=β,
            slope=jnp.where(
                plain,
                jnp.sqrt(2.0) * deviation(lax.stop_gradient(values), probabilities),
                2.0 * jnp.sqrt(epsilon) * β,
            ),
        )

    def numbers(
        self, worst: Worst, values: Array, probabilities: Array, alive: Array, epsilon: Array
    ) -> dict[str, Array]:
        """How far it is from the worst case itself, and the multiplier there."""
        nowhere = Transition(values, values, values)  # not looked at
        exact = Exact().worst_cases((), values, probabilities, epsilon, nowhere)
        return {
            "dual_gap": jnp.mean(jnp.where(alive, exact.value - worst.value, 0.0)),
            "beta_exact": jnp.mean(jnp.where(alive, exact.multiplier, 0.0)),
        }


def dual_objective(values: Array, probabilities: Array, β: Array, epsilon: Array) -> Array:
    """−β log Σ p exp(−V/β) − βε; V is counted from its minimum, so that nothing overflows."""
    least = lax.stop_gradient(jnp.min(values))
    log_mean = jax.nn.logsumexp(-(values - least) / β + jnp.log(probabilities))
    return least - β * log_mean - β * epsilon


def deviation(values: Array, probabilities: Array) -> Array:
    """The standard deviation of one state's draws."""
    mean = jnp.sum(probabilities * values)
    return jnp.sqrt(jnp.sum(probabilities * jnp.square(values - mean)))
