"""Whole grids in processes of their own, killed and continued by the same command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from drspcrl.runfolder.runs import read_info, read_runs

LONG = 9_600  # seconds of training, in which a signal can come


def command(file: Path, out: Path, *options: str) -> list[str]:
    start = [sys.executable, "-m", "drspcrl", "grid", str(file), "--out", str(out)]
    return [*start, "--device", "cpu", "--no-report", *options]


def run(file: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{file.parent}:{os.environ.get('PYTHONPATH', '')}"}
    told = subprocess.run(
        command(file, out, *options), capture_output=True, text=True, env=environment, timeout=500
    )
    print(told.stdout, told.stderr)
    return told


def begin(file: Path, out: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a grid and wait for its first checkpoint; also the folder of a run."""
    grid = subprocess.Popen(command(file, out), stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 300
    while not (found := list(out.glob("*/*/checkpoint/step-*[1-9]*"))):
        assert time.monotonic() < end
        assert grid.poll() is None
        time.sleep(0.01)
    return grid, found[0].parent.parent


def assert_same(one: Path, two: Path) -> None:
    """Equal metrics, policies and evaluations."""
    runs, others = read_runs(one).runs, read_runs(two).runs
    assert [run.identity for run in runs] == [run.identity for run in others]
    assert len(runs) == 4
    for left, right in zip(runs, others, strict=True):
        assert left.status == right.status == "finished"
        for name in set(left.metrics) - {"steps_per_second"}:
            np.testing.assert_array_equal(left.metrics[name], right.metrics[name], err_msg=name)
        for file in ("policy.safetensors", "evaluation-noise.csv"):
            assert (left.path / file).read_bytes() == (right.path / file).read_bytes()


@pytest.fixture(scope="module")
def file(tmp_path_factory, tiny) -> Path:
    path = tmp_path_factory.mktemp("grids") / "tiny.yaml"
    path.write_text(tiny(steps=LONG))
    return path


@pytest.fixture(scope="module")
def straight(file, tmp_path_factory) -> Path:
    """A grid that nothing came in between."""
    out = tmp_path_factory.mktemp("straight")
    told = run(file, out, "--report")
    assert told.returncode == 0, told.stderr
    assert (out / "report" / "index.html").exists()
    return out


@pytest.mark.slow
def test_a_killed_grid_continues_with_the_same_command(file, straight, tmp_path):
    grid, folder = begin(file, tmp_path)
    grid.kill()
    grid.wait()
    assert grid.stdout is not None
    grid.stdout.close()
    # The same command at once: the orphan sees that its grid is gone, saves and leaves.
    told = run(file, tmp_path)
    assert told.returncode == 0
    assert "0 of 1 pieces are done already" in told.stdout
    assert len(read_info(folder)["resumed"]) == 1
    assert_same(straight, tmp_path)


@pytest.mark.slow
def test_a_signal_stops_a_grid_with_checkpoints(file, straight, tmp_path):
    grid, folder = begin(file, tmp_path)
    grid.send_signal(signal.SIGTERM)
    told, _ = grid.communicate(timeout=300)
    assert grid.returncode == 128 + signal.SIGTERM
    assert "4 runs interrupted" in told
    assert "the same command continues" in told
    assert read_info(folder)["status"] == "interrupted"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {piece["state"] for piece in manifest["pieces"]} == {"interrupted"}
    assert run(file, tmp_path).returncode == 0
    assert_same(straight, tmp_path)


@pytest.mark.slow
def test_a_time_limit_leaves_the_rest_for_the_next_command(file, straight, tmp_path):
    codes = [run(file, tmp_path, "--time-limit", "4s").returncode]
    while codes[-1] == 3 and len(codes) < 20:
        codes.append(run(file, tmp_path, "--time-limit", "25s").returncode)
    assert codes[0] == 3
    assert codes[-1] == 0
    assert_same(straight, tmp_path)


@pytest.mark.slow
def test_training_first_and_evaluating_later_is_the_same(file, straight, tmp_path):
    told = run(file, tmp_path, "--no-evaluate")
    assert told.returncode == 0
    assert "4 runs finished" in told.stdout
    assert not list(tmp_path.rglob("evaluation*"))
    told = run(file, tmp_path)
    assert told.returncode == 0
    assert "4 runs evaluated" in told.stdout
    assert_same(straight, tmp_path)


@pytest.mark.slow
def test_what_a_storage_has_is_taken_up(file, straight, tmp_path):
    storage, out = tmp_path / "storage", tmp_path / "out"
    grid, _ = begin(file, storage)
    grid.send_signal(signal.SIGTERM)
    grid.communicate(timeout=300)
    assert run(file, out, "--storage", str(storage)).returncode == 0
    assert all("going on at step" in log.read_text() for log in (out / "logs").iterdir())
    assert_same(straight, out)


BREAKS = """
import sys, time
from pathlib import Path

def curriculum(setup):
    from drspcrl.curricula import Constant
    return Constant(0.0)

if sys.argv[0].endswith("worker.py"):  # not in the grid's own process
    tries = Path(__file__).with_suffix(".tries")
    count = int(tries.read_text()) if tries.exists() else 0
    tries.write_text(str(count + 1))
    if count < LIMIT:
        raise RuntimeError(f"broken in attempt {count + 1}")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "code"), [(1, 0), (99, 1)])
def test_a_piece_that_fails_is_retried_and_reported(tiny, tmp_path, limit, code):
    file = tmp_path / "two.yaml"
    good = tiny(steps=256, methods="vanilla", seeds="0")
    broken = tiny(steps=256, methods="'breaks:curriculum'", seeds="1")
    file.write_text(
        good.replace("training:", broken.split("groups:\n")[1].split("training:")[0] + "training:")
    )
    (tmp_path / "breaks.py").write_text(BREAKS.replace("LIMIT", str(limit)))
    out = tmp_path / "out"
    told = run(file, out, "--retries", "1")
    assert told.returncode == code
    assert "breaks cannot be imported: RuntimeError: broken in attempt 1" in told.stdout
    pieces = json.loads((out / "manifest.json").read_text())["pieces"]
    assert [piece["state"] for piece in pieces] == ["evaluated", "failed" if code else "evaluated"]
    assert pieces[1]["attempts"] == 2
    if code:
        assert "breaks cannot be imported: RuntimeError: broken in attempt 2" in told.stdout


@pytest.mark.slow
def test_a_grid_in_worlds_is_trained_evaluated_and_gone_on_with(tiny, tmp_path):
    file, out = tmp_path / "mine.yaml", tmp_path / "out"
    (tmp_path / "tank.yaml").write_text("{sensor: 0.1, sensor_unit: absolute}")
    text = tiny(methods="vanilla, self_paced")
    file.write_text(text.replace("{log_every", "{worlds: tank.yaml, log_every"))
    assert run(file, out, "--time-limit", "1s").returncode == 3
    assert run(file, out).returncode == 0
    found = read_runs(out).runs
    assert [(r.status, r.uncertainty, sorted(r.evaluations)) for r in found] == [
        ("finished", "worlds", ["noise"])
    ] * 4
    assert {r.config["worlds"]["sensor"] for r in found} == {0.1}
    assert "1 of 1 pieces are done already" in run(file, out).stdout
    (tmp_path / "tank.yaml").write_text("{sensor: 0.2, sensor_unit: absolute}")
    changed = run(file, out)
    assert changed.returncode == 2
    assert "no longer asks for in this way" in changed.stderr
