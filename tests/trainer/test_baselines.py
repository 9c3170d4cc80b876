"""Baselines in training: what their simulators do, what others notice, what is refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.trainer import TrainConfig, train
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.config import Member
from drspcrl.trainer.run import Trainer
from drspcrl.trainer.world import LAYER, perturbations_of

SMALL = {"hidden": [8, 8], "rollout_size": 64, "minibatches": 4, "envs_per_member": 4, "epochs": 2}
ADVERSARY = {"wr2l_every": 2, "wr2l_pairs": 2, "wr2l_horizon": 20, "wr2l_states": 5}


def configured(out: Path, methods=("wr2l",), seeds=(3,), **changes) -> TrainConfig:
    given = {"env": "Hopper", "algorithm": "ppo", "steps": 256, "log_every": 64, "threads": 1}
    given |= {"settings": SMALL | ADVERSARY, "methods": methods, "seeds": seeds}
    return TrainConfig(out=out, **(given | changes))


def columns(folder: Path) -> dict[str, list[str]]:
    with open(folder / "metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_each_method_has_its_own_perturbations(tmp_path):
    methods = ("vanilla", "noise_training", "physics_randomization:randomization_level=0.3", "wr2l")
    found = perturbations_of(configured(tmp_path, methods))
    noise = (Perturbation("action", 0.05), Perturbation("observation", 0.1))
    assert found == [(), noise, (Perturbation("environment", 0.3),), ()]
    assert all(Member(method, 0).plain for method in methods)
    assert not Member("nominal", 0).plain


def played(perturbations=(), seeds=(1, 2)) -> tuple[Collector, np.ndarray]:
    collector = Collector("Hopper", seeds, 3, threads=1, perturbations=perturbations)
    collector.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (60, len(seeds), 3, 3))
    return collector, np.stack([collector.step(action) for action in actions])


def test_random_physics_is_drawn_anew_at_each_reset_for_its_member_alone():
    collector, outcomes = played([(), (Perturbation("environment", 0.2),)])
    scales = collector.env.physics.scales.reshape(2, 3, -1)
    assert np.all(scales[0] == 1.0)
    assert np.all(np.abs(scales[1] - 1.0) <= 0.2)
    assert np.abs(scales[1] - 1.0).max() > 0.15
    assert len(np.unique(scales[1, :, 0])) == 3
    assert outcomes[..., -1][:, 1].any(), "an episode must have ended"
    first = Collector("Hopper", (1, 2), 3, perturbations=[(), (Perturbation("environment", 0.2),)])
    first.reset()
    before = first.env.physics.scales.reshape(2, 3, -1)
    assert np.all(np.any(before[1] != scales[1], axis=1)), "every environment has had a reset"
    np.testing.assert_array_equal(outcomes[:, 0], played()[1][:, 0])


def test_learners_receive_the_noisy_observation_and_its_successor():
    plain = played()[1]
    noisy = played([(), (Perturbation("observation", 0.1),)])[1]
    size = (plain.shape[-1] - 3) // 2
    np.testing.assert_array_equal(noisy[:, 0], plain[:, 0])
    np.testing.assert_array_equal(noisy[:, 1, :, -3:], plain[:, 1, :, -3:])
    noise = (noisy - plain)[:, 1, :, size:-3]
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    # What is stored as the successor is what is acted on next.
    going = noisy[:, 1, :, -1] == 0
    np.testing.assert_array_equal(noisy[:, 1, :, :size][going], noisy[:, 1, :, size:-3][going])


@pytest.mark.parametrize(
    "algorithm",
    ["sac", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ppo", "ddpg"))],
)
def test_all_learners_train_under_noise_and_are_judged_without(algorithm, tmp_path, small):
    methods = ("noise_training", "physics_randomization")
    config = small(algorithm, tmp_path, env="Hopper", methods=methods, seeds=(3,), steps=128)
    with Trainer(config, Console(quiet=True)) as trainer:
        trainer.run()
        assert trainer.judge is not None
        physics = trainer.judge._collector.env.physics
        assert np.all(physics.scales == 1.0)
        assert not trainer.judge._collector.env._disturbances._kernels
    for method in methods:
        assert (tmp_path / f"Hopper-{algorithm}-{method}-s3" / "policy.safetensors").exists()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A training with an adversary for one of two members, its simulators' state, a while after."""
    config = configured(tmp_path_factory.mktemp("mixed"), ("vanilla", "wr2l"))
    with Trainer(config, Console(quiet=True)) as trainer:
        trainer.run()
        state = trainer.loop.collector.env.state()
        after = a_while(trainer.loop.collector)
    return config, state, after


