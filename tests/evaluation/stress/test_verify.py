"""A search that its own episodes misled says so, and finds where the policy really breaks."""

import numpy as np
import pytest
import spiral

from drspcrl.errors import InputError
from drspcrl.evaluation.stress import search_worlds, stress
from drspcrl.evaluation.stress.ledger import Ledger
from drspcrl.evaluation.stress.search import Side
from drspcrl.evaluation.stress.verify import LEAST_COST, Verifier, verify

LUCK = 12.0


class Lucky(spiral.Spiral):
    """Every episode in every world wins or loses something by chance, in its last step."""

    def reset(self, *, seed=None, options=None):
        start = super().reset(seed=seed)
        entropy = np.frombuffer(repr((seed, sorted(self.values.items()))).encode(), np.uint8)
        self.luck = LUCK * np.random.default_rng(entropy).standard_normal()
        return start

    def step(self, action):
        x, reward, escaped, over, info = super().step(action)
        return x, reward + (self.luck if over else 0.0), escaped, over, info


def true_return(point) -> float:
    gain, twist = np.array([spiral.GAIN, spiral.TWIST]) + spiral.TOLERANCE * point
    return spiral.STEPS - np.sum(np.hypot(gain, twist) ** (2.0 * np.arange(spiral.STEPS)))


def search(env: type[spiral.Spiral] = Lucky, **options):
    settings = {"budget": 1500, "episodes": 1, "least": 15.0, "show": None} | options
    return stress(spiral.act, env, spiral.WORLDS, parameters=["gain", "twist"], **settings)


@pytest.mark.parametrize("seed", [0, 1])
def test_luck_is_not_taken_for_failure(seed):
    found = search(seed=seed)
    assert found.nearest is not None
    assert found.searched is not None
    # The search is misled: where it puts the world the policy keeps far more than 15.
    assert found.searched < 0.8 * found.nearest.distance
    assert true_return(found.nearest.point * found.searched / found.nearest.distance) > 25
    # What is reported really fails, up to what 10 episodes can tell.
    assert true_return(found.nearest.point) < 15 + 2 * LUCK / np.sqrt(10)
    assert f"own episode puts it at {found.searched:.3g}" in str(found)
    assert found.record()["searched_distance"] == found.searched
    # Nothing in the table is said to fail nearer than the nearest failing world.
    crossings = [side.crossing for side in found.alone if side.crossing is not None]
    assert min(crossings) >= found.nearest.distance * (1 - 1e-9)


def test_luck_alone_is_no_failing_world():
    found = search(reach=2.0, within=1.0)  # the policy really breaks 3.3 tolerances away
    assert found.searched is not None
    assert found.nearest is None
    assert f"one that seemed to fail {found.searched:.3g} tolerances away" in str(found)
    assert all(side.crossing is None for side in found.alone)


def test_a_worst_world_that_fails_nearer_becomes_the_nearest(monkeypatch):
    monkeypatch.setattr(search_worlds.Search, "nearest", lambda self, sides, budget: None)
    monkeypatch.setattr(search_worlds.Search, "alone", lambda self, budget: [])
    found = search(spiral.Spiral, least=0.0, within=4.5, budget=500)
    assert found.nearest is not None
    assert found.nearest.distance == pytest.approx(spiral.DISTANCE, rel=0.1)
    assert found.worst.fresh.value < found.nearest.fresh.value


class Line(Ledger):
    """A ledger whose worlds return 10 − |x|, every episode a little differently."""

    def __init__(self):
        self.played = 0

    def play(self, points, seeds):
        self.played += len(points) * len(seeds)
        noise = np.linspace(-1.0, 1.0, len(seeds))
        returns = 10 - np.linalg.norm(points, axis=1)[:, None] + noise
        return returns, np.zeros(returns.shape, bool)


@pytest.fixture
def verifier():
    worlds = spiral.WORLDS | {"parameters": spiral.WORLDS["parameters"][:2]}
    space, _ = search_worlds._space(spiral.Spiral, worlds, search_worlds.Question())
    return Verifier.begin(space, Line(), range(9), lambda nominal: 0.8 * nominal)


