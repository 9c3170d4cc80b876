"""Worlds at a radius: exact derivatives, prices, distances, and the self-paced rule on them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from drspcrl.divergences import KL, ChiSquared, Wasserstein
from drspcrl.errors import InputError
from drspcrl.tabular import (
    MDP,
    RadiusFamily,
    WorldFamily,
    crossings,
    garnet,
    mean_return,
    priced_return,
    worst_law,
)

STATES, ACTIONS, WORLDS = 5, 2, 3
POLICY = np.random.default_rng(0).dirichlet(np.ones(ACTIONS), size=STATES)


def random_worlds(seed: int, **options) -> RadiusFamily:
    """From one garnet towards three others: straight, so that ρ lies in [0, 1]."""
    nominal, *declared = (
        garnet(states=STATES, actions=ACTIONS, successors=3, discount=0.9, seed=10 * seed + k)
        for k in range(WORLDS + 1)
    )
    law = np.random.default_rng(seed).dirichlet(np.ones(WORLDS))
    return RadiusFamily.between(nominal, WorldFamily(declared, law), **options)


def softmax_worlds(directions, place: Any = "sphere", law=None) -> RadiusFamily:
    """Logits and rewards that move along ω, two numbers: any radius gives an MDP."""
    generator = np.random.default_rng(4)
    logits = generator.normal(size=(STATES, ACTIONS, STATES))
    tilts = generator.normal(size=(2, STATES, ACTIONS, STATES))
    rewards, gains = (
        generator.random((STATES, ACTIONS)),
        generator.normal(size=(2, STATES, ACTIONS)),
    )

    def model(ω):
        moved = logits + jnp.tensordot(ω, jnp.asarray(tilts), axes=1)
        return jax.nn.softmax(moved, axis=-1), rewards + 0.2 * jnp.tensordot(ω, gains, axes=1)

    directions = np.asarray(directions, dtype=float)
    law = np.full(len(directions), 1 / len(directions)) if law is None else law
    return RadiusFamily(model, directions, law, 0.9, np.full(STATES, 1 / STATES), place)


CIRCLE = [(1.0, 0.0), (0.0, 1.0), (-0.6, 0.8), (0.3, -0.4)]
FAMILIES = {
    "straight": random_worlds(1),
    "straight, in the ball": random_worlds(1, place="ball"),
    "softmax": softmax_worlds(CIRCLE),
    "softmax, in the ball": softmax_worlds(CIRCLE, "ball"),
}


def test_straight_worlds_lie_between_the_nominal_and_the_declared_ones():
    nominal, far = garnet(3, 2, 2, 0.9, seed=0), garnet(3, 2, 2, 0.9, seed=1)
    family = RadiusFamily.between(nominal, WorldFamily([far, nominal], np.array([0.3, 0.7])))
    for radius, share in [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0)]:
        (moved, still), law = family.at(radius).worlds, family.at(radius).law
        mixed = (1 - share) * nominal.to_dense().transitions + share * far.to_dense().transitions
        np.testing.assert_allclose(moved.to_dense().transitions, mixed, atol=1e-15)
        np.testing.assert_allclose(
            moved.rewards, (1 - share) * nominal.rewards + share * far.rewards, atol=1e-15
        )
        np.testing.assert_allclose(still.rewards, nominal.rewards)
        np.testing.assert_array_equal(law, [0.3, 0.7])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_derivative_in_the_radius_by_central_differences(name):
    family, h = FAMILIES[name], 1e-5
    for radius in (0.05, 0.4, 0.9):
        here = priced_return(family, POLICY, radius)
        low, high = (mean_return(family.at(radius + step), POLICY) for step in (-h, h))
        assert here.expected_return == pytest.approx(mean_return(family.at(radius), POLICY))
        assert here.derivative == pytest.approx((high - low) / (2 * h), rel=1e-6, abs=1e-9)
        assert abs(here.derivative) > 1e-3
    zero, one, two = (mean_return(family.at(k * 1e-4), POLICY) for k in range(3))
    at_zero = priced_return(family, POLICY, 0.0).derivative
    assert at_zero == pytest.approx((4 * one - 3 * zero - two) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("divergence", [KL(), ChiSquared()])
def test_the_derivative_of_the_tilted_return_counts_the_worst_law_as_fixed(divergence):
    family, h, tilt = FAMILIES["softmax"], 1e-5, 0.2
    here = priced_return(family, POLICY, 0.5, divergence=divergence, tilt=tilt)
    values = [
        worst_law(family.at(0.5 + step), POLICY, divergence, tilt).value for step in (-h, 0.0, h)
    ]
    assert here.expected_return == pytest.approx(values[1], rel=1e-12)
    assert here.derivative == pytest.approx((values[2] - values[0]) / (2 * h), rel=1e-6)
    plain = priced_return(family, POLICY, 0.5)
    assert here.expected_return < plain.expected_return
    assert here.derivative != pytest.approx(plain.derivative, rel=1e-2)


def test_the_price_by_hand():
    """One state that pays 1; the declared world pays −3. J = (1 − 4ρ)/(1 − γ), dJ/dρ = −40."""
    family = one_state(1.0, -3.0)
    for radius, expected in [(0.0, 4.0), (0.1, 40 / 6), (0.5, 4.0)]:
        here = priced_return(family, [0], radius)
        assert here.expected_return == pytest.approx(10 * (1 - 4 * radius))
        assert here.derivative == pytest.approx(-40.0)
        assert here.scale == pytest.approx(abs(10 * (1 - 4 * radius)))
        assert here.price == pytest.approx(expected)
    # Undefined where V crosses 0: all the price there is.
    crossing = priced_return(one_state(0.0, -1.0), [0], 0.0)
    assert (crossing.scale, crossing.price) == (0.0, np.inf)
    # A return that rises has no price, for P_ρ are not nested.
    assert priced_return(one_state(1.0, 2.0), [0], 0.5).price == 0.0


def one_state(pay: float, declared: float) -> RadiusFamily:
    nominal, far = (
        MDP(np.ones((1, 1, 1)), np.array([[reward]]), 0.9, np.ones(1)) for reward in (pay, declared)
    )
    return RadiusFamily.between(nominal, WorldFamily([far], np.ones(1)))


def test_symmetric_directions_have_slope_zero_at_the_simulator():
    """What adapts is where ρ ends, not how it begins."""
    family = softmax_worlds([(1.0, 0.5), (-1.0, -0.5)])
    here = priced_return(family, POLICY, 0.0)
    assert here.derivative == pytest.approx(0.0, abs=1e-13)
    assert here.price < 1e-13
    one_sided = softmax_worlds([(1.0, 0.5)])
    assert abs(priced_return(one_sided, POLICY, 0.0).derivative) > 0.1


def transport_to_the_simulator(points, law) -> float:
    """W₂ between the law and a point mass at 0, by a linear program over all couplings."""
    every = np.concatenate([np.zeros((1, points.shape[1])), points])
    n, cost = len(every), np.square(np.linalg.norm(every[:, None] - every[None], axis=-1))
    source, target = np.concatenate([[0.0], law]), np.eye(n)[0]
    marginals = np.concatenate([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    found = linprog(cost.ravel(), A_eq=marginals, b_eq=np.concatenate([source, target]))
    return float(np.sqrt(found.fun))


@pytest.mark.parametrize("radius", [0.3, 2.5])
def test_the_radius_is_a_wasserstein_radius(radius):
    """W₂(P_ρ, δ₀) = ρ·(E|u|²)^½ on the sphere and 1/√3 of that in the ball."""
    law = np.array([0.1, 0.2, 0.3, 0.4])
    size = np.sqrt(law @ np.square(CIRCLE).sum(axis=1))
    for place, share in [("sphere", 1.0), ("ball", 1 / np.sqrt(3))]:
        family = softmax_worlds(CIRCLE, place, law)
        assert family.distance(radius) == pytest.approx(share * radius * size, rel=1e-13)
        points, weights = family.displacements(radius), family.at(radius).law
        by_program = transport_to_the_simulator(points, weights)
        assert family.distance(radius) == pytest.approx(by_program, rel=1e-9)
    assert random_worlds(0).distance(1.0) == pytest.approx(1.0)


def test_the_ball_is_the_mean_over_smaller_spheres():
    sphere, ball = FAMILIES["softmax"], FAMILIES["softmax, in the ball"]
    radii = (np.arange(200) + 0.5) / 200 * 0.8  # the midpoint rule
    mean = np.mean([mean_return(sphere.at(r), POLICY) for r in radii])
    assert mean_return(ball.at(0.8), POLICY) == pytest.approx(mean, rel=1e-5)
    finer = RadiusFamily(
        ball.model, ball.directions, ball.law, ball.discount, ball.initial, "ball", nodes=40
    )
    assert mean_return(ball.at(0.8), POLICY) == pytest.approx(
        mean_return(finer.at(0.8), POLICY), rel=1e-12
    )


def test_a_law_on_the_sphere_lies_in_the_ball_of_its_radius_and_is_not_its_worst():
    """P_ρ is one member of the Wasserstein ball around the simulator; the worst has two atoms."""
    family = softmax_worlds(CIRCLE)
    near, far = family.displacements(0.5), family.displacements(2.0)
    places = np.concatenate([np.zeros((1, 2)), near, far])
    worlds = [*family.at(0.0).worlds[:1], *family.at(0.5).worlds, *family.at(2.0).worlds]
    simulator = WorldFamily(worlds, np.eye(9)[0])
    ball = Wasserstein.between(places, order=2.0)
    found = worst_law(simulator, POLICY, ball, family.distance(0.5))
    assert found.value < mean_return(family.at(0.5), POLICY) - 1e-3
    assert (found.law > 1e-12).sum() == 2
    spent = found.law @ np.square(places).sum(axis=1)
    assert spent == pytest.approx(family.distance(0.5) ** 2)


def test_crossings_are_safe_in_the_simulator_and_break_in_their_order():
    family, ways = crossings(), [np.array([way] + 11 * [0]) for way in range(3)]
    # Deliveries at step 3 of 4, of 4 with the toll first, and at step 6 of 7.
    γ = 0.95
    by_hand = [γ**3 / (1 - γ**4), (γ**3 - 0.05) / (1 - γ**4), γ**6 / (1 - γ**7)]
    nominal = [priced_return(family, way, 0.0) for way in ways]
    np.testing.assert_allclose([one.expected_return for one in nominal], by_hand)
    assert [one.price for one in nominal] == [0.0, 0.0, 0.0]
    loss = [
        1 - priced_return(family, way, 0.7).expected_return / J
        for way, J in zip(ways, by_hand, strict=True)
    ]
    assert loss[0] > loss[1] > 0.1
    assert loss[2] == pytest.approx(0.0, abs=1e-13)


ONE = garnet(states=3, actions=2, successors=2, discount=0.9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_worlds(0).at(-0.1), "radius is -0.1; it must be a finite number"),
        (lambda: random_worlds(0).at(np.inf), "radius is inf"),
        (lambda: random_worlds(0).at(1.5), r"no MDP at radius 1.5: transitions holds -"),
        (lambda: softmax_worlds([1.0, 2.0]), r"directions has shape \(2,\)"),
        (lambda: softmax_worlds([[np.nan, 1.0]]), "give finite numbers"),
        (lambda: softmax_worlds(CIRCLE, law=np.ones(4)), "must sum to 1"),
        (lambda: softmax_worlds(CIRCLE, "shell"), "place is 'shell'"),
        (
            lambda: RadiusFamily.between(garnet(4, 2, 2, 0.9), WorldFamily([ONE], np.ones(1))),
            r"worlds\[1\] has shape \(3, 2\), worlds\[0\] has \(4, 2\)",
        ),
        (lambda: priced_return(random_worlds(0), POLICY, 0.5, tilt=0.1), "without a divergence"),
        (lambda: crossings(plank=0.0), "strengths must be above 0"),
        (lambda: crossings(return_steps=0.5), "return_steps at least 1"),
    ],
)
def test_wrong_radii_and_directions_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
