"""What a training writes for TensorBoard, W&B and Trackio, read back by those themselves."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]

TRAIN = """
import sys
from drspcrl import TrainConfig, train
train(TrainConfig(env="InvertedPendulum-v5", algorithm="ppo", out="runs", seeds=(0, 1), steps=4096,
                  log_every=1024, track=sys.argv[1]))
"""
READ_EVENTS = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
for event in events.Scalars("episode_return"):
    print(event.step, event.value)
"""
READ_TRACKIO = """
import sys
from trackio.sqlite_storage import SQLiteStorage
project, = SQLiteStorage.get_projects()
run, = SQLiteStorage.get_runs(project)
for row in SQLiteStorage.get_logs(project, run):
    if sys.argv[1] in row:
        print(row["step"], row[sys.argv[1]])
"""


@pytest.fixture(scope="module")
def python() -> str:
    sys.path.insert(0, str(ROOT / "scripts"))
    from peer_env import peer_python

    return str(peer_python("tracking", [f"--editable={ROOT}[tracking]", "tensorboard==2.20.0"]))


@pytest.fixture(scope="module", params=["wandb", "trackio"])
def trained(request, python, tmp_path_factory):
    """A training with this tracker: its folder, and how to read in it."""
    folder = tmp_path_factory.mktemp(request.param)
    own = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "TRACKIO_DIR": str(folder / "trackio")}

    def run(program: str, *arguments: str) -> str:
        command = [python, "-c", program, *arguments]
        environment = {**os.environ, **own}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(TRAIN, request.param)
    return request.param, folder, run


def returns(folder: Path, seed: int) -> list[tuple[int, float]]:
    path = folder / "runs" / f"InvertedPendulum-v5-ppo-vanilla-s{seed}" / "metrics.csv"
    with open(path, encoding="utf-8") as file:
        return [(int(row["step"]), float(row["episode_return"])) for row in csv.DictReader(file)]


def numbers(text: str) -> list[tuple[int, float]]:
    pairs = (line.split() for line in text.splitlines())
    return [(int(step), float(value)) for step, value in pairs]


@pytest.mark.parametrize("seed", [0, 1])
def test_tensorboard_reads_the_events_of_every_member(trained, seed):
    _, folder, run = trained
    path = folder / "runs" / f"InvertedPendulum-v5-ppo-vanilla-s{seed}"
    found, written = numbers(run(READ_EVENTS, str(path))), returns(folder, seed)
    assert [step for step, _ in found] == [step for step, _ in written] == [2048, 4096]
    assert [v for _, v in found] == pytest.approx([v for _, v in written], rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_tracker_has_the_rows_of_every_member(trained, seed):
    tracker, folder, run = trained
    name = f"InvertedPendulum-v5-ppo-vanilla-s{seed}/episode_return"
    if tracker == "trackio":
        found = numbers(run(READ_TRACKIO, name))
        assert found == [pytest.approx(row, rel=1e-6) for row in returns(folder, seed)]
        return
    # An offline run of Weights & Biases has no reader of its own: names and numbers are in there
    # as text, once for each row.
    stored = next(folder.glob("wandb/offline-run-*/*.wandb")).read_bytes()
    assert stored.count(name.encode()) >= 2
    for _, value in returns(folder, seed):
        assert f"{value:.6g}".encode()[:6] in stored
