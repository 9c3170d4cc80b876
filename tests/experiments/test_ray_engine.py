"""Grids on a cluster of three nodes, whose workers, nodes, drivers and head are killed.

Whatever comes in between, policies and evaluations equal those of an undisturbed run here, byte for
byte.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mini_cluster import MiniCluster, mini_cluster

from drspcrl.cli import main
from drspcrl.errors import InputError
from drspcrl.experiments.engine import Outcome, Task
from drspcrl.experiments.grid import Grid
from drspcrl.experiments.ray_engine import RayEngine
from drspcrl.experiments.run import Options, Summary, run_grid
from drspcrl.runfolder.runs import read_runs
from drspcrl.training.stopping import Stop

pytestmark = [
    pytest.mark.slow,
    # Ray leaves sockets and processes to the interpreter's end.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

STEPS = 6_400  # seconds of training, in which things can happen
SAME = {"device": "cpu", "threads": 1, "max_members": 2, "report": False}


@pytest.fixture(scope="module")
def file(tmp_path_factory, tiny) -> Path:
    path = tmp_path_factory.mktemp("grids") / "tiny.yaml"
    path.write_text(tiny(steps=STEPS))
    return path


@pytest.fixture(scope="module")
def grid(tiny_grid) -> Grid:
    return tiny_grid(steps=STEPS)


@pytest.fixture(scope="module")
def straight(grid, tmp_path_factory) -> Path:
    """A grid that nothing came in between, on this machine."""
    out = tmp_path_factory.mktemp("straight")
    assert not run_grid(grid, out, Options(**SAME), print).failed
    return out


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """Three nodes that do not see the grid's folder."""
    with mini_cluster(tmp_path_factory.mktemp("carried"), 3) as cluster:
        yield cluster


def on_ray(
    grid: Grid,
    out: Path,
    cluster: MiniCluster,
    heard: Callable[[str], object] = print,
    **options,
) -> Summary:
    def say(line: str) -> None:
        print(line)
        heard(line)

    given = {"engine": "ray", "address": cluster.address, **SAME, **options}
    return run_grid(grid, out, Options(**given), say)


def assert_same(one: Path, two: Path) -> None:
    """Equal metrics, policies and evaluations."""
    runs, others = read_runs(one).runs, read_runs(two).runs
    assert [run.identity for run in runs] == [run.identity for run in others]
    assert len(runs) == 4
    for left, right in zip(runs, others, strict=True):
        assert left.status == right.status == "finished"
        for name in set(left.metrics) - {"steps_per_second"}:
            np.testing.assert_array_equal(left.metrics[name], right.metrics[name], err_msg=name)
        for name in ("policy.safetensors", "evaluation-noise.csv"):
            assert (left.path / name).read_bytes() == (right.path / name).read_bytes()


def once_trained(grid: Grid, out: Path, act: Callable[[str], None]) -> Callable[[str], None]:
    """Acts on the first piece that begins, when it has a checkpoint beyond the first one."""
    begun = list[str]()

    def watch(piece: str) -> None:
        (population,) = [one for one in grid.populations[0].pieces(2) if one.name == piece]
        folders = [out / run / "checkpoint" for run in population.folders()]
        while not all(list(folder.glob("step-*[1-9]*")) for folder in folders):
            time.sleep(0.02)
        act(piece)

    def heard(line: str) -> None:
        piece, _, rest = line.partition(":")
        if "begin or continue" in rest and not begun:
            begun.append(piece)
            threading.Thread(target=watch, args=(piece,), daemon=True).start()

    return heard


def test_an_undisturbed_grid_equals_the_local_one(grid, straight, carried, tmp_path):
    assert not on_ray(grid, tmp_path, carried).failed
    assert_same(straight, tmp_path)
    logs = [path.read_text() for path in (tmp_path / "logs").iterdir()]
    assert len(logs) == 2
    assert all("runs of 6,400 steps" in log for log in logs)
    # Neither a mark here nor a copy there is left.
    assert not list(tmp_path.glob(".drspcrl-aside-*"))
    assert not list(carried.folder.glob("node-*/drspcrl-*/*"))
    # The same command finds nothing to do, here and there.
    lines = list[str]()
    on_ray(grid, tmp_path, carried, lines.append)
    run_grid(grid, tmp_path, Options(**SAME), lines.append)
    assert lines == ["2 of 2 pieces are done already"] * 2


