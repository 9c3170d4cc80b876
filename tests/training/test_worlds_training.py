"""Populations in worlds: all methods side by side, killed in mid-episode, evaluated, replayed."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console

from drspcrl.errors import InputError
from drspcrl.evaluation import EvaluationTable, Suite, evaluate_runs
from drspcrl.policy import load_policy
from drspcrl.runfolder.checkpoint import Store
from drspcrl.runfolder.runs import read_config, read_info, read_run
from drspcrl.training import TrainConfig, resume, train
from drspcrl.training.run import Trainer

QUIET = Console(quiet=True)
METHODS = (
    *("vanilla", "probes_only", "fixed", "linear", "domain_randomization", "accel", "space"),
    *("self_paced", "self_paced:tilt=1", "self_paced:rule=keep", "yoked"),
)
TANK = {
    "parameters": [
        {"name": "leak", "nominal": 0.0, "tolerance": 0.05, "law": "above"},
        {"name": "pump", "nominal": 0.1, "tolerance": "10%"},
    ],
    "sensor": 0.1,
    "presence": {"parameters": 1.0},
}


class Killed(BaseException):
    """Stands for a process that is gone."""


def killed_at(config: TrainConfig, step: int, monkeypatch) -> None:
    """Train and be gone, without any tidying up, once that step is reached."""
    own = Trainer._log

    def dying(self, scores):
        if self.loop.steps >= step:
            monkeypatch.setattr(Trainer, "__exit__", lambda *_: None)
            raise Killed
        own(self, scores)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_log", dying)
        with pytest.raises(Killed):
            train(config, QUIET)
    monkeypatch.undo()
    saved = newest_checkpoint(config.folder(config.members[-1]))
    weight = saved["collector/worlds/weight"]  # γ^t: below 1 within an episode
    assert weight.size == 4
    assert (weight < 1.0).any()


def newest_checkpoint(run: Path) -> dict[str, np.ndarray]:
    store = Store(run)
    saved = store.read(store.steps()[-1])
    parts = ("loop", "collector", "extra")
    return {f"{part}/{k}": v for part in parts for k, v in saved.flat(part).items()}


def assert_same_runs(one, two) -> None:
    """Equal in all files but for the clock's column and the folder's own name."""
    for left, right in zip(one, two, strict=True):
        assert left.name == right.name
        for file in ("policy.safetensors", "policy-best.safetensors"):
            assert (left / file).read_bytes() == (right / file).read_bytes(), (left.name, file)
        rows, others = read_run(left).metrics, read_run(right).metrics
        assert list(rows) == list(others)
        for name in set(rows) - {"steps_per_second"}:
            np.testing.assert_array_equal(rows[name], others[name], err_msg=f"{left.name} {name}")
        assert {**read_config(left), "out": ""} == {**read_config(right), "out": ""}
        assert read_info(left)["best"] == read_info(right)["best"]
        saved, again = newest_checkpoint(left), newest_checkpoint(right)
        assert saved.keys() == again.keys()
        for name, array in saved.items():
            np.testing.assert_array_equal(array, again[name], err_msg=f"{left.name} {name}")


@pytest.fixture(
    scope="module",
    params=["ppo", *(pytest.param(a, marks=pytest.mark.slow) for a in ("sac", "ddpg", "td3"))],
)
def straight(request, small, tmp_path_factory):
    """An uninterrupted training of all methods; all but PPO learn from step 40 on."""

    def config(out, **changes) -> TrainConfig:
        own = small(request.param, out).settings | {"curriculum_every": 32, "anchor_every": 4}
        given = {"env": "Hopper", "methods": METHODS, "seeds": (3,)}
        given |= {"settings": own, "log_every": 32, "checkpoint_every": 64}
        return small(request.param, out, **(given | changes))

    return config, train(config(tmp_path_factory.mktemp("straight")), QUIET)


def test_every_method_has_its_radius(straight):
    _, folders = straight
    ε = {read_run(f).method: read_run(f).metrics["epsilon"] for f in folders}
    assert not ε["vanilla"].any()
    assert not ε["probes_only"].any()
    assert (ε["fixed"] == 1.0).all()
    np.testing.assert_allclose(ε["linear"], np.arange(len(ε["linear"])) / len(ε["linear"]))
    assert ((ε["self_paced"] >= 0) & (ε["self_paced"] <= 1)).all()
    assert read_run(folders[0]).uncertainty == "worlds"


def test_a_kill_in_mid_episode_changes_nothing(straight, tmp_path, monkeypatch):
    config, whole = straight
    killed_at(config(tmp_path), 160, monkeypatch)
    folders = resume(tmp_path, console=QUIET)
    assert [piece["step"] for piece in read_info(folders[0])["resumed"]] == [128]
    assert read_info(folders[0])["resume"] == "exact"
    assert_same_runs(whole, folders)


@pytest.mark.slow
def test_results_do_not_depend_on_threads(straight, tmp_path):
    config, whole = straight
    again = train(config(tmp_path, threads=1, checkpoint_every=0), QUIET)
    for left, right in zip(whole, again, strict=True):
        file = "policy.safetensors"
        assert (left / file).read_bytes() == (right / file).read_bytes(), left.name


def test_runs_in_worlds_are_evaluated(straight, tmp_path):
    _, folders = straight
    suite = Suite("one", [None])
    for result in evaluate_runs(folders[1], load_policy, suite, episodes=2, show=None):
        assert result.status == "evaluated"
    assert len(EvaluationTable.from_csv(folders[1] / "evaluation-one.csv")) == 2


def test_a_curve_of_earlier_runs_is_replayed(straight, small, tmp_path):
    config, folders = straight
    runs = folders[0].parent
    own = config(tmp_path).settings | {"yoked_to": str(runs)}
    replayed = config(tmp_path, methods=("yoked",), settings=own)
    assert replayed.resolved.curriculum.yoked_to == str(runs)
    trainer = Trainer(replayed, QUIET)
    try:
        assert trainer.curricula.epsilon[0] == 0.0
    finally:
        trainer.loop.collector.close()
    transitions = {"uncertainty": "transitions", "settings": {"yoked_to": str(runs)}}
    with pytest.raises(InputError, match="uncertainty transitions; name a folder of such runs"):
        Trainer(small("sac", tmp_path, methods=("yoked",), **transitions), QUIET)


def test_a_published_box_is_trained_in_by_its_name_and_continues(small, tmp_path, monkeypatch):
    def config(out) -> TrainConfig:
        given = {"methods": ("fixed", "vanilla"), "log_every": 32, "checkpoint_every": 64}
        return small("ppo", out, **given, env="Hopper", seeds=(3,), worlds="m2td3-2-hopper")

    whole = train(config(tmp_path / "a"), QUIET)
    killed_at(config(tmp_path / "b"), 160, monkeypatch)
    folders = resume(tmp_path / "b", console=QUIET)
    assert_same_runs(whole, folders)
    box = {"low": 0.1, "high": 3.0}
    assert read_config(folders[0])["worlds"]["physics"] == {
        "friction:floor": box,
        "mass:torso": box,
    }
    assert (read_run(folders[0]).metrics["epsilon"] == 1.0).all()
    saved = newest_checkpoint(folders[0])
    values = saved["collector/env/simulation/physics/value/world"]
    set_ones = values[:, ~np.isnan(values).all(axis=0)]
    assert set_ones.shape == (4, 2)
    assert np.all((set_ones >= 0.1) & (set_ones <= 3.7))  # anchors are at the model's own 3.67
    assert not np.array_equal(set_ones[0], set_ones[1])


@pytest.mark.slow
def test_own_parameters_go_on_where_they_were(small, tmp_path, monkeypatch):
    def config(out) -> TrainConfig:
        given = {"env": "world_environments:WorldTank-v0", "methods": ("fixed", "self_paced")}
        given |= {"log_every": 32, "checkpoint_every": 64, "seeds": (3,), "worlds": TANK}
        return small("ppo", out, **given)

    whole = train(config(tmp_path / "a"), QUIET)
    killed_at(config(tmp_path / "b"), 160, monkeypatch)
    env = "world_environments:WorldTank-v0"
    folders = resume(tmp_path / "b", console=QUIET, trust=(env,))
    assert_same_runs(whole, folders)
    # On a task that is none of the paper's, a unit of sensor noise is each reading's spread.
    assert len(read_config(folders[0])["worlds"]["sensor_unit"]) == 2


@pytest.mark.slow
def test_where_episodes_cannot_go_on_others_begin(small, tmp_path, monkeypatch):
    given = {"env": "InvertedPendulum-v5", "methods": ("fixed",), "log_every": 32}
    config = small("ppo", tmp_path, checkpoint_every=64, seeds=(3,), **given)
    killed_at(config, 160, monkeypatch)
    (folder,) = resume(tmp_path, console=QUIET)
    assert read_info(folder)["resume"] == "episode"
    assert (read_info(folder)["status"], read_info(folder)["steps"]) == ("finished", 256)


def test_a_file_of_worlds_that_changed_is_noticed(small, tmp_path):
    file, out = tmp_path / "tank.yaml", tmp_path / "runs"
    file.write_text(yaml.safe_dump({"sensor": 0.1, "sensor_unit": "absolute"}))
    config = small("ppo", out, worlds=file, seeds=(3,), steps=64)
    (folder,) = train(config, QUIET)
    assert read_config(folder)["worlds_file"]["path"] == str(file)
    assert read_config(folder)["worlds"]["sensor"] == 0.1
    (folder,) = resume(out, steps=128, console=QUIET)
    file.write_text(yaml.safe_dump({"sensor": 0.2, "sensor_unit": "absolute"}))
    with pytest.raises(InputError, match="has changed since the run began; put it back"):
        resume(out, steps=192, console=QUIET)
    file.unlink()  # on another machine, say: what it held is in config.yaml
    (folder,) = resume(out, steps=192, console=QUIET)
    assert read_config(folder)["worlds"]["sensor"] == 0.1
