"""The law of worlds: moments in closed form, NumPy and JAX alike, Wasserstein radii."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from drspcrl.envs.registry import make
from drspcrl.errors import InputError
from drspcrl.evaluation import load_suite
from drspcrl.worlds import Parameter, declared, read_declared, world_model
from drspcrl.worlds.declare import KINDS, REACH
from drspcrl.worlds.model import WorldModel

DRAWS = 200_000
# E min(n², c²) = (2Φ(c) − 1) − 2cφ(c) + 2c²(1 − Φ(c)), E min(|n|, c) = 2(φ(0) − φ(c)) + 2c(1−Φ(c))
_PHI = math.exp(-(REACH**2) / 2) / math.sqrt(2 * math.pi)
_TAIL = math.erfc(REACH / math.sqrt(2)) / 2
SECOND = 1 - 2 * _TAIL - 2 * REACH * _PHI + 2 * REACH**2 * _TAIL
FIRST = 2 * (1 / math.sqrt(2 * math.pi) - _PHI) + 2 * REACH * _TAIL


def model(**changes) -> WorldModel:
    """One coordinate of every law and kind; no MuJoCo model."""
    parameters = tuple(
        Parameter(law, 1.0, 0.5, law) for law in ("normal", "uniform", "above", "below")
    )
    given = {"sensor": 0.1, "actuator": 0.2, "bias": 0.3, "parameters": parameters} | changes
    return world_model(declared(given), None, 2, 1)


def draws(model: WorldModel, n: int = DRAWS) -> np.ndarray:
    random = np.random.default_rng(0)
    return model.unit_draws(
        random.standard_normal((n, model.size)), random.random((n, len(KINDS) + 1))
    )


@pytest.mark.parametrize("present", [0.3, 1.0])
def test_moments_are_those_of_the_laws(present):
    worlds = model(presence=dict.fromkeys(KINDS, present))
    u = draws(worlds)
    mean = dict(zip(worlds.names, u.mean(axis=0), strict=True))
    square = dict(zip(worlds.names, (u * u).mean(axis=0), strict=True))
    # Standard errors are below 1/√DRAWS = .0022; six of them at the most.
    expected = {"normal": (0, SECOND), "uniform": (0, 1 / 3), "above": (FIRST, SECOND)}
    expected |= {"below": (-FIRST, SECOND), "sensor": (FIRST, SECOND), "actuator": (FIRST, SECOND)}
    expected |= {"bias:0": (0, SECOND), "bias:1": (0, SECOND)}
    assert set(expected) == set(worlds.names)
    for name, (first, second) in expected.items():
        assert mean[name] == pytest.approx(present * first, abs=0.013), name
        assert square[name] == pytest.approx(present * second, abs=0.02), name
    assert np.abs(u).max() <= REACH
    assert np.mean(np.all(u[:, worlds.columns("bias")] == 0, axis=1)) == pytest.approx(
        1 - present, abs=0.007
    )


def test_kinds_are_there_or_not_as_a_whole_and_each_by_itself():
    worlds = model()
    there = draws(worlds)[:, [worlds.columns(kind)[0] for kind in KINDS if kind != "physics"]] != 0
    whole = draws(worlds)[:, worlds.columns("parameters")] != 0
    assert np.all(whole.all(axis=1) == whole.any(axis=1))
    np.testing.assert_allclose(np.corrcoef(there.T), np.eye(4), atol=0.013)


@pytest.mark.parametrize("law", ["sphere", "ball"])
def test_mean_square_is_that_of_the_draws_and_the_radius_one_of_wasserstein(law):
    worlds, sphere = model(law=law), model()
    found = np.mean(np.sum(draws(worlds) ** 2, axis=1))
    assert worlds.mean_square == pytest.approx(found, rel=0.01)
    # From a point mass every coupling is the product: W₂(P_ρ, δ₀)² = E|ρu|².
    assert worlds.mean_square == sphere.mean_square / (3 if law == "ball" else 1)


def test_the_ball_shortens_one_direction_evenly():
    sphere, ball = draws(model(), 2000), draws(model(law="ball"), 2000)
    there = np.any(sphere != 0, axis=1)
    size = np.linalg.norm(sphere[there], axis=1)
    share = np.linalg.norm(ball[there], axis=1) / size
    np.testing.assert_allclose(ball[there], share[:, None] * sphere[there], atol=1e-12)
    for level in (0.25, 0.5, 0.75):  # standard error below .012
        assert np.mean(share < level) == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("law", ["sphere", "ball"])
def test_numpy_and_jax_make_the_same_of_the_same_numbers(law):
    worlds, random = model(law=law), np.random.default_rng(0)
    normal = random.standard_normal((1000, worlds.size)).astype(np.float32)
    uniform = random.random((1000, len(KINDS) + 1)).astype(np.float32)
    here = worlds.unit_draws(normal.astype(float), uniform.astype(float))
    there = worlds.unit_draws(jnp.asarray(normal), jnp.asarray(uniform), jnp, erf)
    np.testing.assert_allclose(np.asarray(there), here, atol=1e-6)
    np.testing.assert_array_equal(np.asarray(there) == 0, here == 0)


def test_values_and_scales_are_of_the_declared_tolerances():
    worlds = model()
    f = np.zeros((1, worlds.size))
    f[0, worlds.columns("parameters")] = [2.0, -1.0, 0.5, -0.5]
    np.testing.assert_allclose(worlds.values(f), [[2.0, 0.5, 1.25, 0.75]])
    components = make("Hopper").physics.components
    hopper = world_model(declared({"physics": {"mass": 0.1}}), components, 11, 3)
    f = np.ones((1, hopper.size))
    scales = hopper.scales(f, len(components.names))
    masses = components.select(["mass"])
    np.testing.assert_allclose(scales[0, masses], np.exp(0.1))
    assert np.all(np.delete(scales[0], masses) == 1.0)


def test_what_is_trained_against_is_said_in_the_users_units():
    table = {name: span for name, _, span in model().describe(2.0)}
    assert table["uniform"] == "0 to 2"
    assert table["above"] == "1 to 2"
    assert table["below"] == "0 to 1"
    assert table["sensor noise"] == "0.2"


def test_noise_that_is_relative_is_said_in_the_units_of_the_readings():
    units = np.array([0.5, 2.0, 10.0])
    for n, noise, bias in ((1, "0.05, 0.2, 1", "0.1, 0.4, 2"), (3, "0.05 to 1", "0.1 to 2")):
        unit = np.repeat(units, n)
        there = world_model(declared({"sensor": 0.1, "bias": 0.2}), None, len(unit), 1, unit)
        table = {name: span for name, _, span in there.describe()}
        by = "" if n == 1 else ", by reading"
        assert table["sensor noise"] == noise + by
        assert table["sensor bias"] == f"± {bias}{by}"


BOXES = {"Hopper": 3.0, "HalfCheetah": 7.0, "Walker2d": 5.0}


def box(task: str, dimensions: int = 2, **changes) -> WorldModel:
    says = read_declared(f"m2td3-{dimensions}-{task.lower()}")[0]
    physics = make(task).physics
    return world_model(replace(says, **changes), physics.components, 11, 3)


@pytest.mark.parametrize("task", BOXES)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_box_of_values_is_uniform_in_the_suites_own_box(task, dimensions):
    """The tolerance is the box of the suite: same parameters, same ends, evenly filled."""
    worlds = box(task, dimensions)
    rows = load_suite(f"m2td3-{dimensions}").for_task(task).rows[1:]
    names = [dict(part.settings)["parameter"] for part in rows[0].parts]
    assert list(worlds.names) == names
    levels = np.array([[part.level for part in row.parts] for row in rows])
    physics = make(task).physics
    drawn = worlds.physics_values(draws(worlds, 20_000), len(physics.names))
    for k, name in enumerate(names):
        own = drawn[:, physics.components.select([name])]
        assert np.all(own == own[:, :1])  # one value for a whole family
        low, high = levels[:, k].min(), levels[:, k].max()
        share = (own[:, 0] - low) / (high - low)
        assert -1e-6 <= share.min() < 1e-3 < 0.999 < share.max() <= 1 + 1e-6
        # Kolmogorov's distance to the uniform law: beyond 1.95/√n with probability .001.
        distance = np.abs(np.sort(share) - np.linspace(0, 1, len(share))).max()
        assert distance < 1.95 / math.sqrt(len(share))
    others = np.setdiff1d(np.arange(len(physics.names)), physics.components.select(names))
    assert np.isnan(drawn[:, others]).all()


def test_a_world_of_radius_0_is_the_model_and_one_of_half_lies_half_way():
    worlds, physics = box("Hopper"), make("Hopper").physics
    u = draws(worlds, 5)
    torso = int(physics.components.select(["mass:torso"])[0])
    nominal = physics.nominal[torso]
    zero, half, whole = (worlds.physics_values(r * u, len(physics.names)) for r in (0, 0.5, 1))
    np.testing.assert_array_equal(zero[:, torso], nominal)
    np.testing.assert_allclose(half[:, torso], (nominal + whole[:, torso]) / 2)
    assert np.all(whole[:, torso] < nominal)  # the published box lies below Hopper's torso
    assert worlds.mean_square == pytest.approx(
        np.mean(np.sum(draws(worlds) ** 2, axis=1)), rel=0.01
    )
    rows = {name: (law, where) for name, law, where in worlds.describe(1.0)}
    assert rows["mass:torso"] == ("value, uniform (3.67 in the simulator)", "0.1 to 3")


def test_values_are_drawn_alike_by_numpy_and_jax():
    worlds = box("Walker2d", 3)
    random = np.random.default_rng(0)
    normal = random.standard_normal((50, worlds.size)).astype(np.float32)
    uniform = random.random((50, len(KINDS) + 1)).astype(np.float32)
    np.testing.assert_allclose(
        worlds.unit_draws(jnp.asarray(normal), jnp.asarray(uniform), jnp, erf),
        worlds.unit_draws(normal, uniform),
        atol=2e-6,
    )


def test_a_value_and_a_scale_of_one_component_do_not_meet():
    says = declared({"physics": {"mass": 0.1, "mass:torso": {"low": 1, "high": 5}}, "sensor": 0})
    components = make("Hopper").physics.components
    names = world_model(says, components, 11, 3).names
    assert names.count("mass:torso") == 1
    assert {"mass:thigh", "mass:leg", "mass:foot"} < set(names)


@pytest.mark.parametrize(
    ("physics", "told"),
    [
        ({"friction": {"low": 0.1, "high": 3}}, r"friction has 5 components of different values"),
        (
            {"mass:torso": {"low": 1, "high": 2}, "mass": {"low": 1, "high": 2}},
            r"mass has 4 components of different values",
        ),
    ],
)
def test_a_range_of_what_has_no_one_value_is_refused(physics, told):
    with pytest.raises(InputError, match=told):
        world_model(declared({"physics": physics}), make("Hopper").physics.components, 11, 3)


def test_ranges_need_a_model_and_values_above_0():
    says = declared({"physics": {"mass": {"low": 1, "high": 2}}})
    with pytest.raises(InputError, match=r"physics has mass, and this task has no MuJoCo model"):
        world_model(says, None, 2, 1)
    box("Hopper").check_reach(1.0)
    with pytest.raises(InputError, match=r"friction:floor falls to -0\.\d+ at epsilon_budget 1\.5"):
        box("Hopper").check_reach(1.5)
