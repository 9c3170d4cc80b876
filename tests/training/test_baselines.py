"""Baselines in training: what their simulators do, what others notice, what is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation
from drspcrl.runfolder.runs import read_info, read_run
from drspcrl.training import TrainConfig, resume, train
from drspcrl.training.adversaries import LAYER, Adversaries, perturbations_of
from drspcrl.training.collector import Collector
from drspcrl.training.config import Member
from drspcrl.training.folder import held_new
from drspcrl.training.run import Trainer

QUIET = Console(quiet=True)
SMALL = {"hidden": [8, 8], "rollout_size": 64, "minibatches": 4, "envs_per_member": 4, "epochs": 2}
ADVERSARY = {"wr2l_every": 2, "wr2l_pairs": 2, "wr2l_horizon": 20, "wr2l_states": 5}


def configured(out: Path, methods=("wr2l",), seeds=(3,), **changes) -> TrainConfig:
    given = {"env": "Hopper", "algorithm": "ppo", "steps": 256, "threads": 1}
    given |= {"uncertainty": "transitions"}
    given |= {"log_every": 64, "checkpoint_every": 64}
    given |= {"evaluate_every": 128, "evaluate_episodes": 2}
    given |= {"settings": SMALL | ADVERSARY, "methods": methods, "seeds": seeds}
    return TrainConfig(out=out, **(given | changes))


@contextmanager
def running(config: TrainConfig) -> Iterator[Trainer]:
    trainer = Trainer(config, QUIET)
    with held_new(config) as folders, trainer:
        trainer.begin(folders)
        yield trainer


def test_each_method_has_its_own_perturbations(tmp_path):
    methods = ("vanilla", "noise_training", "physics_randomization:randomization_level=0.3", "wr2l")
    found = perturbations_of(configured(tmp_path, methods))
    noise = (Perturbation("action", 0.05), Perturbation("observation", 0.1))
    assert found == [(), noise, (Perturbation("environment", 0.3),), ()]
    assert all(Member(method, 0).plain for method in methods)
    assert not Member("nominal", 0).plain


def test_gusts_are_for_methods_with_a_nominal_model(tmp_path):
    methods = ("vanilla", "nominal", "self_paced:rollout_gusts=0.2", "noise_training", "wr2l")
    found = perturbations_of(configured(tmp_path, methods))
    assert list(map(len, found)) == [0, 0, 1, 2, 0]
    settings = SMALL | ADVERSARY | {"rollout_gusts": 0.1}
    found = perturbations_of(configured(tmp_path, methods, settings=settings))
    assert found[:3] == [(), (Perturbation("gusts", 0.1),), (Perturbation("gusts", 0.2),)]
    assert found[4] == ()


def test_gusts_change_their_members_experience_alone():
    plain = played()[1]
    pushed = played([(), (Perturbation("gusts", 0.2),)])[1]
    np.testing.assert_array_equal(pushed[:, 0], plain[:, 0])
    assert np.all(np.any(pushed[0, 1] != plain[0, 1], axis=-1)), "from the first step on"


def test_gusts_need_bodies_to_push():
    with pytest.raises(InputError, match="gusts needs a MuJoCo model"):
        Collector("Pendulum-v1", (1,), 1, perturbations=[(Perturbation("gusts", 0.1),)])


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


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["sac", "ddpg"])
def test_all_learners_train_under_noise(algorithm, tmp_path, small):
    methods = ("noise_training", "physics_randomization")
    config = small(algorithm, tmp_path, env="Hopper", methods=methods, seeds=(3,), steps=128)
    for folder in train(config, QUIET):
        assert read_info(folder)["status"] == "finished"
        assert (folder / "policy.safetensors").exists()


MIXED = ("vanilla", "wr2l", "physics_randomization", "noise_training")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A training of all these methods, its simulators' state, and a while after."""
    config = configured(tmp_path_factory.mktemp("mixed"), MIXED)
    with running(config) as trainer:
        trainer.run()
        state = trainer.loop.collector.env.state()
        after = a_while(trainer.loop.collector)
        assert trainer.evaluator is not None
        judged = trainer.evaluator.collector.env
        judged_in = judged.physics.scales, judged._disturbances._kernels
    return config, state, after, judged_in


