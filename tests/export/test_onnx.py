"""The ONNX graph against the NumPy policy, in onnxruntime."""

import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from drspcrl.envs import make
from drspcrl.errors import InputError
from drspcrl.export import export, read_source
from drspcrl.learners.registry import LEARNERS, learner_class
from drspcrl.learners.uncertainty import Plain
from drspcrl.policy import load_policy

from .conftest import (
    ACTIONS,
    OBSERVATIONS,
    exact,
    extreme_observations,
    made,
    observations_of,
)

PROTOCOL = Path(__file__).parents[2] / "studies" / "results" / "protocol"


def session_of(source, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    exported = export(source, tmp_path / "policy.onnx")
    return runtime.InferenceSession(exported.path, providers=["CPUExecutionProvider"])


def test_equal_to_the_numpy_policy(source, tmp_path):
    session = session_of(source, tmp_path)
    observations = observations_of(source.policy)
    (actions,) = session.run(None, {"observation": observations})
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, source.policy(observations), rtol=0, atol=1e-6)
    # Neither is at its bounds everywhere, where any two policies would agree.
    inside = (actions > source.policy.action_low) & (actions < source.policy.action_high)
    assert inside.mean() > 0.3


def test_equal_for_extreme_observations(source, tmp_path):
    """Where the normaliser clips, an infinite number is one at the clip; NaN stays NaN."""
    observations = extreme_observations(source.policy)
    (actions,) = session_of(source, tmp_path).run(None, {"observation": observations})
    with np.errstate(invalid="ignore"):
        expected = source.policy(observations)
    np.testing.assert_allclose(actions, expected, rtol=0, atol=1e-6)
    assert np.isnan(expected[4::5]).all()
    assert np.isfinite(expected[:2]).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_of_the_library(name, write_run, tmp_path):
    """As it hands its policy over, not as this test believes that it does."""
    of, settings = learner_class(name), learner_class(name).Settings()
    learner = of.of(settings, Plain())
    sizes = (OBSERVATIONS, ACTIONS, 1) if of.loop == "on_policy" else (OBSERVATIONS, ACTIONS)
    parts = learner.policy_parts(learner.init(jax.random.key(0), *sizes))
    low, high = np.full(ACTIONS, -0.4, np.float32), np.full(ACTIONS, 0.6, np.float32)
    policy = learner.policy(jax.tree.map(np.asarray, parts), settings, low, high)
    observations = 3 * observations_of(policy)
    session = session_of(read_source(write_run(policy)), tmp_path)
    (actions,) = session.run(None, {"observation": observations})
    np.testing.assert_allclose(actions, policy(observations), rtol=0, atol=1e-6)
    assert np.ptp(actions, axis=0).min() > 1e-3


@pytest.mark.parametrize("learner", ["ppo", "sac", "ddpg"], indirect=True)
def test_trained_policies_differ_by_no_more_than_rounding(learner, tmp_path):
    """Where sums are large, float32 sums of another order differ by more than 1e-6.

    The NumPy policy itself is that far from the exact action, and from itself with batches of
    another size; docs/guides/export.md has the numbers.
    """
    name = f"HalfCheetah-{learner}"
    file = PROTOCOL / name / f"{name}-self_paced-s0" / "policy.safetensors"
    if not file.exists():
        pytest.skip("the committed runs are not part of this distribution")
    policy, env = load_policy(file), make("HalfCheetah", 100)
    seen = [env.reset()]
    for _ in range(99):
        seen.append(env.step(policy(seen[-1])).observation)
    observations = np.concatenate(seen).astype(np.float32)
    (actions,) = session_of(read_source(file), tmp_path).run(None, {"observation": observations})
    rounding = np.abs(policy(observations) - exact(policy, observations)).max()
    assert rounding < 1e-4
    bound = 1e-6 + 2 * rounding
    np.testing.assert_allclose(actions, policy(observations), rtol=0, atol=bound)


def test_names_shapes_and_any_batch(source, tmp_path):
    session = session_of(source, tmp_path)
    (given,), (made_,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape, given.type) == (
        "observation", ["batch", OBSERVATIONS], "tensor(float)",
    )  # fmt: skip
    assert (made_.name, made_.shape) == ("action", ["batch", ACTIONS])
    for batch in (1, 3):
        observations = observations_of(source.policy, batch)
        assert session.run(None, {"observation": observations})[0].shape == (batch, ACTIONS)


def test_metadata_can_be_read_back(source, tmp_path):
    told = session_of(source, tmp_path).get_modelmeta().custom_metadata_map
    assert told.keys() == source.metadata.keys()
    assert (told["task"], told["control_period"]) == ("HalfCheetah", "0.05")
    assert json.loads(told["action_low"]) == source.metadata["action_low"]
    assert json.loads(told["training"]) == source.metadata["training"]


def test_without_onnx_the_extra_is_named(write_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "onnx.checker", None)
    source = read_source(write_run(made("sac", width=8)))
    with pytest.raises(InputError, match=r"pip install 'drspcrl\[export\]'"):
        export(source, tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()
