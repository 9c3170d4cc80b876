"""What differs between the members of one population stays with each of them."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from drspcrl import TrainConfig, load_policy, train
from drspcrl.learners.replay import Batch
from drspcrl.training.run import Trainer
from drspcrl.transitions.backup import Transitions
from drspcrl.transitions.nominal import Noise, Scales, Strength


def config(out, **given) -> TrainConfig:
    settings = {"hidden": [4], "batch_size": 8, "learning_starts": 16, **given.pop("settings", {})}
    return TrainConfig(
        "probe/action",
        given.pop("algorithm", "ddpg"),
        out=out,
        settings=settings,
        steps=32,
        **given,
    )


def test_a_policy_explores_as_its_own_member_did(tmp_path):
    methods = ("vanilla", "vanilla:exploration=0.3")
    plain, wide = train(config(tmp_path, methods=methods, tensorboard=False))
    for run, expected in ((plain, 0.1), (wide, 0.3)):
        np.testing.assert_allclose(np.exp(load_policy(run).noise_log_std), expected, rtol=1e-6)


def test_a_budget_that_saturates_is_warned_of_once(tmp_path, capsys):
    given = config(
        tmp_path,
        methods=("fixed:epsilon_budget=3", "self_paced:epsilon_budget=2.5"),
        uncertainty="transitions",
    )
    with Trainer(given, Console(width=400)):
        pass
    assert capsys.readouterr().out.count("draws saturate") == 1


@dataclass(frozen=True)
class Telling(Noise):
    """A nominal model that says something of itself."""

    def update(self, state, batch):
        state, _ = super().update(state, batch)
        return state, {"loss": jnp.mean(batch.action)}


@pytest.mark.parametrize("name", ["sac", "ddpg"])
def test_what_a_nominal_model_says_of_itself_is_logged(name):
    import jax

    from drspcrl.learners import DDPG, SAC, DDPGHyper, SACHyper

    kind, hyper = {"sac": (SAC, SACHyper()), "ddpg": (DDPG, DDPGHyper())}[name]
    learner = kind((4,), uncertainty=Transitions(Telling(), draws=2))
    state = learner.init(jax.random.key(0), 1, 1)
    one = jnp.ones((8, 1))
    batch = Batch(one, one, jnp.full(8, 3.0), one, jnp.zeros(8, bool))
    given = batch, hyper, Strength(0.1, Scales(0.1)), jax.random.key(1), jnp.int32(0)
    _, metrics = jax.jit(learner.update)(state, *given)
    np.testing.assert_allclose(metrics["nominal_loss"], 1.0)
