"""Starts drawn ahead: the ones single draws give, whatever the block, and exactly restorable."""

from dataclasses import replace

import numpy as np
import pytest

from drspcrl.envs import task_names
from drspcrl.envs.simulator import TASKS, Starts, load_model
from drspcrl.envs.tasks import HALF_CHEETAH
from drspcrl.physics.streams import generator

SEQUENCES = [np.random.SeedSequence(k) for k in range(3)]
EVERYONE = np.arange(3)


def single(model, source: np.random.Generator, scale: float, gaussian: bool):
    """One start as Gymnasium's `reset_model` draws it."""
    qpos = model.qpos0 + source.uniform(low=-scale, high=scale, size=model.nq)
    if gaussian:
        return np.concatenate([qpos, scale * source.standard_normal(model.nv)])
    return np.concatenate([qpos, source.uniform(low=-scale, high=scale, size=model.nv)])


def seeded(task, model) -> Starts:
    starts = Starts(task, model, 3)
    starts.seed(EVERYONE, SEQUENCES)
    return starts


@pytest.mark.parametrize("name", task_names())
def test_starts_are_those_of_single_draws(name):
    task = TASKS[name]
    model = load_model(task)
    starts = seeded(task, model)
    sources = [generator(sequence) for sequence in SEQUENCES]
    rng = np.random.default_rng(0)
    for _ in range(60):
        ids = np.flatnonzero(rng.random(3) < 0.6)
        expected = [
            single(model, sources[i], task.reset_noise, name == "HalfCheetah")  # type: ignore
            for i in ids
        ]
        taken = np.concatenate(starts.take(ids), axis=1)
        np.testing.assert_array_equal(taken, np.reshape(expected, taken.shape))


@pytest.mark.parametrize("ahead", [1, 3, 16])
@pytest.mark.parametrize("taken", [0, 1, 15, 16, 17])
def test_the_state_does_not_depend_on_how_far_ahead_is_drawn(taken, ahead):
    model = load_model(HALF_CHEETAH)
    one, block = (
        seeded(HALF_CHEETAH, model),
        seeded(replace(HALF_CHEETAH, starts_ahead=ahead), model),
    )
    for _ in range(taken):
        one.take(EVERYONE[:2])
        block.take(EVERYONE[:2])
    np.testing.assert_array_equal(one.state(), block.state())
    block.take(EVERYONE)
    block.restore(one.state())
    for _ in range(20):
        for mine, other in zip(one.take(EVERYONE), block.take(EVERYONE), strict=True):
            np.testing.assert_array_equal(mine, other)
