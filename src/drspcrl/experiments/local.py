"""Pieces in processes of this machine: one that crashes takes nothing else down."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.files import make_folder, open_regular
from drspcrl.training.stopping import Stop

LOGS = "logs"
WORKER = (sys.executable, "-m", "drspcrl.experiments.worker")
_PATIENCE = 60.0  # seconds beyond the time limit before a piece is told once more


@dataclass(frozen=True)
class _Running:
    task: Task
    process: subprocess.Popen[str]
    log: Path
    log_start: int
    begun: float


class LocalEngine(Engine):
    """Starts a process for each task, a few at a time.

    Each process reads its task from its standard input and keeps an eye on it: when the grid is
    gone, however it went, the input ends and the process stops with a checkpoint.

    Args:
        jobs: how many at a time.
        stop: tells when to stop.
        program: what the processes run, a task's JSON on its input.
    """

    def __init__(self, jobs: int, stop: Stop, program: Sequence[str] = WORKER):
        self._jobs, self._stop, self._program = jobs, stop, program

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """See `Engine`."""
        waiting, running = deque(tasks), list[_Running]()
        told = False
        try:
            while running or (waiting and not self._stop.now):
                while waiting and len(running) < self._jobs and not self._stop.now:
                    running.append(self._start(waiting.popleft()))
                    yield Outcome(running[-1].task.piece, "running")
                if not told and (self._stop.signal is not None or self._overdue()):
                    told = True
                    for one in running:
                        one.process.terminate()
                for one in [one for one in running if one.process.poll() is not None]:
                    running.remove(one)
                    yield _outcome(one)
                time.sleep(0.05)
        finally:
            for one in running:
                one.process.terminate()
            for one in running:
                _outcome(one)

    def _overdue(self) -> bool:
        left = self._stop.left
        return left is not None and left < -_PATIENCE

    def _start(self, task: Task) -> _Running:
        log = Path(task.out) / LOGS / f"{task.piece}.log"
        make_folder(log.parent)
        task = replace(task, time_limit=self._stop.left)
        with os.fdopen(open_regular(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            start = file.seek(0, os.SEEK_END)
            process = subprocess.Popen(
                self._program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env=self._environment(),
                # Ctrl-C in a terminal reaches a whole group; it is passed on once, by us.
                start_new_session=True,
            )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it is gone already; its outcome will say so
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
        return _Running(task, process, log, start, time.monotonic())

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self._jobs > 1:  # JAX takes three quarters of a GPU unless told
            share = f"{0.75 / self._jobs:.3f}"
            environment.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", share)
        return environment


def _outcome(one: _Running) -> Outcome:
    """What an ended process leaves: its own words, or why it has none."""
    assert one.process.stdin is not None
    assert one.process.stdout is not None
    told = one.process.stdout.read()  # to its end, which is the process's
    code = one.process.wait()
    one.process.stdout.close()
    with suppress(BrokenPipeError):
        one.process.stdin.close()
    seconds = time.monotonic() - one.begun
    try:
        found = json.loads(told)
        return Outcome(one.task.piece, found["status"], str(found["error"]), seconds)
    except (ValueError, KeyError, TypeError):
        pass
    if code == -signal.SIGTERM:
        return Outcome(one.task.piece, "interrupted", "ended by SIGTERM", seconds)
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    last = _last_line(one.log, one.log_start)
    return Outcome(one.task.piece, "failed", f"{how}: {last}" if last else how, seconds)


def _last_line(log: Path, start: int) -> str:
    with open(log, "rb") as file:
        file.seek(max(start, log.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return " ".join(lines[-1].split())[:300] if lines else ""
