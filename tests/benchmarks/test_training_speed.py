"""The clock of `benchmarks/training_speed.py`, which all libraries are timed by."""

import io
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "training_speed.py"


class Clock:
    """A time that passes only when work is done."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_a_turn_pays_for_work_that_is_still_under_way():
    shared: dict = {}
    exec(runpy.run_path(str(PATH))["TURNS"], shared)
    clock, said = Clock(), io.StringIO()
    shared["time"] = clock
    shared["sys"] = SimpleNamespace(stdin=io.StringIO("3\n3\n"), exit=pytest.fail)
    shared["print"] = lambda *words, flush: said.write(" ".join(map(str, words)) + "\n")
    steps, queued = 0, 0

    def count() -> int:
        nonlocal queued
        clock.now += 2 * queued  # what was handed over and not waited for, two seconds each
        queued = 0
        return steps

    turns = shared["Turns"](count)
    turns.over()
    for _ in range(3):
        clock.now += 1
        steps, queued = steps + 10, 1
        turns.over()
    assert said.getvalue() == "ready\n30 5.0\n"
    steps += 1
    clock.now += 1
    turns.over()  # the second turn continues
    assert said.getvalue() == "ready\n30 5.0\n"
