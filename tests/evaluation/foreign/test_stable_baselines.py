"""The weights in a file of Stable-Baselines3 act as that library's policies do.

tests/peers/test_foreign_weights.py holds them against the library itself.
"""

import json
import zipfile

import numpy as np
import pytest
import sb3_files

from drspcrl.errors import InputError
from drspcrl.evaluation.foreign import Foreign, load_foreign
from drspcrl.policy import Policy

LOW, HIGH = -2.0, 2.0  # Pendulum's torque


def weights(found: Foreign) -> Policy:
    """The policy as this library has it."""
    assert found.weights is not None
    assert found.policy is found.weights
    return found.weights


def load(path, env="Pendulum-v1", **options):
    return load_foreign(str(path), env, **options)


def mlp(tensors, names, x, activation):
    """The network by hand: every layer but the last is followed by the activation."""
    for name in names:
        x = x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        x = activation(x) if name != names[-1] else x
    return x


@pytest.fixture
def observations():
    return np.random.default_rng(5).standard_normal((64, 3)).astype("f4")


@pytest.mark.parametrize("hidden", [(8, 6), (4,), ()])
def test_ppo_acts_in_the_tasks_units_and_is_clipped(tmp_path, observations, hidden):
    tensors = sb3_files.ppo(3, 1, hidden)
    tensors["action_net.bias"] += (
        2.0 - tensors["action_net.bias"]
    )  # so that some actions are clipped
    path = sb3_files.save_model(tmp_path / "m.zip", tensors, {"clip_range": {}})
    found = load(path)
    names = [f"mlp_extractor.policy_net.{2 * i}" for i in range(len(hidden))]
    expected = np.clip(mlp(tensors, [*names, "action_net"], observations, np.tanh), LOW, HIGH)
    assert (expected == 2.0).any()
    assert (expected < 2.0).any()
    np.testing.assert_allclose(weights(found)(observations), expected, atol=1e-5)
    assert found.what == "PPO of Stable-Baselines3, weights only"
    draws = np.random.default_rng(0).standard_normal((64, 1), np.float32)
    sampled = weights(found)(observations, deterministic=False, generator=np.random.default_rng(0))
    mean = mlp(tensors, [*names, "action_net"], observations, np.tanh)
    noisy = np.clip(mean + np.exp(-0.5) * draws, LOW, HIGH)
    np.testing.assert_allclose(sampled, noisy, atol=1e-5)


@pytest.mark.parametrize(("make", "last"), [(sb3_files.sac, "mu"), (sb3_files.td3, "mu.2")])
def test_sac_and_td3_act_between_the_bounds(tmp_path, observations, make, last):
    tensors = make(3, 1)
    first = "actor.latent_pi.0" if make is sb3_files.sac else "actor.mu.0"
    found = load(sb3_files.save_model(tmp_path / "m.zip", tensors))
    y = mlp(tensors, [first, f"actor.{last}"], observations, lambda x: np.maximum(x, 0))
    np.testing.assert_allclose(weights(found)(observations), 2 * np.tanh(y), atol=1e-5)
    assert found.what.startswith("SAC" if make is sb3_files.sac else "TD3 or DDPG")


def test_the_activation_is_read_from_the_text_beside_the_pickle(tmp_path, observations):
    tensors = sb3_files.ppo(3, 1, (8,))
    kwargs = {"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>", ":serialized:": "gAS"}
    path = sb3_files.save_model(tmp_path / "m.zip", tensors, {"policy_kwargs": kwargs})
    names = ["mlp_extractor.policy_net.0", "action_net"]
    expected = mlp(tensors, names, observations, lambda x: np.maximum(x, 0))
    np.testing.assert_allclose(weights(load(path))(observations), expected, atol=1e-5)


def test_normalised_observations(tmp_path, observations):
    tensors = sb3_files.td3(3, 1)
    path = sb3_files.save_model(tmp_path / "m.zip", tensors)
    mean, var = np.array([0.1, -0.2, 3.0]), np.array([1.0, 4.0, 1e-4])
    np.savez(tmp_path / "n.npz", mean=mean, var=var, clip=5.0)
    found = load(path, normaliser=tmp_path / "n.npz")
    seen = np.clip((observations - mean) / np.sqrt(var + 1e-8), -5, 5).astype("f4")
    assert (np.abs(seen) == 5).any()
    np.testing.assert_allclose(weights(found)(observations), weights(load(path))(seen), atol=1e-5)
    assert found.sha256 != load(path).sha256
    with pytest.raises(InputError, match="mean of shape"):
        load(sb3_files.save_model(tmp_path / "h.zip", sb3_files.td3(11, 3)), "Hopper",
             normaliser=tmp_path / "n.npz")  # fmt: skip


def hopper(tmp_path, change=lambda tensors: None, data=None):
    tensors = sb3_files.ppo(11, 3)
    change(tensors)
    return sb3_files.save_model(tmp_path / "m.zip", tensors, data)


