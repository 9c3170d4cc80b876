"""Worlds that lie farther and farther from the simulator: ω = r·u with a radius ρ.

u follows a fixed law and an MDP is a smooth function of ω; ω = 0 is the simulator. P_ρ draws r = ρ
(*on the sphere*) or r uniform in [0, ρ] (*in the ball*). Every derivative in ρ is exact: of the MDP
by forward differentiation, of V by differentiating the linear system V = r + γPV, which gives

    V' = r' + γP'V + γPV'.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.typing import ArrayLike

from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.precision import in_float64
from drspcrl.tabular.families import WorldFamily, check_tilt, world_values, worst_of_returns
from drspcrl.tabular.mdp import MDP, Array, SparseMDP, as_law, as_policy, state_kernel, values_in

Model = Callable[[jax.Array], tuple[ArrayLike, ArrayLike]]
"""ω, [D] ↦ transitions [S, A, S] and rewards [S, A], written in JAX operations."""

Place = Literal["sphere", "ball"]


@dataclass(frozen=True, eq=False)
class RadiusFamily:
    """A family of worlds for every radius ρ.

    Attributes:
        model: from ω to transitions and rewards, differentiable by JAX.
        directions: u, [K, D].
        law: of the directions, [K]; sums to 1.
        discount: γ.
        initial: ρ0(s), [S].
        place: `sphere` for r = ρ, `ball` for r uniform in [0, ρ].
        nodes: of the Gauss-Legendre rule over r in the ball: exact for a return that is a
            polynomial in r of degree 2·nodes − 1, and returns of finite MDPs are close to one.
    """

    model: Model
    directions: Array
    law: Array
    discount: float
    initial: Array
    place: Place = "sphere"
    nodes: int = 16

    def __post_init__(self) -> None:
        """Check the directions and the nominal MDP, and keep read-only copies."""
        directions = np.array(self.directions, dtype=np.float64)
        if directions.ndim != 2 or not directions.size or not np.isfinite(directions).all():
            raise InputError(
                f"directions has shape {directions.shape}; give finite numbers of shape [K, D], "
                "one row per direction"
            )
        if self.place not in ("sphere", "ball") or self.nodes < 1:
            raise InputError(
                f"place is {self.place!r}, nodes {self.nodes}; place is sphere or ball, and nodes "
                "at least 1"
            )
        law = as_law("law", self.law, len(directions))
        for name, array in (("directions", directions), ("law", law)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "initial", self.at(0.0).initial)

    @classmethod
    def between(
        cls, nominal: MDP | SparseMDP, declared: WorldFamily, place: Place = "sphere"
    ) -> "RadiusFamily":
        """From the nominal MDP straight to every declared world: (1 − r)·nominal + r·declared.

        Transitions and rewards are mixed, so ρ lies in [0, 1]. The direction of world k is the k-th
        unit vector: all declared worlds are 1 away from the nominal one.
        """
        WorldFamily((nominal, *declared.worlds), np.eye(len(declared.worlds) + 1)[0])  # they match
        center = nominal.to_dense()
        moves = declared.transitions - center.transitions, declared.rewards - center.rewards

        def model(ω: jax.Array) -> tuple[ArrayLike, ArrayLike]:
            P, r = (jnp.tensordot(ω, jnp.asarray(move), axes=1) for move in moves)
            return center.transitions + P, center.rewards + r

        directions = np.eye(len(declared.worlds))
        return cls(model, directions, declared.law, nominal.discount, nominal.initial, place)

    def displacements(self, radius: float) -> Array:
        """All ω that P_ρ draws, [N, D]: N = K on the sphere, K times the nodes in the ball."""
        multiples, _ = self._multiples()
        return check_radius_of_worlds(radius) * self._spread(multiples)

    def at(self, radius: float) -> WorldFamily:
        """The worlds at radius ρ and their law P_ρ."""
        return self._moving(radius)[0]

    def distance(self, radius: float) -> float:
        """W₂(P_ρ, δ₀) in the metric |ω|: ρ·(E|u|²)^½ on the sphere, 1/√3 of that in the ball.

        Around a point mass there is one coupling only, so this is the root of E|ω|².
        """
        squares = np.square(self.displacements(radius)).sum(axis=1)
        return float(np.sqrt(self._weights() @ squares))

    def _multiples(self) -> tuple[Array, Array]:
        """r/ρ and their probabilities."""
        if self.place == "sphere":
            return np.ones(1), np.ones(1)
        points, weights = np.polynomial.legendre.leggauss(self.nodes)
        return (points + 1) / 2, weights / weights.sum()

    def _spread(self, multiples: Array) -> Array:
        return (multiples[:, None, None] * self.directions).reshape(-1, self.directions.shape[1])

    def _weights(self) -> Array:
        return np.outer(self._multiples()[1], self.law).ravel()

    def _moving(self, radius: float) -> tuple[WorldFamily, Array, Array]:
        """The family at ρ, with dP_ω/dρ and dr_ω/dρ of every world, [N, S, A, S] and [N, S, A]."""
        speeds = self._spread(self._multiples()[0])
        ρ = check_radius_of_worlds(radius)
        (P, r), (dP, dr) = _linearised(self.model, ρ * speeds, speeds)
        try:
            worlds = [
                MDP(transitions, rewards, self.discount, self.initial)
                for transitions, rewards in zip(_rounded(P), r, strict=True)
            ]
        except InputError as error:
            raise InputError(f"the model gives no MDP at radius {ρ:g}: {error}") from error
        return WorldFamily(worlds, self._weights()), dP, dr


class PricedReturn(NamedTuple):
    """What one policy earns at one radius, and what a little more radius would cost.

    Attributes:
        radius: ρ.
        expected_return: J(π, ρ) = E J_ω, over P_ρ or its worst case within the tilt.
        derivative: dJ/dρ, exact.
        scale: E|V_ω(s)| over start states and worlds, the unit of the price.
        price: max(0, −dJ/dρ)/scale; 0 where J does not fall, +inf where the scale is 0 and J falls.
    """

    radius: float
    expected_return: float
    derivative: float
    scale: float
    price: float


def priced_return(
    family: RadiusFamily,
    policy: npt.ArrayLike,
    radius: float,
    *,
    divergence: Divergence | None = None,
    tilt: float = 0.0,
) -> PricedReturn:
    """J(π, ρ), its exact derivative, and the price of radius.

    Args:
        family: the worlds at every radius.
        policy: [S, A] or [S].
        radius: ρ ≥ 0.
        divergence: of the worst case over the law P_ρ; none for its mean.
        tilt: τ ≥ 0, the radius of that worst case. The worst law counts as fixed in the
            derivative, by the envelope theorem.
    """
    check_tilt(divergence, tilt)
    worlds, dP, dr = family._moving(radius)
    pi, γ = as_policy(policy, worlds.shape), worlds.discount
    values = world_values(worlds, pi)
    slopes = np.stack(
        [
            values_in(state_kernel(world.to_sparse(), world.to_sparse().probabilities, pi), b, γ)
            for world, b in zip(worlds.worlds, _tangents(pi, dP, dr, values, γ), strict=True)
        ]
    )
    law = worlds.law
    if divergence is not None:
        law = worst_of_returns(values @ worlds.initial, law, divergence, tilt).law
    derivative = float(law @ slopes @ worlds.initial)
    scale = float(law @ np.abs(values) @ worlds.initial)
    return PricedReturn(
        radius=float(radius),
        expected_return=float(law @ values @ worlds.initial),
        derivative=derivative,
        scale=scale,
        price=price(derivative, scale),
    )


def price(derivative: float, scale: float) -> float:
    """max(0, −dJ/dρ)/E|V|, which is a plain number: how fast, relative to itself, J falls."""
    if derivative >= 0:
        return 0.0
    return -derivative / scale if scale > 0 else np.inf


def check_radius_of_worlds(radius: float) -> float:
    """ρ as a float; negative, infinite and NaN are errors."""
    if not 0 <= float(radius) < np.inf:
        raise InputError(f"radius is {radius}; it must be a finite number, 0 or more")
    return float(radius)


def _tangents(pi: Array, dP: Array, dr: Array, values: Array, γ: float) -> Array:
    """r' + γP'V under the policy, [N, S]: the right side of the system for V'."""
    return (pi * (dr + γ * np.einsum("nsat,nt->nsa", dP, values))).sum(axis=-1)


@in_float64
def _linearised(model: Model, points: Array, directions: Array) -> Any:
    """The model and its derivative along each direction, at each point."""
    found = _compiled(model, jnp.asarray(points), jnp.asarray(directions))
    return jax.tree.map(np.asarray, found)


@partial(jax.jit, static_argnames="model")
def _compiled(model: Model, points: jax.Array, directions: jax.Array) -> Any:
    return jax.vmap(lambda ω, u: jax.jvp(model, (ω,), (u,)))(points, directions)


def _rounded(transitions: Array) -> Array:
    """Mixtures may leave −1e-17 where a probability has become 0."""
    tiny = (transitions < 0) & (transitions > -1e-12)
    return np.where(tiny, 0.0, transitions)
