"""The critic out of a checkpoint says what the learner's own says."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import drspcrl
from drspcrl import TrainConfig
from drspcrl.learners import networks, normalization, ppo
from drspcrl.policy import load_policy, save_policy
from drspcrl.runfolder.checkpoint import Store
from drspcrl.runfolder.critic import with_critic

TINY = {"hidden": [16, 16]}
OFF = {**TINY, "batch_size": 16, "learning_starts": 64, "envs_per_member": 8}
PPO = {**TINY, "rollout_size": 128, "minibatches": 2, "epochs": 2}


def network(leaves, path: str):
    found = []
    while f"{path}/{len(found)}/kernel" in leaves:
        names = (f"{path}/{len(found)}/{part}" for part in ("kernel", "bias"))
        found.append(networks.Layer(*(jnp.asarray(leaves[name]) for name in names)))
    return tuple(found)


def padded(critic, *inputs):
    """What the critic sees where all else that it knows is 0."""
    x = jnp.concatenate(inputs, axis=1)
    return jnp.concatenate([x, jnp.zeros((len(x), len(critic[0].kernel) - x.shape[1]))], axis=1)


def value(leaves, algorithm: str, actions: int, seen, true):
    """The sum of V(o) or of the mean of Q(s, π(o)), by the learners' own functions."""
    if algorithm == "ppo":
        moments = normalization.Moments(
            *(
                jnp.asarray(leaves[f"state/observations/{k}"])
                for k in ("mean", "variance", "weight")
            )
        )
        critic = network(leaves, "state/parameters/critic")
        x = padded(critic, normalization.standardise(moments, seen))
        return jnp.sum(ppo.state_value(critic, x))
    actor = network(leaves, "state/actor")
    chosen = jnp.tanh(networks.apply(actor, seen)[:, :actions])
    critics = network(leaves, "state/critics") or network(leaves, "state/critic")
    single = critics[0].kernel.ndim == 2
    members = [critics] if single else [jax.tree.map(lambda a, k=k: a[k], critics) for k in (0, 1)]
    values = [networks.apply(one, padded(one, true, chosen)) for one in members]
    return sum(jnp.sum(v) for v in values) / len(members)


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
        seen, true = random.normal(size=(2, 6, 4)).astype(np.float32) * np.float32(0.1)
        found = policy.critic.gradient(seen, true, policy)
        own = jax.grad(partial(value, leaves, algorithm, 1, true=jnp.asarray(true)))
        expected = np.asarray(own(jnp.asarray(seen)))
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


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
