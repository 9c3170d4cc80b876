"""A state that was saved and read back has the same future."""

import json

import numpy as np
import pytest
from curriculum_signals import QUIET

from drspcrl.curricula import CURRICULA, curriculum
from drspcrl.divergences import KL

OPTIONS = {
    "self_paced": {
        "epsilon_spread": 0.05,
        "performance_bound": 12.0,
        "warmup_updates": 2,
        "performance_share": 0.9,
    },
    "space": {"space_patience": 2, "space_smoothing": 0.5},
    "accel": {"accel_buffer": 8},
}


def signals(count: int):
    random = np.random.default_rng(7)
    for step in range(count):
        yield QUIET._replace(
            step=step,
            multiplier=random.uniform(0, 0.1),
            slope=random.uniform(0, 0.5),
            start_value=random.uniform(5, 6),
            episode_return=random.uniform(0, 20),
            draws=random.normal(size=(6, 8)),
            peers_epsilon=random.uniform(),
        )


def through_json(state):
    """Numbers as text, arrays as lists: nothing but what a file holds."""
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items()}
    read = json.loads(json.dumps(plain))
    return {k: np.array(v) if isinstance(v, list) else v for k, v in read.items()}


def through_arrays(state):
    """Every leaf as an array, as a checkpoint of arrays alone holds it."""
    return {k: np.array(v) for k, v in state.items()}


@pytest.mark.parametrize("method", CURRICULA)
@pytest.mark.parametrize("through", [through_json, through_arrays])
def test_the_future_follows_from_the_state(method, through):
    rule = curriculum(method, OPTIONS.get(method, {}), 30, 0.9, KL())
    straight = resumed = rule.init(5)
    for signal in signals(30):
        if signal.step == 13:
            resumed = through(resumed)
        straight, resumed = rule.update(straight, signal), rule.update(resumed, signal)
        assert rule.epsilon(straight) == rule.epsilon(resumed)
        assert straight.keys() == resumed.keys()
        for name in straight:
            np.testing.assert_array_equal(straight[name], resumed[name])


@pytest.mark.parametrize("method", CURRICULA)
def test_updates_leave_the_old_state_alone(method):
    rule = curriculum(method, OPTIONS.get(method, {}), 30, 0.9, KL())
    state = rule.init(5)
    for signal in signals(10):
        before = {k: np.copy(v) for k, v in state.items()}
        following = rule.update(state, signal)
        for name, value in before.items():
            np.testing.assert_array_equal(state[name], value)
        state = following


@pytest.mark.parametrize("method", CURRICULA)
def test_every_radius_lies_in_the_budget(method):
    rule = curriculum(method, {"epsilon_budget": 0.3, **OPTIONS.get(method, {})}, 30, 0.9, KL())
    state = rule.init(1)
    for signal in signals(30):
        assert 0 <= rule.epsilon(state) <= 0.3
        assert type(rule.epsilon(state)) is float
        state = rule.update(state, signal._replace(peers_epsilon=0.2))
