"""Evaluate in several processes, each with its share of the runs and of the cores.

Between two steps of the simulations policies are asked for actions, in one thread, for which the
other cores would wait; with several processes some simulate while others ask.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from drspcrl.display import shown
from drspcrl.envs.simulator import usable_cores
from drspcrl.errors import InputError

Work = Callable[..., Iterator[Any]]
"""`work(folders, threads=…)`: a result for each folder, with its `path`."""


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
