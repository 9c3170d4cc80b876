"""Which world an episode is in, what it is for, and what episodes say afterwards."""

from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import spearmanr

from drspcrl.envs import BatchEnv
from drspcrl.envs.registry import make
from drspcrl.worlds import EpisodeWorlds, declared, world_model
from drspcrl.worlds.episodes import ANCHOR, FEWEST, LOGGING, PACING, PROBE, ROLES, TRAINED, Roles
from drspcrl.worlds.episodes import rank_correlation as rank

DECLARED = {"parameters": [{"name": "theta", "nominal": 0.0, "tolerance": 0.2}]}
ALL = Roles(0, 0)


def in_worlds(
    members: int = 1,
    envs: int = 2,
    budgets=None,
    roles: Roles = ALL,
    seeds=None,
    candidates: int = 0,
    law: str = "sphere",
) -> tuple[BatchEnv, EpisodeWorlds]:
    """Environments of `probe/world` whose episodes are in worlds of radius ½."""
    env = make("probe/world", members * envs)
    model = world_model(declared(DECLARED | {"law": law}), None, 1, 1)
    worlds = EpisodeWorlds(
        *(model, env, seeds or list(range(members)), budgets or [1.0] * members),
        *([roles] * members, [0.9] * members),
        candidates=candidates,
    )
    worlds.set_radius(np.full(members, 0.5))
    env.hook = worlds
    return env, worlds


def episodes(worlds: EpisodeWorlds, count: int, ids=None) -> np.ndarray:
    """Worlds of the next episodes, [count, environments, W]."""
    ids = np.arange(worlds.env.num_envs) if ids is None else ids
    seen = []
    for _ in range(count):
        worlds.begin(ids)
        seen.append(worlds.features[ids].copy())
    return np.array(seen)


def test_draws_follow_from_seed_environment_and_episode_alone():
    _, several = in_worlds(members=3, envs=4, seeds=[5, 6, 5])
    found = episodes(several, 6).reshape(6, 3, 4, -1)
    np.testing.assert_array_equal(found[:, 0], found[:, 2])  # members of one seed
    _, alone = in_worlds(members=1, envs=2, seeds=[6])
    np.testing.assert_array_equal(found[:, 1, :2], episodes(alone, 6).reshape(6, 2, -1))
    rows = found[:, :2].reshape(-1, found.shape[-1])
    assert len(np.unique(rows[np.any(rows != 0, axis=1)], axis=0)) > 40  # all others differ


def test_neighbours_and_order_do_not_matter():
    _, together = in_worlds(envs=3)
    expected = episodes(together, 5)
    _, apart = in_worlds(envs=3)
    for env in (2, 0, 1):
        np.testing.assert_array_equal(episodes(apart, 5, np.array([env]))[:, 0], expected[:, env])


@pytest.mark.parametrize("law", ["sphere", "ball"])
def test_the_radius_scales_the_same_draw(law):
    (_, one), (_, other) = in_worlds(law=law), in_worlds(law=law)
    other.set_radius(np.array([0.25]))
    np.testing.assert_array_equal(episodes(one, 6), 2 * episodes(other, 6))


def test_a_radius_holds_from_the_next_episode_on():
    env, worlds = in_worlds()
    env.reset()
    before = worlds.features.copy()
    worlds.set_radius(np.array([0.0]))
    env.step(np.zeros((2, 1)))
    np.testing.assert_array_equal(worlds.features, before)
    assert not np.array_equal(before, np.zeros_like(before))
    episodes(worlds, 1)
    assert not worlds.features.any()


def physics_of(threads: int) -> list[np.ndarray]:
    env = make("Hopper", 4, seed=3, threads=threads)
    model = world_model(declared({}), env.physics.components, 11, 3)
    worlds = env.hook = EpisodeWorlds(model, env, [0], [1.0], [Roles(4, 4)], [0.99])
    worlds.set_radius(np.array([0.5]))
    seen = [env.reset()]
    random = np.random.default_rng(0)
    seen += [env.step(random.uniform(-1, 1, (4, 3))).observation for _ in range(60)]
    assert worlds._episode.min() >= 2
    return [*seen, worlds.features]