def test_a_killed_worker_loses_nothing(grid, straight, carried, tmp_path):
    lines = list[str]()
    act = once_trained(grid, tmp_path, carried.kill_worker)
    summary = on_ray(grid, tmp_path, carried, lambda line: (lines.append(line), act(line)))
    assert not summary.failed
    assert sorted(piece.attempts for piece in summary.pieces) == [1, 2]
    assert sum("begins again elsewhere" in line for line in lines) == 1
    assert any("going on at step" in p.read_text() for p in (tmp_path / "logs").iterdir())
    assert_same(straight, tmp_path)


def test_a_lost_node_loses_nothing(grid, straight, carried, tmp_path):
    act = once_trained(grid, tmp_path, carried.lose_node_of)
    summary = on_ray(grid, tmp_path, carried, act)
    carried.add()
    assert not summary.failed
    assert sorted(piece.attempts for piece in summary.pieces) == [1, 2]
    assert any("going on at step" in p.read_text() for p in (tmp_path / "logs").iterdir())
    assert_same(straight, tmp_path)


def command(file: Path, out: Path, *options: str) -> list[str]:
    start = [sys.executable, "-m", "drspcrl", "grid", str(file), "--out", str(out), "--no-report"]
    return [*start, "--device", "cpu", "--max-members", "2", *options]


def begin(file: Path, out: Path, cluster: MiniCluster, cores: int = 1) -> subprocess.Popen[str]:
    """Start a grid and wait for a checkpoint of it that has come home."""
    engine = ("--engine", "ray", "--address", cluster.address)
    words = command(file, out, *engine, "--threads", str(cores))
    driver = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 400
    while not list(out.glob("*/*/checkpoint/step-*[1-9]*")):
        assert time.monotonic() < end
        assert driver.poll() is None, driver.communicate()[0]
        time.sleep(0.02)
    return driver


def test_a_killed_driver_begins_again(file, grid, straight, carried, tmp_path):
    driver = begin(file, tmp_path, carried)
    driver.kill()
    driver.communicate()
    summary = on_ray(grid, tmp_path, carried)
    assert not summary.failed
    assert_same(straight, tmp_path)


def test_the_only_machine_that_is_large_enough_is_waited_for(file, straight, carried, tmp_path):
    node = carried.add(cores=2)
    driver = begin(file, tmp_path, carried, cores=2)
    carried.ray.remove_node(node, allow_graceful=False)
    time.sleep(5.0)
    assert driver.poll() is None
    node = carried.add(cores=2)
    told, _ = driver.communicate(timeout=400)
    carried.ray.remove_node(node)
    assert driver.returncode == 0, told
    assert "begins again elsewhere" in told
    assert_same(straight, tmp_path)


def test_a_signal_stops_it_and_the_local_engine_continues(file, grid, straight, carried, tmp_path):
    driver = begin(file, tmp_path, carried)
    driver.send_signal(signal.SIGTERM)
    told, _ = driver.communicate(timeout=300)
    assert driver.returncode == 128 + signal.SIGTERM, told
    assert "the same command continues" in told
    steps = {path.name for path in tmp_path.glob("*/*/checkpoint/step-*")}
    lines = list[str]()
    assert not run_grid(grid, tmp_path, Options(**SAME), lines.append).failed
    assert "0 of 2 pieces are done already" in lines
    assert len(steps) > 1
    assert any("going on at step" in p.read_text() for p in (tmp_path / "logs").iterdir())
    assert_same(straight, tmp_path)