def test_rays(verifier):
    # A world's episodes lie 2 − r + .2·noise above their limits, with a standard error of .046.
    inside, outside = np.array([0.6, 0.8]), np.array([1.8, 2.4])
    found = verifier.outwards(inside, 5.0, 10**6)
    assert 2 < np.linalg.norm(found) < 2.15
    np.testing.assert_allclose(found / np.linalg.norm(found), inside)
    np.testing.assert_array_equal(verifier.outwards(outside, 5.0, 10**6), outside)
    assert verifier.outwards(inside, 1.9, 10**6) is None
    assert verifier.outwards(inside, 1.0, 10**6) is None
    assert 2 < np.linalg.norm(verifier.inwards(outside, 10**6)) < 2.15
    coarse = verifier.outwards(inside, 5.0, verifier.ledger.played + verifier.cost(LEAST_COST))
    assert 2 < np.linalg.norm(coarse) <= 2.5  # the second of four sections, 5 ** .5, and no finer
    assert verifier.inwards(inside, 10**6) is None
    assert verifier.inwards(outside, verifier.ledger.played) is None


def test_parameters_that_seem_to_fail_nearer(verifier):
    sides = [Side(0, 1, 0.5, 5.0, 1.0), Side(1, -1, 4.0, 5.0, 1.0), Side(1, 1, None, 5.0, 0.0)]
    candidate = np.array([0.0, 2.5])
    told = verify(verifier, candidate, sides, 5.0, 10**6)
    assert told.complete
    reached = told.sides[0].crossing
    assert reached is not None
    assert 2 < reached < 2.5
    assert told.sides[1:] == tuple(sides[1:])
    np.testing.assert_allclose(np.array(told.nearest), [reached, 0.0])
    short = verify(verifier, candidate, sides, 5.0, 20)
    assert not short.complete
    np.testing.assert_array_equal(np.array(short.nearest), candidate)
    assert short.sides == tuple(sides)


def test_a_nearest_world_that_is_one_parameter_alone_corrects_it(verifier):
    sides = [Side(0, 1, 0.5, 5.0, 1.0), Side(0, -1, 0.7, 5.0, 1.0)]
    told = verify(verifier, np.array([0.5, 0.0]), sides, 5.0, verifier.cost(1 + 3 * 4))
    assert told.nearest is not None
    assert told.sides[0].crossing == np.linalg.norm(told.nearest) > 2
    assert not told.complete, "the other direction is not the same"


def test_with_a_policy_that_returns_less_than_nothing_the_limit_is_of_its_size():
    question = search_worlds.Question(limit=0.8)
    np.testing.assert_allclose(question.limits(np.array([-10.0, -30.0])), [-12.0, -36.0])
    np.testing.assert_allclose(question.limits(np.array([10.0, -1.0])), [8.0, -0.8])
    assert question.limit_return(-20.0) == pytest.approx(-24.0)
    with pytest.raises(InputError, match="fails in the simulator"):
        search(least=50.0)


def test_a_worst_world_that_fails_in_fresh_episodes_alone_is_the_nearest(monkeypatch):
    monkeypatch.setattr(search_worlds.Search, "nearest", lambda self, sides, budget: None)
    monkeypatch.setattr(search_worlds.Search, "alone", lambda self, budget: [])
    monkeypatch.setattr(Verifier, "fails", lambda self, points: np.zeros(len(points), bool))
    found = search(spiral.Spiral, least=0.0, within=4.5, budget=500)
    assert found.worst.verdict == "fails"
    assert found.nearest is found.worst
    assert "fails in fresh episodes, but not by a standard error" in str(found)
    assert found.record()["nearest_is_worst"]
    # Beyond the reach it is not looked for.
    near = search(spiral.Spiral, least=0.0, within=4.5, reach=1.5, budget=500)
    assert near.worst.verdict == "fails"
    assert near.nearest is None
    assert not near.record()["nearest_is_worst"]
