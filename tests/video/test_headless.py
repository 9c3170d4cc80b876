"""`drspcrl render` without a screen, from runs to frames that are read back."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from clips import read_gif, read_mp4

from drspcrl.cli.doctor import _draws
from drspcrl.policy import Policy, save_policy
from drspcrl.video.graphics import _nothing_can_be_drawn

WIDTH, HEIGHT, LINE = 128, 96, 16
STEPS = 10


def policy(seed: int) -> Policy:
    """A policy that does something, for HalfCheetah."""
    rng = np.random.default_rng(seed)
    return Policy(
        kind="tanh",
        activation="relu",
        layers=((rng.normal(size=(17, 6)).astype(np.float32), np.zeros(6, np.float32)),),
        action_low=np.full(6, -1, np.float32),
        action_high=np.full(6, 1, np.float32),
        observation_mean=np.zeros(17, np.float32),
        observation_scale=np.ones(17, np.float32),
        observation_clip=np.inf,
        noise_log_std=np.zeros(6, np.float32),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of HalfCheetah, and where clips go; skips where nothing can be drawn."""
    if not _draws("egl"):
        pytest.skip("EGL does not work here; on Debian or Ubuntu it is in the package libegl1")
    root = tmp_path_factory.mktemp("runs")
    for seed in range(2):
        folder = root / f"HalfCheetah-ddpg-vanilla-s{seed}"
        folder.mkdir()
        told = {"env": "HalfCheetah", "algorithm": "ddpg", "method": "vanilla", "seed": seed}
        (folder / "run.json").write_text(json.dumps({"format_version": 1, **told}))
        (folder / "config.yaml").write_text(json.dumps(told))
        save_policy(folder / "policy.safetensors", policy(seed))
    return root


def command(runs, *arguments, **variables) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "DISPLAY")}
    size = ("--size", WIDTH, HEIGHT, "--steps", STEPS)
    return subprocess.run(
        [sys.executable, "-m", "drspcrl", "render", *map(str, (*arguments, *size))],
        capture_output=True, text=True, timeout=300, cwd=runs, env=environment | variables,
    )  # fmt: skip


def panel(frames: np.ndarray, k: int) -> np.ndarray:
    """What is drawn in one panel, without the text around it."""
    inside = frames[:, 2 * LINE : 2 * LINE + HEIGHT, k * WIDTH : (k + 1) * WIDTH]
    return inside.astype(int)


@pytest.fixture(scope="module")
def films(runs):
    """The same two runs in the nominal world and in another one."""
    found = {}
    for name, world in {"nominal": (), "heavy": ("--world", "mass:torso=3", "gear=0.3")}.items():
        both = sorted(runs.glob("HalfCheetah-*"))
        done = command(runs, *both, *world, "--out", f"{name}.mp4")
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        found[name] = (done.stdout, *read_mp4(runs / f"{name}.mp4"))
    return found


def test_size_and_frames(films):
    for said, frames, rate in films.values():
        # HalfCheetah acts every 0.05 s: a frame before the first step and one after each.
        assert rate == 20
        assert frames.shape == (STEPS + 1, HEIGHT + 3 * LINE, 2 * WIDTH, 3)
        assert f"{STEPS + 1} frames of {2 * WIDTH}×{HEIGHT + 3 * LINE}, 20 per second" in said
        assert said.count("in 10 steps\n") == 2


def test_the_robot_is_seen_and_moves(films):
    for _, frames, _ in films.values():
        for k in range(2):
            drawn = panel(frames, k)
            assert drawn.std() > 20
            assert np.abs(drawn[-1] - drawn[0]).mean() > 2


def test_worlds_and_policies_differ(films):
    nominal, heavy = (films[name][1] for name in ("nominal", "heavy"))
    worlds = np.abs(panel(nominal, 0)[-1] - panel(heavy, 0)[-1]).mean()
    policies = np.abs(panel(nominal, 0)[-1] - panel(nominal, 1)[-1]).mean()
    assert worlds > 2
    assert policies > 2


def test_a_gif_of_foreign_policies_which_begin_alike(runs):
    (runs / "elsewhere.py").write_text(
        "import numpy as np\n"
        "def still(observations):\n    return np.zeros((len(observations), 3))\n"
        "def jump(observations):\n    return np.ones((len(observations), 3))\n"
    )
    path = os.pathsep.join([str(runs), os.environ.get("PYTHONPATH", "")])
    policies = ("--policy", "elsewhere:still", "elsewhere:jump", "--env", "Hopper")
    done = command(runs, *policies, "--out", "clip.gif", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    frames, _ = read_gif(runs / "clip.gif")
    # Hopper acts every 0.008 s: a frame every fourth step, and the last one.
    assert frames.shape == (1 + STEPS // 4 + 1, HEIGHT + 3 * LINE, 2 * WIDTH, 3)
    still, jump = panel(frames, 0), panel(frames, 1)
    np.testing.assert_array_equal(still[0], jump[0])
    assert np.abs(still[-1] - jump[-1]).mean() > 2


@pytest.mark.parametrize("backend", ["off", "nonsense"])
def test_without_graphics_the_remedy_is_named(runs, backend):
    done = command(runs, "HalfCheetah-ddpg-vanilla-s0", "--out", "no.gif", MUJOCO_GL=backend)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"MUJOCO_GL={backend}" in line
    assert "set MUJOCO_GL=egl before" in line
    assert "libegl1" in line
    assert not (runs / "no.gif").exists()


def test_where_egl_is_missing_it_is_to_be_installed(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "egl")
    said = str(_nothing_can_be_drawn(ImportError("no EGL")))
    assert "The remedy: install EGL" in said
    assert "apt-get install libegl1" in said
    assert "set MUJOCO_GL" not in said
