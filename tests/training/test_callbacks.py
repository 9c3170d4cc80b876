"""Callbacks see every iteration and episode, change nothing, and may end a training."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from without_clock import without_clock

from drspcrl import Callback, InputError, TrainConfig, load_policy, resume, train
from drspcrl.runfolder.runs import read_info
from drspcrl.training.callbacks import Callbacks

SETTINGS = {
    "ppo": {"hidden": [8], "rollout_size": 64, "minibatches": 2, "epochs": 1},
    "sac": {"hidden": [8], "batch_size": 8, "learning_starts": 16, "envs_per_member": 8},
}


def config(out: Path, algorithm: str = "ppo", **changes) -> TrainConfig:
    given = {
        "env": "InvertedPendulum-v5",
        "methods": ("vanilla", "self_paced"),
        "steps": 256,
        "log_every": 64,
        "settings": SETTINGS[algorithm],
    }
    return TrainConfig(algorithm=algorithm, out=out, **(given | changes))


class Notes(Callback):
    """Writes down everything, and ends the training at a step."""

    def __init__(self, end: int | None = None):
        self.end = end
        self.episodes, self.steps, self.radii, self.newest = [], [], [], None

    def on_iteration(self, iteration):
        self.steps.append(iteration.step)
        self.radii.append(iteration.epsilon)
        self.newest = iteration
        return iteration.step != self.end

    def on_episode_end(self, episode):
        self.episodes.append(episode)


def rows_of(run: Path) -> list[dict[str, str]]:
    with (run / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_episodes_are_those_of_the_metrics(tmp_path, algorithm):
    notes = Notes()
    runs = train(config(tmp_path, algorithm), callbacks=[notes])
    iteration = 64 if algorithm == "ppo" else 8
    assert notes.steps == list(range(iteration, 257, iteration))
    for run, method in zip(runs, ("vanilla", "self_paced"), strict=True):
        own = [e for e in notes.episodes if e.method == method and e.role == "trained"]
        rows = [row for row in rows_of(run) if row["episodes"] not in ("", "0")]
        assert len(own) == sum(int(row["episodes"]) for row in rows) > 3
        total = sum(int(row["episodes"]) * float(row["episode_return"]) for row in rows)
        assert sum(e.total_reward for e in own) == pytest.approx(total)
        assert all(e.total_reward == e.length or e.length > 1 for e in own)
        assert [e.step for e in own] == sorted(e.step for e in own)


def test_an_episode_says_in_which_world_it_was(tmp_path):
    notes = Notes()
    train(config(tmp_path), callbacks=[notes])
    worlds = {role: [e.world for e in notes.episodes if e.role == role] for role in
              ("trained", "probe", "anchor")}  # fmt: skip
    assert all(not any(world.values()) for world in worlds["anchor"])
    assert all(any(world.values()) for world in worlds["probe"])
    assert {"gravity", "sensor"} <= set(worlds["probe"][0])
    vanilla = [e for e in notes.episodes if e.method == "vanilla"]
    assert {e.role for e in vanilla} == {"trained"}
    assert all(e.world == {} for e in vanilla)


def test_an_iteration_has_metrics_radii_and_policies(tmp_path):
    notes = Notes()
    methods = ("vanilla", "fixed")
    runs = train(config(tmp_path, methods=methods, steps=128), callbacks=[notes])
    assert notes.newest is not None
    assert [(member.method, member.seed) for member in notes.newest.members] == [
        ("vanilla", 0),
        ("fixed", 0),
    ]
    assert notes.newest.steps == 128
    np.testing.assert_allclose(
        notes.newest.metrics["critic_loss"],
        [float(rows_of(run)[-1]["critic_loss"]) for run in runs],
        rtol=1e-6,
    )
    np.testing.assert_array_equal(notes.radii, [[0, 1], [0, 1]])
    observations = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    for policy, run in zip(notes.newest.policies(), runs, strict=True):
        assert policy is not None
        np.testing.assert_array_equal(policy(observations), load_policy(run)(observations))


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_looking_and_stopping_change_nothing(tmp_path, algorithm, capsys):
    straight = train(config(tmp_path / "straight", algorithm, env="Hopper"))
    notes = Notes(end=128)
    runs = train(config(tmp_path / "stopped", algorithm, env="Hopper"), callbacks=[notes])
    assert notes.steps[-1] == 128
    assert all(read_info(run)["status"] == "stopped" for run in runs)
    told = "".join(capsys.readouterr().out.split())
    assert f"endedbyacallbackatstep128,saved;continuewithdrspcrlresume{tmp_path}" in told
    notes.end = None
    resume(tmp_path / "stopped", callbacks=[notes])
    assert notes.steps[-1] == 256
    for one, two in zip(straight, runs, strict=True):
        assert without_clock(one) == without_clock(two)
        files = [run / "policy.safetensors" for run in (one, two)]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_what_a_callback_raises_ends_the_training_as_failed(tmp_path):
    class Breaks(Callback):
        def on_episode_end(self, episode):
            raise RuntimeError("no more room for notes")

    with pytest.raises(RuntimeError, match="no more room"):
        train(config(tmp_path), callbacks=[Breaks()])
    runs = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert [read_info(run)["status"] for run in runs] == ["failed", "failed"]


@pytest.mark.parametrize("wrong", [print, Notes, "my_module:Mine", None])
def test_what_is_no_callback_is_refused(tmp_path, wrong):
    with pytest.raises(InputError, match=r"inherit from drspcrl\.Callback"):
        train(config(tmp_path / "out"), callbacks=[wrong])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("answer", "continues"),
    [(False, False), (np.False_, False), (True, True), (np.True_, True), (None, True), (0, True)],
)
def test_false_ends_a_training_also_as_numpy_has_it(answer, continues):
    class Answers(Callback):
        def on_iteration(self, iteration):
            return answer

    config = SimpleNamespace(steps=8, members=())
    trainer: Any = SimpleNamespace(loop=SimpleNamespace(steps=1), config=config)
    assert Callbacks([Answers()]).after_iteration(trainer, []) is continues
