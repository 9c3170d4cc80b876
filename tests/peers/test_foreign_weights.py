"""Files that Stable-Baselines3 itself saved: read without torch, they act as the library does."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation.foreign import Foreign, load_foreign
from drspcrl.policy import Policy

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]
# Written where the library is, read where it is not.
SAVE = """
import sys
from pathlib import Path
import gymnasium, numpy as np, torch
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

torch.set_num_threads(1)
out = Path(sys.argv[1])
seen = 3 * np.random.default_rng(0).standard_normal((64, 3)).astype("f4")
replay = {"learning_starts": 10, "buffer_size": 100}
made = {
    "ppo": PPO("MlpPolicy", "Pendulum-v1", n_steps=64, seed=0, device="cpu"),
    "relu": PPO("MlpPolicy", "Pendulum-v1", n_steps=64, seed=0, device="cpu",
                policy_kwargs={"net_arch": [9], "activation_fn": torch.nn.ReLU}),
    "a2c": A2C("MlpPolicy", "Pendulum-v1", seed=0, device="cpu"),
    "sac": SAC("MlpPolicy", "Pendulum-v1", seed=0, device="cpu", **replay),
    "td3": TD3("MlpPolicy", "Pendulum-v1", seed=0, device="cpu", **replay),
    "ddpg": DDPG("MlpPolicy", "Pendulum-v1", seed=0, device="cpu", **replay),
    "gsde": PPO("MlpPolicy", "Pendulum-v1", n_steps=64, use_sde=True, seed=0, device="cpu"),
}
for name, model in made.items():
    model.learn(64).save(out / name)
    np.save(out / f"{name}.npy", model.predict(seen, deterministic=True)[0])
vector = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
model = PPO("MlpPolicy", vector, n_steps=64, seed=0, device="cpu").learn(64)
model.save(out / "normalised")
vector.save(out / "vecnormalize.pkl")
np.savez(out / "normaliser.npz", mean=vector.obs_rms.mean, var=vector.obs_rms.var)
np.save(out / "normalised.npy", model.predict(vector.normalize_obs(seen), deterministic=True)[0])
"""

# With everything in the files, as --trust has it.
TRUSTED = """
import sys
from pathlib import Path
import numpy as np
from drspcrl.evaluation.foreign import load_foreign

out = Path(sys.argv[1])
seen = 3 * np.random.default_rng(0).standard_normal((64, 3)).astype("f4")
for name in ("ppo", "a2c", "sac", "td3", "ddpg", "gsde"):
    found = load_foreign(out / f"{name}.zip", "Pendulum-v1", trust=())
    expected = np.load(out / f"{name}.npy")
    np.testing.assert_array_equal(found.policy.predict(seen, deterministic=True)[0], expected)
pickled = out / "vecnormalize.pkl"
for trust, atol in (((), 0), ((str(pickled),), 1e-5)):  # all, or the statistics alone
    found = load_foreign(out / "normalised.zip", "Pendulum-v1", normaliser=pickled, trust=trust)
    assert (found.weights is None) == (trust == ())
    act = found.weights or (lambda o: found.policy.predict(o, deterministic=True)[0])
    np.testing.assert_allclose(act(seen), np.load(out / "normalised.npy"), atol=atol)
assert "jax" not in sys.modules
"""


def weights(found: Foreign) -> Policy:
    """The policy as this library has it."""
    assert found.weights is not None
    assert found.policy is found.weights
    return found.weights


def in_peer(program: str, *arguments: str | Path) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "peer_env.py", "sb3", "--", f"--editable={ROOT}",
         "torch==2.13.0", "stable-baselines3==2.9.2"],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    python = made.stdout.splitlines()[-1]
    subprocess.run([python, "-W", "ignore", "-c", program, *arguments], check=True, cwd=ROOT)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("saved")
    in_peer(SAVE, out)
    return out


@pytest.fixture
def seen():
    return 3 * np.random.default_rng(0).standard_normal((64, 3)).astype("f4")


@pytest.mark.parametrize("name", ["ppo", "relu", "a2c", "sac", "td3", "ddpg"])
def test_weights_alone_act_as_the_library_does(saved, seen, name):
    found = load_foreign(saved / f"{name}.zip", "Pendulum-v1")
    expected = np.load(saved / f"{name}.npy")
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(weights(found)(seen), expected, atol=1e-5)


def test_a_normaliser_as_numbers(saved, seen):
    found = load_foreign(
        saved / "normalised.zip", "Pendulum-v1", normaliser=saved / "normaliser.npz"
    )
    np.testing.assert_allclose(weights(found)(seen), np.load(saved / "normalised.npy"), atol=1e-5)


def test_what_is_no_plain_network_is_told(saved):
    with pytest.raises(InputError, match="gSDE"):
        load_foreign(saved / "gsde.zip", "Pendulum-v1")


def test_with_trust_the_library_loads_everything(saved):
    in_peer(TRUSTED, saved)