def a_while(collector: Collector) -> np.ndarray:
    actions = np.random.default_rng(0).uniform(-1, 1, (40, collector.members, collector.envs, 3))
    return np.stack([collector.step(action) for action in actions])


def test_the_adversary_changes_the_physics_of_its_member_alone(mixed):
    scales = mixed[1][f"simulation/physics/layer/{LAYER}"].reshape(4, 4, -1)
    assert np.all(scales[[0, 2, 3]] == 1.0)
    assert np.all(scales[1] == scales[1, :1])
    assert np.all(scales[1] != 1.0)


def test_policies_are_judged_in_the_nominal_simulator(mixed):
    scales, kernels = mixed[3]
    assert np.all(scales == 1.0)
    assert not kernels


def test_its_numbers_are_logged_for_its_member_alone(mixed):
    config = mixed[0]
    vanilla, wr2l = (read_run(config.folder(Member(m, 3))).metrics for m in MIXED[:2])
    assert "adversary_steps" not in vanilla
    # One update after every second iteration of 64 steps; each is logged with its iteration.
    np.testing.assert_array_equal(wr2l["step"], [64, 128, 192, 256])
    steps, shifts = wr2l["adversary_steps"], wr2l["adversary_shift"]
    assert steps[0] == 0 < steps[1] == steps[2] < steps[3]
    assert shifts[0] == 0 < shifts[1] == shifts[2] != shifts[3]
    assert np.isnan(wr2l["adversary_return"][0])
    # Until then it has learned what its vanilla twin has.
    same = vanilla["actor_loss"] == wr2l["actor_loss"]
    np.testing.assert_array_equal(same, [True, True, False, False])


def test_a_saved_environment_continues_in_the_adversary_s_physics(mixed):
    config, state, after, _ = mixed
    collector = Collector(config.env, (3,) * 4, 4, perturbations=perturbations_of(config))
    for _ in range(2):  # fresh, and once it has played on
        collector.env.restore(state)
        np.testing.assert_array_equal(a_while(collector), after)


class Killed(BaseException):
    """Stands for a process that is gone."""


def test_a_training_repeats_itself_and_continues_exactly_after_it_was_killed(
    mixed, tmp_path, monkeypatch
):
    own = Trainer.save

    def dying(self):
        if self.loop.steps == 192:
            raise Killed
        own(self)

    again = configured(tmp_path, MIXED)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", dying)
        with pytest.raises(Killed):
            train(again, QUIET)
    folders = resume(tmp_path, console=QUIET)
    for folder, member in zip(folders, again.members, strict=True):
        assert [piece["step"] for piece in read_info(folder)["resumed"]] == [128]
        whole = mixed[0].folder(member)
        one, other = read_run(whole).metrics, read_run(folder).metrics
        assert one.keys() == other.keys()
        for name in one.keys() - {"steps_per_second"}:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
        policies = [(path / "policy.safetensors").read_bytes() for path in (whole, folder)]
        assert policies[0] == policies[1]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"algorithm": "sac", "settings": {}}, "wr2l trains with ppo, and algorithm is 'sac'"),
        ({"algorithm": "ddpg", "settings": {}}, "wr2l trains with ppo, and algorithm is 'ddpg'"),
        ({"settings": {"wr2l_hessian": "exact"}}, "choose one of sensitivity, zeroth_order"),
        ({"settings": {"wr2l_pairs": 0}}, "wr2l_pairs is 0; it must be above 0"),
        ({"methods": ("wr2l:wr2l_pairs=4",)}, "wr2l_pairs, which all members of a population"),
        ({"settings": {"rollout_gusts": -0.1}}, "it must be at least 0"),
        ({"settings": {"randomization_level": 1.5}}, "it must be at least 0 and at most 1"),
        (
            {"methods": ("physics_randomization:randomization_level=1",)},
            r"must lie between 0 and 1 \(excluded\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(changes, match, tmp_path):
    with pytest.raises(InputError, match=match):
        configured(tmp_path, **changes)


def test_an_adversary_that_never_moves_says_so(tmp_path):
    with pytest.warns(UserWarning, match="after every 128 steps, and the run has only 128"):
        Adversaries(configured(tmp_path, steps=128)).close()


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
        train(config, QUIET)
    assert not list((tmp_path / "out").glob("*"))
