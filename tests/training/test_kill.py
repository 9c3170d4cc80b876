"""Processes that are killed with −9 lose nothing, also while they write a checkpoint."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from without_clock import without_clock

from drspcrl.runfolder.runs import read_info

ARGUMENTS = [
    "--env",
    "probe/noise",
    "--seeds",
    "3",
    "4",
    "--log-every",
    "100",
    "--evaluate-every",
    "512",
    "--evaluate-episodes",
    "2",
    "--checkpoint-every",
    "64",
    "--no-tensorboard",
]
SETTINGS = {
    "ppo": ("hidden=[8]", "rollout_size=64", "minibatches=2", "epochs=2", "envs_per_member=4"),
    "sac": ("hidden=[8]", "batch_size=16", "learning_starts=40", "envs_per_member=4"),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Compiled programs are kept, so that a new process is soon where it was."""
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}
    compiled["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    return os.environ | compiled


def begin(environment, *arguments) -> subprocess.Popen:
    command = [sys.executable, "-m", "drspcrl", *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def training(algorithm: str, steps: int, out: Path) -> list:
    given = ["--algorithm", algorithm, "--steps", steps, "--out", out]
    return ["train", *ARGUMENTS, *given, "--set", *SETTINGS[algorithm]]


def newest(out: Path) -> int:
    """The newest step that a checkpoint of any member is of."""
    found = out.glob("*/checkpoint/step-*")
    return max((int(path.name.removeprefix("step-")) for path in found), default=-1)


def kill(process: subprocess.Popen, out: Path, random: np.random.Generator, within: bool) -> bool:
    """Kill a process once it has got on; `within` the writing of a checkpoint, or anywhere."""
    begun = newest(out)
    while newest(out) <= begun and process.poll() is None:
        time.sleep(0.005)
    if within:
        while not list(out.glob("*/checkpoint/.*")) and process.poll() is None:
            pass
    else:
        time.sleep(random.uniform(0, 0.5))
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def check(algorithm: str, steps: int, kills: int, out: Path, environment) -> None:
    straight = begin(environment, *training(algorithm, steps, out / "straight"))
    assert straight.wait() == 0
    random = np.random.default_rng(kills)
    process = begin(environment, *training(algorithm, steps, out / "killed"))
    for n in range(kills):
        assert kill(process, out / "killed", random, within=n % 2 == 0), "it ended too soon"
        process = begin(environment, "resume", out / "killed")
    assert process.wait() == 0
    for one in sorted((out / "straight").iterdir()):
        two = out / "killed" / one.name
        for file in ("policy.safetensors", "policy-best.safetensors"):
            assert (one / file).read_bytes() == (two / file).read_bytes(), file
        assert without_clock(one) == without_clock(two)
        assert not [file for file in two.rglob(".*") if file.name != ".lock"]
        # One that is killed within its very first checkpoint starts over.
        assert kills - 1 <= len(read_info(two)["resumed"]) <= kills


def test_three_kills(tmp_path, environment):
    check("ppo", 8192, 3, tmp_path, environment)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_twenty_kills(algorithm, tmp_path, environment):
    check(algorithm, 40_000 if algorithm == "ppo" else 12_000, 20, tmp_path, environment)
