"""On a linear system the nearest unstable world is known by hand, and the search finds it."""

import numpy as np
import pytest
import spiral

from drspcrl.evaluation.stress import stress
from drspcrl.statistics import Estimate

ROOT = np.sqrt(3.24 + 4.4)


def search(env, **options):
    settings = {"budget": 500, "episodes": 1, "show": None} | options
    return stress(spiral.act, env, spiral.WORLDS, **settings)


@pytest.fixture(scope="module")
def energy():
    return search(spiral.Spiral, limit=0.0)


@pytest.mark.parametrize(("env", "limit"), [(spiral.Spiral, 0.0), (spiral.EscapingSpiral, 0.99)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_nearest_failing_world_is_found(env, limit, seed):
    found = search(env, limit=limit, seed=seed).nearest
    assert found is not None
    assert found.distance == pytest.approx(spiral.DISTANCE, rel=0.02)
    assert found.distance == pytest.approx(np.linalg.norm(found.point))
    # It really is unstable, by hand, up to what 40 steps can tell.
    gain, twist = np.array([spiral.GAIN, spiral.TWIST]) + spiral.TOLERANCE * found.point[:2]
    assert np.hypot(gain, twist) > 0.999


def test_in_a_box_the_distance_is_the_largest_difference():
    # (.3 + t)² + (.6 + t)² = 1 has the root t = (−1.8 + √(3.24 + 4.4))/4
    found = search(spiral.Spiral, limit=0.0, shape="box").nearest
    assert found is not None
    assert found.distance == pytest.approx((ROOT - 1.8) / 4 / spiral.TOLERANCE, rel=0.02)
    assert found.distance == np.abs(found.point).max()


def test_each_parameter_alone(energy):
    crossings = {(s.coordinate, s.sign): s.crossing for s in energy.alone}
    # gain alone: a² + .6² = 1, twist alone: .3² + b² = 1; the others change nothing
    gain, twist = spiral.GAIN, spiral.TWIST
    for coordinate, nominal, other in ((0, gain, twist), (1, twist, gain)):
        exact = (np.sqrt(1 - other**2) - nominal) / spiral.TOLERANCE
        assert crossings.pop((coordinate, 1)) == pytest.approx(exact, rel=0.02)
    assert all(crossing is None for crossing in crossings.values())
    assert (3, -1) not in crossings, "a load that is only ever above its nominal value"


def test_what_does_not_matter_is_left_out(energy):
    assert energy.nearest is not None
    assert not energy.nearest.point[2:].any()


def test_the_worst_world_within_a_radius(energy):
    # The return falls with the modulus, which grows fastest along (a₀, b₀).
    modulus = spiral.MODULUS + 2 * spiral.TOLERANCE
    exact = spiral.STEPS - np.sum(modulus ** (2 * np.arange(spiral.STEPS)))
    assert energy.worst.distance <= 2 * (1 + 1e-9)
    assert energy.worst.fresh.value == pytest.approx(exact, rel=0.01)
    assert energy.worst.share == pytest.approx(energy.worst.fresh.value / energy.nominal.value)


def test_found_worlds_are_played_again_with_fresh_episodes(energy):
    assert isinstance(energy.worst.fresh, Estimate)
    assert energy.worst.fresh.n == energy.nominal.n == 10
    assert energy.worst.fresh.has_interval


def test_no_failing_world_within_the_reach_is_said():
    found = search(spiral.Spiral, limit=0.0, reach=1.5)
    assert found.nearest is None
    assert "no failing world found within 1.5 tolerances" in str(found)
    assert found.record()["nearest"] is None


def test_the_budget_is_kept(energy):
    assert 0 < energy.episodes <= 500
    assert energy.record()["episodes_played"] == energy.episodes


def test_negative_returns_may_lose_a_share_of_their_size():
    class Costly(spiral.Spiral):
        def step(self, action):
            x, reward, escaped, over, info = super().step(action)
            return x, reward - 2.0, escaped, over, info

    # return −40 − S with S = Σρ^{2t}; nominal −41.8, so that limit .8 allows −50.2
    found = search(Costly, limit=0.8)
    assert found.limit == pytest.approx(1.2 * found.nominal.value)
    assert found.nearest is not None
    assert found.nearest.fresh.value < found.limit
    assert found.nearest.fresh.value == pytest.approx(found.limit, rel=0.02)
