"""Policies from files: the numbers by hand, what is refused, and no JAX on the way."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from drspcrl.errors import InputError
from drspcrl.policy import METADATA_KEY, Policy, load_policy, save_policy


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def metadata_of(policy: Policy, **changes) -> dict[str, str]:
    described = {
        "format_version": 1,
        "kind": policy.kind,
        "activation": "relu",
        "observation_clip": "10.0",
    }
    return {METADATA_KEY: json.dumps(described | changes)}


@pytest.fixture(params=["tanh_gaussian", "tanh", "gaussian"])
def policy(request) -> Policy:
    outputs = (0.5, 0.25) if request.param == "tanh_gaussian" else (0.5,)
    layers = (
        (array(2.0)[:, None], array(1.0)),
        (array(*outputs)[None], array(*[0.0] * len(outputs))),
    )
    return Policy(
        kind=request.param,
        activation="relu",
        layers=layers,
        action_low=array(0.0),
        action_high=array(4.0),
        observation_mean=array(1.0),
        observation_scale=array(2.0),
        observation_clip=10.0,
        noise_log_std=array(np.log(0.1)),
    )


def test_deterministic_action_by_hand(policy):
    # Observation 2 → x = (2 − 1)/2 = 0.5 → hidden relu(2·0.5 + 1) = 2 → m = 0.5·2 = 1;
    # tanh or clip of it, then [−1, 1] → [0, 4].
    unit = 1.0 if policy.kind == "gaussian" else np.tanh(1.0)
    np.testing.assert_allclose(policy(array(2.0)), [2 + 2 * unit], rtol=1e-6)


def test_normalised_observation_is_clipped(policy):
    far = policy(array(1.0 + 2.0 * 10.0))
    np.testing.assert_array_equal(policy(array(1e6)), far)
    assert policy(array(1.0 + 2.0 * 9.0))[0] <= far[0]


def test_stochastic_action_by_hand(policy):
    z = np.random.default_rng(3).standard_normal((1,), np.float32)[0]
    # At observation −2: x = −1.5, hidden relu(−2) = 0, so every output is 0.
    # tanh-Gaussian: log std = −5 + 7·(tanh 0 + 1)/2 = −1.5.
    std = np.exp(-1.5) if policy.kind == "tanh_gaussian" else 0.1
    unit = np.tanh(std * z) if policy.kind == "tanh_gaussian" else std * z
    acted = policy(array(-2.0), deterministic=False, generator=np.random.default_rng(3))
    np.testing.assert_allclose(acted, [2 + 2 * unit], rtol=1e-6)


def test_batches_of_any_shape_act_as_their_rows(policy):
    observations = np.random.default_rng(0).normal(size=(3, 4, 1))
    actions = policy(observations)
    assert actions.shape == (3, 4, 1)
    assert actions.dtype == np.float32
    for i, j in np.ndindex(3, 4):
        np.testing.assert_allclose(actions[i, j], policy(observations[i, j]), rtol=1e-6)


def test_saved_and_loaded_is_the_same(policy, tmp_path):
    save_policy(tmp_path / "policy.safetensors", policy)
    observations = np.linspace(-3, 3, 7)[:, None]
    for path in (tmp_path, tmp_path / "policy.safetensors"):
        loaded = load_policy(path)
        assert (loaded.kind, loaded.activation) == (policy.kind, policy.activation)
        np.testing.assert_array_equal(loaded(observations), policy(observations))
    assert [file.name for file in tmp_path.iterdir()] == ["policy.safetensors"]


def test_equal_policies_are_equal_files(policy, tmp_path):
    for name in "abcdefgh":
        save_policy(tmp_path / name, policy)
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_unreadable_description(policy, tmp_path, text):
    file = tmp_path / "policy.safetensors"
    save_policy(file, policy)
    save_file(load_file(file), file, {METADATA_KEY: text})
    with pytest.raises(InputError, match="description is not readable"):
        load_policy(file)


def test_infinite_clip_survives_the_file(policy, tmp_path):
    save_policy(tmp_path / "p.safetensors", replace(policy, observation_clip=np.inf))
    assert load_policy(tmp_path / "p.safetensors").observation_clip == np.inf


def test_wrong_observations_and_missing_generator(policy):
    with pytest.raises(InputError, match=r"shape \(2,\).*\[\.\.\., 1\]"):
        policy(np.zeros(2))
    with pytest.raises(InputError, match="generator"):
        policy(np.zeros(1), deterministic=False)


def test_missing_and_damaged_files(policy, tmp_path):
    with pytest.raises(InputError, match="does not exist; give one run folder"):
        load_policy(tmp_path)
    file = tmp_path / "policy.safetensors"
    save_policy(file, policy)
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load_policy(file)
    file.write_bytes(b"\x80\x04not safetensors")
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load_policy(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 2}, "newer"),
        ({"format_version": -1}, "whole number"),
        ({"format_version": "1"}, "whole number"),
        ({"kind": ["tanh"]}, "kind is"),
        ({"kind": "table"}, "kind is 'table'"),
        ({"activation": "gelu"}, "activation is 'gelu'"),
        ({"observation_clip": "wide"}, "wide"),
        ({"observation_clip": "nan"}, "positive"),
        ({"observation_clip": {}}, "dict"),
    ],
)
def test_metadata_that_does_not_fit(policy, tmp_path, change, message):
    file = tmp_path / "policy.safetensors"
    save_policy(file, policy)
    save_file(load_file(file), file, metadata_of(policy, **change))
    with pytest.raises(InputError, match=message):
        load_policy(file)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("action_low", None, "has no action_low"),
        ("action_low", array(5.0), "below action_high"),
        ("layers.1.bias", array(1.0, 2.0, 3.0), "pairs of a kernel"),
        ("layers.0.kernel", np.ones((3, 1), np.float32), "observation_mean"),
        ("observation_mean", array(np.nan), "finite"),
        ("observation_scale", array(0.0), "positive"),
        ("layers.0.bias", np.zeros(1), "single precision"),
    ],
)
def test_tensors_that_do_not_fit(policy, tmp_path, name, tensor, message):
    file = tmp_path / "policy.safetensors"
    save_policy(file, policy)
    tensors = load_file(file) | {name: tensor}
    present = {k: v for k, v in tensors.items() if v is not None}
    save_file(present, file, metadata_of(policy))
    with pytest.raises(InputError, match=message):
        load_policy(file)


def test_loading_and_acting_never_import_jax(policy, tmp_path):
    save_policy(tmp_path / "policy.safetensors", policy)
    code = (
        "import sys, numpy; from drspcrl.policy import load_policy; "
        "load_policy(sys.argv[1])(numpy.zeros((2, 1))); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_a_policy_is_shown_in_one_line(policy):
    outputs = 2 if policy.kind == "tanh_gaussian" else 1
    told = f"<Policy {policy.kind}, 1→1→{outputs} relu: 1 observations → 1 actions>"
    assert str(policy) == repr(policy) == told


@pytest.mark.parametrize("kind", ["tanh_gaussian", "tanh", "gaussian"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_gradient_agrees_with_finite_differences(kind, activation):
    random = np.random.default_rng(0)

    def layer(inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
        kernel = random.normal(size=(inputs, outputs)) / np.sqrt(inputs)
        return kernel.astype(np.float32), random.normal(size=outputs).astype(np.float32)

    last = 4 if kind == "tanh_gaussian" else 2
    policy = Policy(
        kind, activation, (layer(3, 16), layer(16, 16), layer(16, last)),
        action_low=-np.ones(2, np.float32), action_high=np.ones(2, np.float32),
        observation_mean=np.array([0.1, 0.0, 5.0], np.float32),
        observation_scale=np.array([0.5, 2.0, 0.01], np.float32), observation_clip=4.0,
        noise_log_std=np.array([0.3, -1.0], np.float32),
    )  # fmt: skip
    observations = random.normal(size=(6, 3)) * [0.5, 2.0, 0.01] + [0.1, 0.0, 5.0]
    observations[0, 0] = 30.0  # beyond the clip
    outputs, pullback = policy.vjp(observations)
    if kind == "gaussian":
        np.testing.assert_allclose(
            np.clip(outputs * np.exp(policy.noise_log_std), -1, 1), policy(observations), rtol=1e-5
        )
    else:
        np.testing.assert_array_equal(outputs, policy(observations))
    cotangent = random.normal(size=(6, 2)).astype(np.float32)
    gradient = pullback(cotangent)
    assert gradient[0, 0] == 0.0
    for k, width in enumerate([2e-3, 1e-2, 4e-5]):
        shift = np.zeros(3)
        shift[k] = width
        up, down = (policy.vjp(observations + sign * shift)[0] for sign in (1, -1))
        numeric = np.sum(cotangent * (up - down), axis=1) / (2 * width)
        np.testing.assert_allclose(
            gradient[:, k], numeric, rtol=0.05, atol=2e-2 * abs(numeric).max()
        )
