"""What is known of a cluster without one: addresses, a missing Ray, and where a machine works."""

import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from drspcrl.cli import main
from drspcrl.errors import InputError
from drspcrl.experiments import ray_engine
from drspcrl.experiments.cluster import SCRATCH, Machine, at_folders, connected, workplace
from drspcrl.experiments.engine import Task
from drspcrl.experiments.ray_engine import Need, unfit
from drspcrl.files import mark
from drspcrl.runfolder.checkpoint import FolderLock, Store
from drspcrl.training.stopping import Stop
from drspcrl.versions import versions_of


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.pop("RAY_ADDRESS", None)
    os.environ.pop(SCRATCH, None)


@pytest.fixture
def nobody() -> str:
    """An address where nobody answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def test_a_missing_ray_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'drspcrl\[ray\]', or use --engine local"):
        connected(None).__enter__()


@pytest.mark.parametrize("address", ["ray://head:10001", "head", ":6379", "head:port", "head:"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InputError, match="give host:port of the cluster's head"):
        connected(address).__enter__()


def test_an_address_of_the_environment_counts(monkeypatch, nobody):
    os.environ["RAY_ADDRESS"] = nobody
    with pytest.raises(InputError, match=f"no Ray cluster answers at '{nobody}'"):
        connected(None).__enter__()


@pytest.mark.parametrize(
    "command",
    [
        ["grid", "quick", "--out", "OUT"],
        ["evaluate", "RUNS"],
        ["stress", "zoo:Hopper-ppo-vanilla", "--out", "OUT"],
    ],
)
def test_every_command_says_so_in_one_line(command, nobody, tmp_path, capsys):
    runs = Path(__file__).parents[2] / "zoo"
    given = [str(tmp_path / "out") if word == "OUT" else word for word in command]
    given = [str(runs) if word == "RUNS" else word for word in given]
    assert main([*given, "--engine", "ray", "--address", nobody]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no Ray cluster answers" in line
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize("command", ["grid quick --out OUT", "evaluate zoo", "stress zoo"])
def test_an_address_is_for_ray(command, tmp_path, capsys):
    given = command.replace("OUT", str(tmp_path / "out")).split()
    assert main([*given, "--address", "here:6379"]) == 2
    assert "add --engine ray" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_machine_that_sees_a_folder_works_in_it(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    with mark(out) as sign:
        with workplace(out, str(sign)) as (place, shared):
            assert shared
            assert place == out
        os.environ[SCRATCH] = str(tmp_path / "scratch")
        with workplace(out, str(sign)) as (place, shared):
            assert not shared
            assert place.parent == tmp_path / "scratch" / f"drspcrl-{os.getuid()}"
            (place / "file").write_text("kept")
        assert not place.exists()
    assert not list(out.iterdir())
    del os.environ[SCRATCH]
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with workplace(out, str(sign)) as (place, shared):
        assert not shared
        assert place.parent == tmp_path / f"drspcrl-{os.getuid()}"


def test_what_killed_workers_left_is_removed_and_nothing_else(tmp_path):
    os.environ[SCRATCH] = str(tmp_path)
    mine, base = tmp_path / "work-thesis", tmp_path / f"drspcrl-{os.getuid()}"
    base.mkdir(mode=0o700)
    left, held, new = (base / f"drspcrl-work-{name}" for name in ("left", "held", "new"))
    unmarked = [base / "drspcrl-work-mine", base / "work-mine", base / "mine"]
    for folder in (mine, left, held, new, *unmarked):
        (folder / "run").mkdir(parents=True)
    for folder in (left, held, new, mine):
        (folder / ".drspcrl-work").touch()
    lock = FolderLock(held / "run")
    (base / "drspcrl-work-link").symlink_to(mine)
    old = time.time() - 1000
    for folder in (mine, left, held, *unmarked):
        os.utime(folder, (old, old))
    with workplace(tmp_path / "out", "nothing") as (place, _):
        kept = {held, new, base / "drspcrl-work-link", place, *unmarked}
        assert set(base.iterdir()) == kept
        os.utime(place, (old, old))  # a folder that is at work stays, however old
        with workplace(tmp_path / "out", "nothing"):
            assert place.is_dir()
    assert (mine / "run").is_dir()
    lock.release()


def _open_to_all(base: Path) -> None:
    base.mkdir()
    base.chmod(0o755)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda base: base.symlink_to(base.parent), "is not a folder of user"),
        (lambda base: base.write_text(""), "is not a folder of user"),
        (_open_to_all, "is open to other users; chmod 700"),
    ],
)
def test_a_scratch_folder_of_somebody_else_is_refused(tmp_path, make, reason):
    os.environ[SCRATCH] = str(tmp_path)
    make(tmp_path / f"drspcrl-{os.getuid()}")
    with pytest.raises(InputError, match=reason):
        workplace(tmp_path / "out", "nothing").__enter__()


def test_placement_by_need():
    machine = Machine("a", cores=16, gpus=1, memory=2e9)
    assert Need(16, 1.0, 2_000_000_000, 0).fits(machine)
    for need in (Need(17, 0, 0, 0), Need(1, 2.0, 0, 0), Need(1, 0, 3_000_000_000, 0)):
        assert not need.fits(machine)
    assert str(Need(8, 0.5, 2**30, 0)) == "8 cores, 0.5 GPU and 1 GiB of memory"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"versions": {"mujoco": "0.1"}}, "has mujoco .*, and the grid is run with 0.1"),
        ({"disk": 10**18}, "free in .*, of .* needed"),
        ({"task": {"storage": "/no/such/folder"}}, "does not see the storage /no/such/folder"),
    ],
)
def test_a_machine_that_is_not_fit_says_why(tmp_path, change, reason):

    job = {"versions": versions_of(["mujoco"]), "disk": 1, "task": {"storage": None}, **change}
    assert bool(unfit(job, tmp_path)) == bool(reason)
    assert re.search(reason, unfit(job, tmp_path))


# Saves for longer than it is until it is looked again whether to stop; a second signal ends it.
SAVES = """
import json, signal, sys, time
task = json.loads(sys.stdin.readline())
def save(number, frame):
    signal.signal(number, signal.SIG_DFL)
    time.sleep(1.5)
    print(json.dumps({"status": "interrupted", "error": "saved"}))
    sys.exit()