def a_while(collector: Collector) -> np.ndarray:
    actions = np.random.default_rng(0).uniform(-1, 1, (40, 2, 4, 3))
    return np.stack([collector.step(action) for action in actions])


def test_the_adversary_changes_the_physics_of_its_member_alone(mixed):
    scales = mixed[1][f"simulation/physics/layer/{LAYER}"].reshape(2, 4, -1)
    assert np.all(scales[0] == 1.0)
    assert np.all(scales[1] == scales[1, :1])
    assert np.all(scales[1] != 1.0)


def test_its_numbers_are_logged_for_its_member_alone(mixed):
    config = mixed[0]
    vanilla, wr2l = (columns(config.folder(member)) for member in config.members)
    assert "adversary_steps" not in vanilla
    # One update after every second iteration of 64 steps; each is logged with its iteration.
    steps = [int(n) for n in wr2l["adversary_steps"]]
    assert wr2l["step"] == ["64", "128", "192", "256"]
    assert steps[0] == 0 < steps[1] == steps[2] < steps[3]
    assert wr2l["adversary_return"][0] == ""
    shifts = [float(text) for text in wr2l["adversary_shift"]]
    assert shifts[0] == 0 < shifts[1] == shifts[2] != shifts[3]


def test_seeds_reproduce_a_training_with_an_adversary(mixed, tmp_path):
    config = mixed[0]
    again = configured(tmp_path, config.methods)
    train(again, Console(quiet=True))
    for member in config.members:
        one, other = columns(config.folder(member)), columns(again.folder(member))
        assert {k: v for k, v in one.items() if k != "steps_per_second"} == {
            k: v for k, v in other.items() if k != "steps_per_second"
        }


def test_a_saved_environment_goes_on_in_the_adversary_s_physics(mixed):
    config, state, after = mixed
    collector = Collector(config.env, (3, 3), 4)
    for _ in range(2):  # fresh, and once it has played on
        collector.env.restore(state)
        np.testing.assert_array_equal(a_while(collector), after)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"algorithm": "sac", "settings": {}}, "wr2l trains with ppo, and algorithm is 'sac'"),
        ({"algorithm": "ddpg", "settings": {}}, "wr2l trains with ppo, and algorithm is 'ddpg'"),
        ({"settings": {"wr2l_hessian": "exact"}}, "choose one of sensitivity, zeroth_order"),
        ({"settings": {"wr2l_pairs": 0}}, "wr2l_pairs is 0; it must be above 0"),
        ({"methods": ("wr2l:wr2l_pairs=4",)}, "wr2l_pairs, which all members of a population"),
        ({"settings": {"randomization_level": 1.5}}, "it must be between 0 and 1"),
        (
            {"methods": ("physics_randomization:randomization_level=1",)},
            r"must lie between 0 and 1 \(excluded\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(changes, match, tmp_path):
    with pytest.raises(InputError, match=match):
        configured(tmp_path, **changes)


@pytest.mark.parametrize(
    ("method", "match"),
    [
        ("wr2l", "wr2l needs a task with physics parameters"),
        ("physics_randomization", "physics noise needs a MuJoCo model"),
    ],
)
def test_a_task_without_physics_is_refused_before_training(method, match, tmp_path):
    config = configured(tmp_path / "out", (method,), env="Pendulum-v1")
    with pytest.raises(InputError, match=match):
        train(config, Console(quiet=True))
    assert not list((tmp_path / "out").glob("*"))
