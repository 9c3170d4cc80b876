"""A loop that is restored into a fresh one continues bit for bit, in everything it holds."""

import jax
import numpy as np
import pytest

from drspcrl.runfolder.checkpoint import Store
from drspcrl.runfolder.checkpoint.tree import flatten, to_host
from drspcrl.training.loop import member_parts, put_back

# A task that can be restored and whose episodes are short, so that resets happen all the time.
TASK = "probe/noise"
NO_DATA = ("collector", "learner", "_device", "_memory", "_drawn")
ALGORITHMS = ["sac", "ppo", "td3", pytest.param("ddpg", marks=pytest.mark.slow)]


def everything(loop) -> dict:
    """Every attribute of a loop that holds data, whatever its name; and its environments."""
    own = {name: value for name, value in vars(loop).items() if name not in NO_DATA}
    data = {name: value for name, value in own.items() if not callable(value)}
    return {"loop": data, "collector": loop.collector.state()}


def assert_same(left, right) -> None:
    """Equal bit for bit, nan and all."""
    one, two = flatten(left), flatten(right)
    assert one.keys() == two.keys()
    for path in one:
        np.testing.assert_array_equal(to_host(one[path]), to_host(two[path]), err_msg=path)


def through_the_disk(loop, fresh, folder) -> None:
    """Put `fresh` where `loop` stands, by checkpoints of each member."""
    stores = []
    for k, parts in enumerate(member_parts(loop, [{"level": 0.25}, {"level": 0.5}])):
        run = folder / str(k)
        run.mkdir()
        stores.append(Store(run))
        stores[k].write(loop.steps, parts)
    saved = [store.read(loop.steps) for store in stores]
    extra = put_back(fresh, saved, [{"level": 0.0}, {"level": 0.0}])
    assert extra == [{"level": 0.25}, {"level": 0.5}]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_everything_that_iterating_changes_is_restored(algorithm, small_loop, tmp_path):
    loop, _ = small_loop(algorithm, task=TASK)
    while loop.steps < 128:
        loop.iterate()
    loop.set_epsilon(np.array([0.1, 0.2]))
    fresh, _ = small_loop(algorithm, task=TASK)
    through_the_disk(loop, fresh, tmp_path)
    for _ in range(3):
        loop.iterate()
        fresh.iterate()
    assert_same(everything(loop), everything(fresh))


def test_a_longer_replay_learns_as_if_it_had_been_long_from_the_start(small_loop, tmp_path):
    # Episodes of 50 steps, so that no transition has left the shorter buffer early.
    short, _ = small_loop("sac", task="probe/constant", steps=128)
    long, _ = small_loop("sac", task="probe/constant", steps=256)
    while short.steps < 128:
        short.iterate()
        long.iterate()
    fresh, _ = small_loop("sac", task="probe/constant", steps=128)
    through_the_disk(short, fresh, tmp_path)
    fresh.extend(256)
    assert_same(fresh.replay.action, long.replay.action)
    while long.steps < 256:
        fresh.iterate()
        long.iterate()
    assert_same(fresh.state, long.state)


def test_a_lost_episode_leaves_no_transition_across_the_gap(small_loop, tmp_path):
    loop, _ = small_loop("sac", task="Pendulum-v1")
    while loop.steps < 60:
        loop.iterate()
    fresh, _ = small_loop("sac", task="Pendulum-v1")
    through_the_disk(loop, fresh, tmp_path)
    before = jax.tree.map(np.asarray, loop.replay)
    fresh.iterate()
    after = jax.tree.map(np.asarray, fresh.replay)
    # The slot after the lost episode's last observation holds the new episode's first.
    np.testing.assert_array_equal(after.slot[:, :, 15], before.newest + 1)
    for k in range(2):
        for e in range(4):
            kept = before.newest[k, e] + 1
            np.testing.assert_array_equal(
                after.observation[k, e, :kept], before.observation[k, e, :kept]
            )
            x, y, _ = after.observation[k, e, kept]
            assert abs(x * x + y * y - 1) < 1e-5
    assert (fresh.collector.episodes.steps == 1).all()
