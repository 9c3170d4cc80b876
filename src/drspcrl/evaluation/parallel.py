"""An evaluation in several processes, and how far it is: a bar on a terminal, lines elsewhere."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from drspcrl.display import printable, shown
from drspcrl.envs.simulator import usable_cores
from drspcrl.errors import InputError

Show = Literal["bar", "lines"]
_SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    """Receives every episode that is over."""

    def __call__(self, steps: int, episodes: int = 1) -> None:
        """Episodes are over that took so many steps together."""
        ...


@contextmanager
def progress(total: int, title: str, show: Show | None) -> Iterator[Progress]:
    """Show how many of `total` episodes are over, and the steps per second.

    Args:
        total: Number of episodes.
        title: What is evaluated.
        show: `bar` draws on a terminal and is silent elsewhere; `lines` writes a line now and then
            where there is no terminal; None shows nothing.
    """
    if show is None or (show == "bar" and not sys.stderr.isatty()):
        yield lambda steps, episodes=1: None
    elif sys.stderr.isatty():
        with _bar(total, title) as advance:
            yield advance
    else:
        yield _lines(total, title)


@contextmanager
def _bar(total: int, title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("episodes  {task.fields[rate]:,.0f} steps/s"),
        TimeRemainingColumn(),
    )
    begin, steps_done = time.monotonic(), 0
    # Lines printed meanwhile are put above the bar, unless they go into a file or a pipe.
    console, together = Console(stderr=True), sys.stdout.isatty()
    with Progress(*columns, console=console, redirect_stdout=together) as bar:
        task = bar.add_task(escape(printable(title)), total=total, rate=0.0)

        def advance(steps: int, episodes: int = 1) -> None:
            nonlocal steps_done
            steps_done += steps
            rate = steps_done / max(1e-9, time.monotonic() - begin)
            bar.update(task, advance=episodes, rate=rate)

        yield advance


def _lines(total: int, title: str) -> Progress:
    begin = latest = time.monotonic()
    done = steps_done = 0

    def advance(steps: int, episodes: int = 1) -> None:
        nonlocal latest, done, steps_done
        done, steps_done = done + episodes, steps_done + steps
        now = time.monotonic()
        if now - latest >= _SECONDS_BETWEEN_LINES or done == total:
            latest = now
            rate = steps_done / max(1e-9, now - begin)
            left = (now - begin) * (total - done) / max(1, done)
            told = "" if done >= total else f", about {_duration(left)} left"
            print(
                f"{printable(title)}: {done} of {total} episodes, {rate:,.0f} steps/s{told}",
                file=sys.stderr,
                flush=True,
            )

    return advance


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


Work = Callable[..., Iterator[Any]]
"""`work(folders, threads=…)`: a result for each folder, with its `path`."""

Spread = Callable[..., Iterator[Any]]
"""`spread(folders, work=…)`: what `work` gives, or (folder, reason), as they come."""


def processes_for(jobs: int, runs: int, threads: int) -> int:
    """How many processes: as many as asked for, 0 for one per core, never more than runs.

    Raises:
        InputError: a number that is no number of processes.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 0:
        raise InputError(f"jobs is {shown(jobs)}; give a number of processes, 0 for one per core")
    return max(1, min(jobs or threads or usable_cores(), runs))


def in_processes(
    folders: Sequence[Path], processes: int, threads: int, work: Work
) -> Generator[Any]:
    """The results of all folders as they come.

    A process that dies takes nothing else down. Processes end with whoever reads their results.

    Args:
        folders: What is shared out among the processes.
        processes: How many.
        threads: Threads of all of them together, 0 for all usable cores.
        work: What each of them does; it must be a function that a new process can import.

    Yields:
        What `work` yields; (folder, reason) for each folder whose process died before it was done.
    """
    each = max(1, (threads or usable_cores()) // processes)
    open_ends: dict[Any, _Share] = {}
    try:
        for k in range(processes):
            share = _Share.begin(folders[k::processes], each, work)
            open_ends[share.results] = share
        while open_ends:
            for end in wait(list(open_ends)):
                share = open_ends[end]
                try:
                    result = share.results.recv()
                except EOFError:
                    del open_ends[end]
                    yield from share.lost()
                else:
                    share.waiting.remove(result.path)
                    yield result
    finally:
        for share in open_ends.values():
            share.process.terminate()
            share.process.join()


class _Share(NamedTuple):
    """A process, where its results come from, and the folders that it still owes."""

    process: Any
    results: Connection
    waiting: list[Path]

    @classmethod
    def begin(cls, folders: Sequence[Path], threads: int, work: Work) -> "_Share":
        # A fresh interpreter: threads of a simulation that runs here would not survive a fork.
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        arguments = there, work, list(folders), threads
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        there.close()  # so that the pipe ends with the process
        return cls(process, here, list(folders))

    def lost(self) -> list[tuple[Path, str]]:
        """What a process that is over has not done."""
        self.process.join()
        reason = f"the process that evaluated it ended with code {self.process.exitcode}"
        return [(folder, reason) for folder in self.waiting]


def _work(results: Connection, work: Work, folders: list[Path], threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it, and tells of it once
    threading.Thread(target=_follow_the_parent, daemon=True).start()
    for result in work(folders, threads=threads):
        results.send(result)


def _follow_the_parent() -> None:
    """End when whoever started this does, however that ended."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