signal.signal(signal.SIGTERM, save)
print("ready", file=sys.stderr, flush=True)
time.sleep(60)
"""


def test_a_piece_is_asked_to_stop_once(tmp_path, monkeypatch, tiny_grid):
    (population,) = tiny_grid().populations
    log = tmp_path / "logs" / "one.log"
    monkeypatch.setattr(ray_engine, "_PAUSE", 0.2)
    monkeypatch.setattr(ray_engine, "_stopping", lambda desk: bool(log.read_text()))
    task = Task("one", population.plain(), str(tmp_path))
    job = {"program": (sys.executable, "-c", SAVES), "jobs": 1, "cores": 1}
    (message,) = ray_engine._attend(job, task, True, None)
    assert message["outcome"]["error"] == "saved"
    assert message["outcome"]["status"] == "interrupted"


@pytest.fixture
def job(tmp_path, tiny_grid):
    """What a machine of a cluster is given for a piece, without a cluster."""
    (population,) = tiny_grid().populations
    out = tmp_path / "out"
    out.mkdir()
    with mark(out) as sign:
        task = asdict(Task("one", population.plain(), str(out)))
        runs = list(population.folders())
        yield {"task": task, "runs": runs, "sign": str(sign), "disk": 1, "versions": {}}


@pytest.fixture
def no_ray(monkeypatch):
    """Ray on a machine named `here`; what is put is its own reference."""
    ray = SimpleNamespace(
        get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "here"),
        put=lambda content: content,
        exceptions=import_module("ray.exceptions"),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    return ray


def test_a_machine_without_a_scratch_folder_is_not_fit(tmp_path, job, no_ray):
    os.environ[SCRATCH] = str(tmp_path)
    (tmp_path / f"drspcrl-{os.getuid()}").symlink_to(tmp_path)
    (message,) = ray_engine.carry_out(job, None)
    assert message["machine"] == "here"
    assert "cannot be worked on" in message["unfit"]
    assert "is not a folder of user" in message["unfit"]


WITHOUT = """
import sys
sys.modules["drspcrl"] = None
import ray.cloudpickle
from types import SimpleNamespace
ray.get_runtime_context = lambda: SimpleNamespace(get_node_id=lambda: "there")
(message,) = ray.cloudpickle.loads(sys.stdin.buffer.read())({}, None)
print(message["machine"], message["unfit"])
"""


def test_a_machine_without_drspcrl_is_not_fit():
    cloudpickle = import_module("ray.cloudpickle")
    sent = cloudpickle.dumps(ray_engine._anywhere())
    told = subprocess.run([sys.executable, "-c", WITHOUT], input=sent, capture_output=True)
    assert told.returncode == 0, told.stderr
    assert re.search(rb"there .* cannot load drspcrl: ", told.stdout)


def test_nothing_is_packed_before_a_machine_asks_for_it(job, no_ray, monkeypatch):
    """Handing out a piece that is half done reads none of it."""
    sent, task = list[tuple](), Task(**job["task"])
    (Path(task.out) / job["runs"][0]).mkdir(parents=True)
    (Path(task.out) / job["runs"][0] / "metrics.csv").write_text("step")
    engine = ray_engine.RayEngine(Stop(None), threads=1)
    remote = SimpleNamespace(remote=lambda *given: sent.append(given))
    engine._ray, engine._gpu, engine._desk = no_ray, False, "desk"
    engine._remote = SimpleNamespace(options=lambda **options: remote)
    monkeypatch.setattr(no_ray, "put", pytest.fail)
    assert not list(engine._submit(task, {task.out: Path(job["sign"])}, [Machine("a", 4, 0, 1e12)]))
    ((found, desk),) = sent
    assert desk == "desk"
    assert found["runs"] == job["runs"]


def test_the_desk_offers_what_is_there(job, no_ray):
    desk, out = ray_engine._Desk(), Path(job["task"]["out"])
    assert desk.offer(job) == []
    (out / job["runs"][0]).mkdir(parents=True)
    (out / job["runs"][0] / "metrics.csv").write_text("step")
    assert desk.offer(job) == [{"files": {f"{job['runs'][0]}/metrics.csv": b"step"}}]
    desk.stop()
    assert desk.offer(job) is None
    with pytest.raises(InputError, match="does not see it"):
        desk.offer({**job, "sign": str(out / "gone")})


@pytest.mark.parametrize(
    ("error", "reason"),
    [("GetTimeoutError", "none was free for 120s"), ("WorkerCrashedError", "worker died")],
)
def test_a_gpu_that_does_not_answer_is_not_waited_for(no_ray, error, reason):
    asked = list[float]()

    def get(reference, timeout):
        asked.append(timeout)
        raise getattr(no_ray.exceptions, error)

    no_ray.get, no_ray.cancel = get, lambda reference: None
    no_ray.remote = lambda **options: lambda function: SimpleNamespace(remote=str)
    engine = ray_engine.RayEngine(Stop(None))
    engine._ray, engine._gpu = no_ray, True
    with pytest.raises(InputError, match=f"{reason}.*; free one, or give --memory"):
        engine.memory("gpu")
    assert asked == [120.0]


class NoRay:
    """As much of Ray as tasks at folders need, on this machine."""

    exceptions = SimpleNamespace(RayTaskError=ZeroDivisionError, RayError=ZeroDivisionError)

    def nodes(self):
        return [{"Alive": True, "NodeID": "a", "Resources": {"CPU": 2}}]

    def remote(self, **options):
        return lambda task: SimpleNamespace(remote=lambda *given: partial(task, *given))

    def put(self, message):
        return message

    def wait(self, waiting):
        return waiting[:1], waiting[1:]

    def get(self, task):
        return task()


@pytest.mark.parametrize("carried", [True, False])
def test_checkpoints_travel_to_a_copy_where_they_are_needed(tmp_path, monkeypatch, carried):
    os.environ[SCRATCH] = str(tmp_path / "scratch")
    monkeypatch.setattr("drspcrl.experiments.cluster.fetched", iter)
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    Store(run).write(7, {"loop": {"critic": np.ones(300_000, np.float32)}})

    def critic(folder, threads):
        assert folder != run
        has = (folder / "checkpoint").is_dir()
        return float(Store(folder).read(7).value("loop", "critic").sum()) if has else None

    ((folder, found),) = at_folders(NoRay(), [run], critic, checkpoints=carried)
    assert folder == run
    assert found == (300_000.0 if carried else None)


@pytest.mark.parametrize(("suite", "carried"), [("attacks", True), ("paper", False)])
def test_evaluate_carries_checkpoints_for_suites_that_ask_the_critic(suite, carried, monkeypatch):
    seen = []

    def spread_over(address, threads, checkpoints):
        seen.append(checkpoints)
        raise InputError("no cluster here")

    monkeypatch.setattr("drspcrl.experiments.cluster.spread_over", spread_over)
    zoo = str(Path(__file__).parents[2] / "zoo")
    assert main(["evaluate", zoo, "--suite", suite, "--engine", "ray"]) == 2
    assert seen == [carried]
