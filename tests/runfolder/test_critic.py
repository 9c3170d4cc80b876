"""The critic out of a checkpoint says what the learner's own says."""

import jax.numpy as jnp
import numpy as np
import pytest

import drspcrl
from drspcrl import TrainConfig
from drspcrl.learners import networks, normalization
from drspcrl.policy import load_policy, save_policy
from drspcrl.runfolder.checkpoint import Store
from drspcrl.runfolder.critic import with_critic

TINY = {"hidden": [16, 16]}
OFF = {**TINY, "batch_size": 16, "learning_starts": 64, "envs_per_member": 8}
PPO = {**TINY, "rollout_size": 128, "minibatches": 2, "epochs": 2}


def value(leaves, algorithm: str, policy, seen: np.ndarray, true: np.ndarray) -> np.ndarray:
    """V(o) or the mean of Q(s, π(o)), by the learners' own functions."""

    def network(path: str):
        found = []
        while f"{path}/{len(found)}/kernel" in leaves:
            names = (f"{path}/{len(found)}/{part}" for part in ("kernel", "bias"))
            found.append(networks.Layer(*(jnp.asarray(leaves[name]) for name in names)))
        return tuple(found)

    if algorithm == "ppo":
        critic = network("state/parameters/critic")
        moments = normalization.Moments(
            *(
                jnp.asarray(leaves[f"state/observations/{k}"])
                for k in ("mean", "variance", "weight")
            )
        )
        x = normalization.standardise(moments, jnp.asarray(seen, jnp.float32))
        zeros = jnp.zeros((len(x), critic[0].kernel.shape[0] - x.shape[1]))
        h = jnp.concatenate([x, zeros], axis=1)
        for layer in critic[:-1]:
            h = jnp.tanh(h @ layer.kernel + layer.bias)
        return np.asarray(h @ critic[-1].kernel + critic[-1].bias)[:, 0]
    critic = network("state/critics") or network("state/critic")
    actions = jnp.asarray(policy.vjp(seen)[0])
    s = jnp.asarray(true, jnp.float32)
    zeros = jnp.zeros((len(s), critic[0].kernel.shape[-2] - s.shape[1] - actions.shape[1]))
    inputs = jnp.concatenate([s, actions, zeros], axis=1)
    return np.asarray(networks.apply(critic, inputs)).reshape(-1, len(s)).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "sac", "ddpg", "td3"])
def test_its_gradient_is_that_of_the_learners_critic(tmp_path, algorithm):
    config = TrainConfig(
        "InvertedPendulum-v5", algorithm, out=tmp_path, methods=("vanilla", "self_paced"),
        steps=512, settings=PPO if algorithm == "ppo" else OFF, tensorboard=False,
    )  # fmt: skip
    random = np.random.default_rng(0)
    for run in drspcrl.train(config):
        policy = with_critic(load_policy(run), run)
        assert policy.without_critic == ""
        leaves = (store := Store(run)).read(store.steps()[-1]).flat("loop")
        seen, true = random.normal(size=(2, 6, 4)) * 0.1
        gradient = policy.critic.gradient(seen, true, policy)
        numeric = np.zeros_like(gradient)
        for k in range(4):
            shift = np.zeros(4)
            shift[k] = 2e-3
            up, down = (value(leaves, algorithm, policy, seen + s * shift, true) for s in (1, -1))
            numeric[:, k] = (up - down) / 4e-3
        size = np.abs(numeric).max()
        assert size > 0
        np.testing.assert_allclose(gradient, numeric, atol=0.05 * size)


@pytest.mark.slow
def test_a_checkpoint_of_another_policy_is_no_critic_of_this_one(tmp_path):
    config = TrainConfig(
        "InvertedPendulum-v5", "ppo", out=tmp_path, methods=("vanilla",), steps=256, settings=PPO,
        tensorboard=False,
    )  # fmt: skip
    (run,) = drspcrl.train(config)
    policy = load_policy(run)
    kernel, bias = policy.layers[0]
    other = type(policy)(**{**vars(policy), "layers": ((kernel + 1, bias), *policy.layers[1:])})
    save_policy(run / "policy.safetensors", other)
    found = with_critic(load_policy(run), run)
    assert found.critic is None
    assert "is of another policy than this" in found.without_critic