def test_threads_do_not_matter():
    for one, two in zip(physics_of(1), physics_of(2), strict=True):
        np.testing.assert_array_equal(one, two)


def radii(worlds: EpisodeWorlds, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Roles and radii (nan where u = 0) of the next episodes, [count, environments]."""
    _, unit = in_worlds(members=worlds.members, envs=worlds.envs)
    unit.set_radius(np.ones(worlds.members))
    roles, found = [], []
    for _ in range(count):
        (u,), (f,) = episodes(unit, 1), episodes(worlds, 1)
        roles.append(worlds.role.copy())
        size = np.linalg.norm(u, axis=1)
        found.append(np.linalg.norm(f, axis=1) / np.where(size > 0, size, np.nan))
    return np.array(roles), np.array(found)


@pytest.mark.parametrize(
    ("envs", "every"), [(8, 8), (16, 8), (10, 4), (1, 8), (3, 8), (4, 8), (2, 3)]
)
def test_probes_anchors_and_their_share(envs, every):
    _, worlds = in_worlds(envs=envs, roles=Roles(every, every), budgets=[2.0])
    roles, radius = radii(worlds, 3 * every)
    for role, expected in ((TRAINED, 0.5), (PROBE, 2.0), (ANCHOR, 0.0)):
        own = radius[roles == role]
        np.testing.assert_allclose(own[~np.isnan(own)], expected)
    if envs >= every:  # throughout the run
        assert np.all(roles == roles[0])
        np.testing.assert_array_equal(np.flatnonzero(roles[0] == PROBE) % every, every - 1)
        np.testing.assert_array_equal(np.flatnonzero(roles[0] == ANCHOR) % every, 0)
    else:  # one episode in so many
        assert np.sum(roles == PROBE) == np.sum(roles == ANCHOR) == 3 * envs
    assert np.any(roles == TRAINED)


def test_roles_may_be_left_out():
    roles, _ = radii(in_worlds(envs=8, roles=Roles(0, 4))[1], 2)
    assert not np.any(roles == PROBE)
    roles, _ = radii(in_worlds(envs=8, roles=Roles(4, 0))[1], 2)
    assert not np.any(roles == ANCHOR)


def test_members_without_worlds_stay_in_the_simulator():
    env, worlds = in_worlds(members=2, envs=8, budgets=[0.0, 1.0], roles=Roles(4, 4))
    found = episodes(worlds, 4).reshape(4, 2, 8, -1)
    assert not found[:, 0].any()
    assert found[:, 1].any()
    assert not worlds.role[:8].any()
    np.testing.assert_array_equal(worlds.rho, [0.0, 0.5])
    assert not env.simulation._theta[:8].any()  # type: ignore[attr-defined]


POOL = np.arange(4)[:, None] + np.array([[0.0, 0.1, 0.2]])


def test_a_tilt_draws_among_its_candidates():
    _, worlds = in_worlds(members=2, envs=4, roles=Roles(4, 4), candidates=4)
    untilted = episodes(worlds, 200).reshape(200, 2, 4, 3)
    _, worlds = in_worlds(members=2, envs=4, roles=Roles(4, 4), candidates=4)
    weights = np.array([[0.1, 0.2, 0.0, 0.7], [0.0, 0.0, 0.0, 0.0]])
    worlds.set_pool(np.stack([POOL, POOL]), weights)
    tilted = episodes(worlds, 200).reshape(200, 2, 4, 3)
    np.testing.assert_array_equal(tilted[:, 1], untilted[:, 1])  # weights of 0 are the law
    np.testing.assert_array_equal(tilted[:, 0, [0, 3]], untilted[:, 0, [0, 3]])
    trained = 2 * tilted[:, 0, 1:3].reshape(-1, 3)  # by radius ½
    np.testing.assert_allclose(trained, POOL[trained[:, 0].round().astype(int)])
    shares = np.bincount(trained[:, 0].round().astype(int), minlength=4) / len(trained)
    np.testing.assert_allclose(shares, weights[0], atol=0.09)  # four standard errors
    assert shares[2] == 0


def test_a_candidate_follows_from_the_episodes_own_generator():
    _, worlds = in_worlds(envs=1, candidates=4)
    weights = np.array([[0.25, 0.25, 0.25, 0.25]])
    worlds.set_pool(POOL[None], weights)
    # Weights need not sum to 1, and rounding may leave their sum below the uniform number.
    _, scaled = in_worlds(envs=1, candidates=4)
    scaled.set_pool(POOL[None], 3.0 * weights)
    np.testing.assert_array_equal(episodes(worlds, 20), episodes(scaled, 20))
    from drspcrl.worlds.episodes import _STREAM

    numbers = [np.random.default_rng((_STREAM, 0, 0, k)).random() for k in range(20, 26)]
    chosen = np.searchsorted(np.cumsum(weights[0]), numbers, side="right")
    np.testing.assert_array_equal(episodes(worlds, 6)[:, 0], 0.5 * POOL[chosen])


def played(env: BatchEnv, steps: int) -> list[np.ndarray]:
    seen, worlds = [], cast(Any, env.hook)
    random = np.random.default_rng(7)
    for _ in range(steps):
        step = env.step(random.uniform(-1, 1, (env.num_envs, 1)))
        seen += [step.observation, step.reward, worlds.features.copy(), worlds.role.copy()]
    return [*seen, *worlds.state().values(), *(np.atleast_1d(x) for x in worlds.signal_now())]


class Telling(EpisodeWorlds):
    def signal_now(self):
        return self.episode_signal(np.zeros((self.members, 32))).values()


@pytest.mark.parametrize("candidates", [0, 4])
def test_a_state_is_restored_exactly(monkeypatch, candidates):
    monkeypatch.setitem(globals(), "EpisodeWorlds", Telling)
    make_them = {"members": 2, "envs": 4, "roles": Roles(4, 4), "candidates": candidates}
    env, worlds = in_worlds(**make_them)
    env.reset(seeds=[(k,) for k in range(8)])
    if candidates:
        weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.0] * 4])
        worlds.set_pool(np.stack([POOL, POOL]), weights)
    played(env, 130)
    saved, simulated = worlds.state(), env.state()
    assert ("pool" in saved) == bool(candidates)
    assert all(len(array) == 2 for array in saved.values())
    expected = played(env, 120)
    again, fresh = in_worlds(**make_them)
    again.reset(seeds=[(k,) for k in range(8)])
    again.restore(simulated)
    fresh.restore(saved, exact=True)
    found = played(again, 120)
    for one, two in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_lost_episodes_are_followed_by_others():
    env, worlds = in_worlds()
    env.reset()
    before = worlds.features.copy()
    again, fresh = in_worlds()
    fresh.restore(worlds.state(), exact=False)
    again.reset()
    assert not np.array_equal(fresh.features, before)
    np.testing.assert_array_equal(fresh._episode, [2, 2])


def finished(worlds: EpisodeWorlds, env: int, rewards) -> None:
    ids = np.array([env])
    worlds.begin(ids)
    worlds.begun(ids, np.zeros((1, 1)))
    for reward in rewards:
        worlds.include(np.full(worlds.env.num_envs, float(reward)))
    worlds.finish(ids)


def test_returns_are_told_by_role_and_once_to_each():
    _, worlds = in_worlds(envs=4, roles=Roles(4, 4))
    finished(worlds, 0, [1, 1])
    finished(worlds, 1, [2, 2])
    finished(worlds, 2, [4, 4])
    finished(worlds, 3, [8, 0, 8])
    order = [(TRAINED, 6.0), (PROBE, 16.0), (ANCHOR, 2.0)]
    for asker in (LOGGING, PACING):
        taken = worlds.take(asker)
        for role, expected in order:
            assert taken[0, role] == expected
        assert np.isnan(worlds.take(asker)).all()
    # A probe's return is discounted for the calibration: 8 + .81·8.
    assert worlds._ring_probe[0, :2].tolist() == [False, True]
    assert worlds._ring_gain[0, 1] == pytest.approx(8 + 0.81 * 8)


def test_the_premium_is_what_anchors_have_lost():
    _, worlds = in_worlds(envs=4, roles=Roles(4, 4))
    none = np.zeros((1, 32))
    assert np.isnan(worlds.episode_signal(none)["premium"])
    falling = [(10.0, 10.0)] * 6 + [(5.0, 9.0), (0.0, 7.2)]  # .8 : .2
    for total, level in falling:
        finished(worlds, 0, [total])
        told = worlds.episode_signal(none)
        assert told["anchor_return"] == total
        assert told["premium"] == pytest.approx((10.0 - level) / 10.0)
    told = worlds.episode_signal(none)  # none ended: it stays
    assert told["premium"] == pytest.approx(0.28)
    assert np.isnan(told["anchor_return"])


def test_the_premium_of_negative_returns():
    _, worlds = in_worlds(envs=4, roles=Roles(4, 4))
    for total in [-10.0] * 6 + [-20.0]:
        finished(worlds, 0, [total])
        worlds.episode_signal(np.zeros((1, 32)))
    assert worlds.premium == pytest.approx(0.2)  # from −10 to −12


def test_a_noisy_best_is_no_premium_and_a_loss_is_one():
    """Anchors that scatter by 30% around one level, then lose 40% of it; the bound is 20%.

    The highest of 400 averages is some 25% above the level, and so may a lucky first return be.
    """
    spurious, after = [], []
    for seed in range(20):
        random, (_, worlds) = np.random.default_rng(seed), in_worlds(envs=4, roles=Roles(4, 4))
        found = []
        for k in range(500):
            worlds._include_anchors(np.array([random.normal(10.0 if k < 400 else 6.0, 3.0)]))
            found.append(worlds.premium[0])
        spurious.append(np.mean(np.array(found[:400]) > 0.2))
        after.append(np.mean(found[-50:]))
        assert min(found) >= 0.0
    assert np.mean(spurious) < 0.05
    assert np.mean(after) == pytest.approx(0.4, abs=0.05)


def test_a_checkpoint_without_scatter_is_read():
    _, worlds = in_worlds(envs=4, roles=Roles(4, 4))
    for total in [10.0] * 6 + [4.0]:
        finished(worlds, 0, [total])
        worlds.episode_signal(np.zeros((1, 32)))
    saved = worlds.state()
    assert saved.pop("scatter") > 0
    assert saved.pop("anchors") == 7
    _, again = in_worlds(envs=4, roles=Roles(4, 4))
    again.restore(saved, exact=True)
    assert again.premium == worlds.premium > 0.1
    finished(again, 0, [4.0])
    assert again.episode_signal(np.zeros((1, 32)))["premium"] > worlds.premium


def test_calibration_compares_values_with_what_followed():
    _, worlds = in_worlds(envs=4, roles=Roles(4, 4))
    random = np.random.default_rng(0)
    values = np.zeros((1, 32))
    for _ in range(FEWEST - 1):
        finished(worlds, 3, [random.normal()])
    assert all(np.isnan(part).all() for part in worlds.calibration(values))
    gains = []
    for k in range(40):  # the newest 32 count
        reward = random.normal() + 3.0
        finished(worlds, 3, [reward])
        place = (FEWEST - 1 + k) % 32
        values[0, place] = reward + random.normal()
        gains.append((values[0, place], reward))
    value, gain = np.array(gains[-32:]).T
    error, found = worlds.calibration(values)
    assert found[0] == pytest.approx(spearmanr(value, gain)[0])
    assert error[0] == pytest.approx(np.mean(np.abs(value - gain)) / np.mean(np.abs(gain)))
    told = worlds.episode_signal(values)
    assert (told["calibration"], told["calibration_error"]) == (found[0], error[0])


def test_rank_correlation_is_spearmans():
    random = np.random.default_rng(1)
    a, b = random.normal(size=50), random.normal(size=50)
    b = (b + a).round(0)  # with ties
    assert rank(a, b) == pytest.approx(spearmanr(a, b)[0])
    assert rank(a, np.exp(a)) == pytest.approx(1.0)
    assert rank(a, -a) == pytest.approx(-1.0)
    b[3], a[4] = np.nan, np.inf
    known = np.isfinite(a) & np.isfinite(b)
    assert rank(a, b) == pytest.approx(spearmanr(a[known], b[known])[0])
    assert np.isnan(rank(a[:2], b[:2]))
    assert np.isnan(rank(a[:4], np.ones(4)))
    assert ROLES == ("trained", "probe", "anchor")