@pytest.mark.parametrize(
    ("change", "data", "why"),
    [
        (lambda t: t.pop("action_net.bias"), {}, "action_net is no linear layer with a bias"),
        (lambda t: t.pop("log_std"), {}, "no log_std"),
        (lambda t: t.update(sb3_files.linear(np.random.default_rng(0), "features_extractor.cnn.0",
                                             3, 3)), {}, "has 'features_extractor.cnn.0.bias'"),
        (lambda t: t.update({"mlp_extractor.policy_net.1.weight": np.ones(8, "f4")}), {},
         "has 'mlp_extractor.policy_net.1'"),
        (lambda t: [t.pop(n) for n in list(t) if n.startswith("action_net")], {},
         "no actor of PPO, A2C, SAC, TD3 or DDPG"),
        (lambda t: t.update({"action_net.weight": np.full((3, 6), np.nan, "f4")}), {}, "finite"),
        (lambda t: None, {"use_sde": True}, "gSDE"),
        (lambda t: None, {"policy_kwargs": {"activation_fn": "<class 'torch.nn.GELU'>"}},
         "activation is GELU; ReLU and Tanh are read"),
        (lambda t: None, {"action_space": {":type:": "<class 'gymnasium.spaces.Discrete'>"}},
         "policies for Box actions are read"),
        (lambda t: None, {"action_space": sb3_files.box(-0.5, 0.5, 3)},
         r"actions whose low end is \[-0.5, -0.5, -0.5\]"),
    ],
)  # fmt: skip
def test_what_is_no_plain_network_is_one_line_with_a_remedy(tmp_path, change, data, why):
    with pytest.raises(InputError, match=why) as caught:
        load(hopper(tmp_path, change, data), "Hopper")
    assert str(caught.value).startswith(f"--policy {tmp_path / 'm.zip'}: ")
    assert "\n" not in str(caught.value)


def test_another_task_is_told(tmp_path):
    path = hopper(tmp_path)
    with pytest.raises(InputError, match="gives 3 actions, and the task takes an action of shape"):
        load(path, "HalfCheetah")
    wide = sb3_files.save_model(tmp_path / "w.zip", sb3_files.ppo(12, 3))
    with pytest.raises(InputError, match=r"takes 12 observations, and Hopper gives .* \(11,\)"):
        load(wide, "Hopper")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("no.zip", None, "there is no file"),
        ("text.zip", b"hello", "no zip archive"),
        ("other.zip", {"readme": b""}, "it has no data, which model.save"),
        ("half.zip", {"data": b"{}"}, "it has no policy.pth"),
        ("list.zip", {"data": b"[]", "policy.pth": b""}, "no mapping of names"),
        ("torch.zip", {"data": b"{}", "policy.pth": b"x"}, "no zip archive"),
    ],
)
def test_what_is_no_saved_model_is_told(tmp_path, name, content, why):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in content.items():
                archive.writestr(member, data)
    with pytest.raises(InputError, match=why):
        load(path)


def test_code_in_data_is_not_run(tmp_path, monkeypatch):
    """The JSON's pickles stay texts."""
    monkeypatch.setattr("pickle.loads", lambda *_: pytest.fail("a pickle was loaded"))
    attack = {"policy_kwargs": {":type:": "<class 'dict'>", ":serialized:": "gASVAAAA"}}
    path = hopper(tmp_path, data=attack)
    with zipfile.ZipFile(path) as archive:
        assert ":serialized:" in json.loads(archive.read("data"))["policy_kwargs"]
    assert load(path, "Hopper").weights is not None


def test_a_normaliser_that_is_a_pickle_needs_trust(tmp_path):
    path = hopper(tmp_path)
    pickled = tmp_path / "vecnormalize.pkl"
    pickled.write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    with pytest.raises(InputError, match=r"is a pickle, which runs code .* --trust .*numpy.savez"):
        load(path, "Hopper", normaliser=pickled)
    with pytest.raises(InputError, match="is a pickle"):
        load(path, "Hopper", normaliser=pickled, trust=(str(path),))
    (tmp_path / "text.npz").write_text("hello")
    wrote = "give one that VecNormalize.save"
    for name, why in (("no.npz", wrote), ("no.pkl", wrote), ("text.npz", "cannot be read")):
        with pytest.raises(InputError, match=why):
            load(path, "Hopper", normaliser=tmp_path / name)
    np.savez(tmp_path / "half.npz", mean=np.zeros(11))
    with pytest.raises(InputError, match="where mean and var are needed"):
        load(path, "Hopper", normaliser=tmp_path / "half.npz")


def test_trust_needs_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "stable_baselines3", None)
    path = hopper(tmp_path, data={"clip_range": {}})
    with pytest.raises(InputError, match="pip install stable-baselines3"):
        load(path, "Hopper", trust=())
    assert load(path, "Hopper", trust=("another.zip",)).weights is not None


def test_a_function_has_no_normaliser(tmp_path):
    with pytest.raises(InputError, match="a function normalises by itself"):
        load("spiral:act", normaliser=tmp_path / "n.npz")