def test_ray_continues_what_the_local_engine_began(grid, straight, carried, tmp_path):
    heard = once_trained(grid, tmp_path, lambda piece: os.kill(os.getpid(), signal.SIGTERM))
    assert run_grid(grid, tmp_path, Options(**SAME), heard).signal == signal.SIGTERM
    assert not on_ray(grid, tmp_path, carried).failed
    assert any("going on at step" in p.read_text() for p in (tmp_path / "logs").iterdir())
    assert_same(straight, tmp_path)


def test_checkpoints_in_a_storage(grid, straight, carried, tmp_path):
    out, storage = tmp_path / "out", tmp_path / "storage"
    storage.mkdir()
    act = once_trained(grid, storage, carried.kill_worker)
    summary = on_ray(grid, out, carried, act, storage=str(storage))
    assert not summary.failed
    assert max(piece.attempts for piece in summary.pieces) == 2
    assert not list(out.glob("*/*/checkpoint"))
    assert len(list(storage.glob("*/*/checkpoint"))) == 4
    assert_same(straight, out)


# Does what the name of its piece says, as a worker would.
PROGRAM = """
import json, os, signal, sys, time
task = json.loads(sys.stdin.readline())
kind = task["evaluation"]["kind"]
print("at work", file=sys.stderr, flush=True)
if kind == "crash":
    os.kill(os.getpid(), signal.SIGKILL)
status, error = ("failed", "no such thing") if kind == "fail" else ("done", "")
if kind.startswith("long"):
    begun = time.time()
    time.sleep(6)
    error = json.dumps([begun, time.time()])
print(json.dumps({"piece": task["piece"], "status": status, "error": error}))
"""


def scripted(grid: Grid, out: Path, kinds: list[str]) -> list[Task]:
    (whole,) = grid.populations
    pairs = zip(kinds, whole.pieces(1), strict=False)
    return [Task(k, p.plain(), str(out), evaluation={"kind": k}) for k, p in pairs]


def ends(engine: RayEngine, tasks: list[Task]) -> dict[str, Outcome]:
    return {o.piece: o for o in engine.run(tasks) if o.status not in ("running", "lost")}


def test_what_fails_for_its_own_reason_takes_nothing_down(grid, carried, tmp_path):
    program = (sys.executable, "-c", PROGRAM)
    with RayEngine(Stop(None), address=carried.address, threads=1, program=program) as engine:
        found = ends(engine, scripted(grid, tmp_path, ["crash", "good", "fail", "fine"]))
        assert {name: outcome.status for name, outcome in found.items()} == {
            "crash": "failed",
            "good": "done",
            "fail": "failed",
            "fine": "done",
        }
        assert found["crash"].error == "killed by SIGKILL: at work"
        assert found["fail"].error == "no such thing"
        # The next attempts are on other machines, for as long as there are any.
        ends(engine, scripted(grid, tmp_path, ["fail"]))
        assert len(engine.failed_on["fail"]) == 2


def test_cores_are_held_to_the_end(grid, carried, tmp_path):
    """Three cores for four tasks: the last begins when another has ended."""
    program = (sys.executable, "-c", PROGRAM)
    with RayEngine(Stop(None), address=carried.address, threads=1, program=program) as engine:
        found = ends(engine, scripted(grid, tmp_path, [f"long {k}" for k in range(4)]))
    times = sorted(json.loads(outcome.error) for outcome in found.values())
    assert times[3][0] >= min(end for _, end in times[:3])


def test_what_no_machine_is_large_enough_for_is_reported(grid, carried, tmp_path):
    with RayEngine(Stop(None), address=carried.address, threads=64) as engine:
        found = ends(engine, scripted(grid, tmp_path, ["good"]))
        assert found["good"].status == "failed"
        assert "no machine of the cluster that is fit has 64 cores" in found["good"].error
    with (
        pytest.raises(InputError, match="no machine of the Ray cluster has a GPU"),
        RayEngine(Stop(None), address=carried.address, device="gpu"),
    ):
        pass


