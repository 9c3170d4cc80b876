"""Pieces in processes of this machine: one that crashes takes nothing else down."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from drspcrl.experiments.cost import available_memory
from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.files import make_folder, open_regular
from drspcrl.training.stopping import Stop

LOGS = "logs"
WORKER = (sys.executable, "-m", "drspcrl.experiments.worker")
_PATIENCE = 60.0  # seconds beyond the time limit before a piece is told once more


@dataclass
class Child:
    """A process that works at a task, and keeps an eye on whoever started it.

    It reads its task from its standard input; when whoever started it is gone, however it went, the
    input ends and the process stops with a checkpoint.

    Attributes:
        task: the task.
        process: the process.
        log: the file that it prints to.
        log_start: where in that file its own lines begin.
        begun: when it began, by the monotonic clock.
        asked: whether it was asked to stop; asked twice, it ends without a checkpoint.
    """

    task: Task
    process: subprocess.Popen[str]
    log: Path
    log_start: int
    begun: float
    asked: bool = False

    @classmethod
    def start(
        cls,
        task: Task,
        program: Sequence[str] = WORKER,
        environment: Mapping[str, str] = os.environ,
    ) -> "Child":
        """Start it; what it prints goes to the log of its piece."""
        log = Path(task.out) / LOGS / f"{task.piece}.log"
        make_folder(log.parent)
        with os.fdopen(open_regular(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            start = file.seek(0, os.SEEK_END)
            process = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env=environment,
                # Ctrl-C in a terminal reaches a whole group; it is passed on once, by us.
                start_new_session=True,
            )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it is gone already; its outcome will say so
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
        return cls(task, process, log, start, time.monotonic())

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """Ask it to stop with a checkpoint; the second time to stop at once."""
        self.asked = True
        self.process.terminate()

    def end(self) -> None:
        """Have it stop with a checkpoint, and wait for that."""
        if not self.asked:
            self.stop()
        self.process.wait()

    def outcome(self) -> Outcome:
        """Wait for its end: its own words, or why it has none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        told = self.process.stdout.read()  # to its end, which is the process's
        code = self.process.wait()
        self.process.stdout.close()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        seconds = time.monotonic() - self.begun
        try:
            found = json.loads(told)
            return Outcome(self.task.piece, found["status"], str(found["error"]), seconds)
        except (ValueError, KeyError, TypeError):
            pass
        if code == -signal.SIGTERM:
            return Outcome(self.task.piece, "interrupted", "ended by SIGTERM", seconds)
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = _last_line(self.log, self.log_start)
        return Outcome(self.task.piece, "failed", f"{how}: {last}" if last else how, seconds)


def shared_gpu(jobs: int) -> dict[str, str]:
    """The environment, in which JAX takes a fair share of a GPU unless the user says otherwise."""
    environment = dict(os.environ)
    if jobs > 1:  # alone it takes three quarters
        environment.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.75 / jobs:.3f}")
    return environment


class LocalEngine(Engine):
    """Starts a process for each task, a few at a time.

    Args:
        jobs: how many at a time.
        stop: tells when to stop.
        program: what the processes run, a task's JSON on its input.
    """

    def __init__(self, jobs: int, stop: Stop, program: Sequence[str] = WORKER):
        self._jobs, self._stop, self._program = jobs, stop, program
        self.threads = 0 if jobs == 1 else max(1, usable_cores() // jobs)

    def memory(self, device: str) -> float | None:
        """See `Engine`."""
        found = available_memory(device)
        return None if found is None else found / self._jobs

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """See `Engine`."""
        waiting, running = deque(tasks), list[Child]()
        told = False
        try:
            while running or (waiting and not self._stop.now):
                while waiting and len(running) < self._jobs and not self._stop.now:
                    running.append(self._start(waiting.popleft()))
                    yield Outcome(running[-1].task.piece, "running")
                if not told and (self._stop.signal is not None or self._overdue()):
                    told = True
                    for one in running:
                        one.stop()
                for one in [one for one in running if one.ended]:
                    running.remove(one)
                    yield one.outcome()
                time.sleep(0.05)
        finally:
            for one in running:
                one.stop()
            for one in running:
                one.outcome()

    def _overdue(self) -> bool:
        left = self._stop.left
        return left is not None and left < -_PATIENCE

    def _start(self, task: Task) -> Child:
        task = replace(task, time_limit=self._stop.left)
        return Child.start(task, self._program, shared_gpu(self._jobs))


def usable_cores() -> int:
    """The cores that this process may use; simulations say the same, and take longer to load."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1


def _last_line(log: Path, start: int) -> str:
    with os.fdopen(open_regular(log), "rb") as file:
        file.seek(max(start, log.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return " ".join(lines[-1].split())[:300] if lines else ""
