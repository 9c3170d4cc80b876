"""Commands in this process, and tiny runs, grids and digests for them to be attacked."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

from drspcrl.cli import main
from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.experiments.worker import work

SETTINGS = "hidden=[4] rollout_size=32 minibatches=1 epochs=1 envs_per_member=2"
SUITE = "settings: [none, action=0.1]\n"
WORLDS = "sensor_unit: absolute\nphysics: {}\nsensor: 0.1\nactuator: 0.2\n"
GRID = """
title: tiny
groups:
  - algorithm: ppo
    env: probe/noise
    methods: [vanilla]
    seeds: [3, 4]
    steps: 64
    settings: {hidden: [4], rollout_size: 32, minibatches: 1, epochs: 1, envs_per_member: 2}
training: {log_every: 32, checkpoint_every: 32, tensorboard: false}
evaluation: {suite: SUITE, episodes: 2}
"""


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def command(*words: object) -> Told:
    """A command in this process, as a shell would see it."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(map(str, words)))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Told(code, out.getvalue(), err.getvalue())


def train_line(out: Path, uncertainty: str = "transitions") -> list[object]:
    """A training of moments: two runs of two iterations, each with a row and a checkpoint."""
    often = "--log-every 32 --checkpoint-every 32 --evaluate-every 32 --evaluate-episodes 1"
    what = "--env probe/noise --algorithm ppo --methods fixed --seeds 3 4 --steps 64"
    given = ["--uncertainty", uncertainty, "--no-tensorboard", "--out", out]
    return ["train", *what.split(), *often.split(), *given, "--set", *SETTINGS.split()]


class Here(Engine):
    """Works at tasks in this process, so that its file operations can be seen."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        for task in tasks:
            yield Outcome(task.piece, "running")
            yield Outcome(**work(json.loads(json.dumps(asdict(task)))))


def write_inputs(place: Path) -> None:
    """The files that a user would have written."""
    (place / "one.yaml").write_text(SUITE)
    (place / "worlds.yaml").write_text(WORLDS)
    (place / "grid.yaml").write_text(GRID.replace("SUITE", str(place / "one.yaml")))


def done(*words: object) -> Told:
    """A command that must succeed."""
    told = command(*words)
    assert told.code == 0, told
    return told