FULL = """
import errno, os, sys

if "drspcrl.experiments.worker" in sys.orig_argv:  # where a piece is worked at
    made, room = os.write, 100_000

    def write(descriptor, content):
        global room
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if name.startswith(os.environ["DRSPCRL_SCRATCH"]):
            room -= len(content)
            if room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return made(descriptor, content)

    os.write = write
"""


def test_a_full_disk_on_one_node_costs_that_node_alone(grid, straight, carried, tmp_path):
    """Two larger nodes, one with a disk that becomes full, for pieces that need two cores."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(FULL)
    path = f"{modules}:{os.environ.get('PYTHONPATH', '')}"
    nodes = [carried.add({"PYTHONPATH": path}, cores=2), carried.add(cores=2)]
    lines = list[str]()
    summary = on_ray(grid, tmp_path / "out", carried, lines.append, threads=2)
    for node in nodes:
        carried.ray.remove_node(node)
    assert not summary.failed
    (told,) = [line for line in lines if "begins again elsewhere" in line]
    assert "No space left on device" in told
    assert sorted(piece.attempts for piece in summary.pieces) == [1, 2]
    assert_same(straight, tmp_path / "out")


def test_a_node_without_drspcrl_costs_that_node_alone(grid, carried, tmp_path):
    """Two larger nodes, one that lacks the package, for tasks that need two cores."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['drspcrl'] = None\n")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    nodes = [carried.add({"PYTHONPATH": path}, cores=2), carried.add(cores=2)]
    program = (sys.executable, "-c", PROGRAM)
    with RayEngine(Stop(None), address=carried.address, threads=2, program=program) as engine:
        found = list(engine.run(scripted(grid, tmp_path, ["long 1", "long 2", "good"])))
    for node in nodes:
        carried.ray.remove_node(node)
    lost = [outcome for outcome in found if outcome.status == "lost"]
    assert lost
    assert all("cannot load drspcrl" in outcome.error for outcome in lost)
    assert sum(outcome.status == "done" for outcome in found) == 3
    assert not [outcome for outcome in found if outcome.status == "failed"]


def test_evaluate_and_stress_on_a_cluster(straight, carried, tmp_path, capfd):
    runs = tmp_path / "runs"
    shutil.copytree(straight, runs)
    for file in runs.rglob("evaluation*"):
        file.unlink()
    cluster = ["--engine", "ray", "--address", carried.address]
    evaluate = ["evaluate", str(runs), "--suite", "noise", "--episodes", "2"]
    assert main([*evaluate, *cluster]) == 0
    assert capfd.readouterr().out.count("evaluated /") == 4
    assert_same(straight, runs)
    assert main([*evaluate, *cluster]) == 0
    assert capfd.readouterr().out.count("kept /") == 4
    run = sorted(runs.glob("*/*-s3"))[0]
    asked = ["stress", str(run), "--budget", "400", "--parameters", "sensor", "--episodes", "2"]
    found = []
    for name, options in {"here": [], "there": cluster}.items():
        code = main([*asked, "--out", str(tmp_path / name), *options])
        found.append((code, (tmp_path / name / "stress.json").read_bytes()))
    assert found[0] == found[1]
    assert found[0][0] == 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_restarted_head_and_a_shared_folder(file, grid, straight, tmp_path):
    """Nodes that see the grid's folder; the cluster ends with its head, and another begins."""
    port, out = free_port(), tmp_path / "out"
    with mini_cluster(tmp_path / "first", 2, carried=False, port=port) as cluster:
        driver = begin(file, out, cluster)
        cluster.ray.remove_node(cluster.ray.head_node, allow_graceful=False)
        told, _ = driver.communicate(timeout=300)
        assert driver.returncode not in (0, 2), told
    with mini_cluster(tmp_path / "second", 2, carried=False, port=port) as cluster:
        act = once_trained(grid, out, cluster.kill_worker)
        summary = on_ray(grid, out, cluster, act)
    assert not summary.failed
    assert any("going on at step" in p.read_text() for p in (out / "logs").iterdir())
    assert_same(straight, out)
