"""Processes that end well, fail, crash and are told to stop; without training anything."""

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest

from drspcrl.experiments import run
from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.experiments.local import LOGS, LocalEngine
from drspcrl.experiments.manifest import Manifest
from drspcrl.experiments.run import Conductor, Options, Summary, closing_words
from drspcrl.experiments.selection import Selection
from drspcrl.training.stopping import Stop

# Does what the name of its piece says, as a worker would.
PROGRAM = """
import json, os, signal, sys, time
task = json.loads(sys.stdin.readline())
name = task["piece"]
def tell(status, error=""):
    print(json.dumps({"piece": name, "status": status, "error": error}))
    sys.exit()
if name == "wait":
    signal.signal(signal.SIGTERM, lambda *_: tell("interrupted", "saved"))
print("at work", file=sys.stderr, flush=True)
if name == "good":
    tell("done")
if name == "crash":
    print("out of memory", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
if name == "exit":
    sys.exit(7)
if name == "fail":
    tell("failed", "no such thing")
if name == "limit":
    tell("done", repr(task["time_limit"]))
if name in ("wait", "deaf"):
    time.sleep(60)
"""


def outcomes(tmp_path, names, jobs=1, stop=None) -> dict[str, Outcome]:
    engine = LocalEngine(jobs, stop or Stop(None), (sys.executable, "-c", PROGRAM))
    tasks = [Task(name, {}, str(tmp_path)) for name in names]
    return {o.piece: o for o in engine.run(tasks) if o.status != "running"}


def test_a_crash_takes_nothing_down(tmp_path):
    found = outcomes(tmp_path, ["crash", "good", "exit", "fail"], jobs=2)
    assert {name: outcome.status for name, outcome in found.items()} == {
        "crash": "failed",
        "good": "done",
        "exit": "failed",
        "fail": "failed",
    }
    assert found["crash"].error == "killed by SIGKILL: out of memory"
    assert found["exit"].error == "exit code 7: at work"
    assert found["fail"].error == "no such thing"
    assert (tmp_path / LOGS / "good.log").read_text() == "at work\n"


def test_a_signal_stops_pieces_and_starts_no_more(tmp_path):
    with Stop(None) as stop:
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        found = outcomes(tmp_path, ["wait", "deaf", "good"], jobs=2, stop=stop)
    assert found["wait"].status == "interrupted"
    assert found["wait"].error == "saved"
    assert found["deaf"].status == "interrupted"
    assert "good" not in found


def test_a_time_limit_is_handed_on(tmp_path):
    found = outcomes(tmp_path, ["limit"], stop=Stop(50.0))
    assert 40 < float(found["limit"].error) < 50
    assert outcomes(tmp_path, ["good"], stop=Stop(1e-9)) == {}


def test_a_closed_engine_leaves_no_process(tmp_path):
    engine = LocalEngine(1, Stop(None), (sys.executable, "-c", PROGRAM))
    running = engine.run([Task("wait", {}, str(tmp_path))])
    assert next(running).status == "running"
    log = tmp_path / LOGS / "wait.log"
    while not log.read_text():  # it listens to signals from then on
        time.sleep(0.02)
    begun = time.monotonic()
    running.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 30


def test_a_machine_is_not_asked_for_memory_that_is_given(tmp_path, tiny_grid, monkeypatch):
    class Busy(Engine):
        def memory(self, device):
            pytest.fail("asked")

        def run(self, tasks):
            return iter(())

    monkeypatch.setattr(run, "_engine", lambda options, stop: nullcontext(Busy()))
    summary = run.run_grid(tiny_grid(), tmp_path, Options(memory=1e12, report=False), print)
    assert [piece.state for piece in summary.pieces] == ["pending"]


class Scripted(Engine):
    """Gives each piece the outcomes that it is told, one by one."""

    def __init__(self, script: dict[str, list[Any]]):
        self.script, self.order = script, list[str]()

    def run(self, tasks):
        for task in tasks:
            status = "lost"
            while status == "lost":
                self.order.append(task.piece)
                yield Outcome(task.piece, "running")
                status = self.script[task.piece].pop(0)
                broke = status in ("failed", "lost")
                yield Outcome(task.piece, status, "it broke" if broke else "", 2.0)


@pytest.fixture
def two(tmp_path, tiny_grid):
    """A manifest with two pieces."""
    grid = tiny_grid()
    with Manifest.held(tmp_path) as manifest:
        manifest.follow(grid, Selection(), {p.group: 2 for p in grid.populations})
        yield grid, manifest, list(manifest.pieces)


def conduct(two, script, retries=2):
    grid, manifest, _ = two
    engine, lines = Scripted(script), []
    options = Options(retries=retries)
    conductor = Conductor(manifest, grid, options, engine, Stop(None), lines.append)
    conductor.run(list(manifest.pieces.values()))
    return engine, lines


def test_what_fails_is_tried_again_after_the_others(two):
    _, manifest, (one, other) = two
    engine, lines = conduct(two, {one: ["failed", "done"], other: ["done"]})
    assert engine.order == [one, other, one]
    piece = manifest.pieces[one]
    assert (piece.attempts, piece.error, piece.seconds) == (2, "", 4.0)
    assert any("(attempt 1 of 3): it broke; see " in line for line in lines)


def test_what_fails_too_often_is_given_up_and_reported(two):
    _, manifest, (one, other) = two
    engine, _ = conduct(two, {one: ["failed"] * 3, other: ["done"]})
    assert engine.order == [one, other, one, one]
    piece = Manifest.read(manifest.out).pieces[one]
    assert (piece.state, piece.attempts, piece.error) == ("failed", 3, "it broke")
    summary = Summary(tuple(manifest.pieces.values()), None, evaluate=True)
    assert summary.failed == (piece,)
    assert f"failed: {one} (3 attempts): it broke" in closing_words(summary)


def test_a_piece_that_somebody_stopped_is_tried_again(two):
    _, _, (one, other) = two
    engine, _ = conduct(two, {one: ["interrupted", "done"], other: ["done"]}, retries=1)
    assert engine.order == [one, other, one]


def test_what_is_lost_begins_again_by_itself(two):
    _, manifest, (one, other) = two
    engine, lines = conduct(two, {one: ["lost", "done"], other: ["done"]})
    assert engine.order == [one, one, other]
    assert manifest.pieces[one].attempts == 2
    assert f"{one}: begins again elsewhere: it broke" in lines
