"""Work for processes of their own, which must be able to import it."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

from drspcrl.evaluation.parallel import in_processes


def some_die(folders: Sequence[Path], threads: int) -> Iterator[SimpleNamespace]:
    """Work that says how many threads it got, and ends its process at a folder named `deadly`."""
    for folder in folders:
        if folder.name == "deadly":
            os._exit(3)
        yield SimpleNamespace(path=folder, threads=threads)


def endless(folders: Sequence[Path], threads: int) -> Iterator[SimpleNamespace]:
    """Work that tells which process it is in and then does not end."""
    yield SimpleNamespace(path=folders[0], process=os.getpid())
    while True:
        time.sleep(0.05)


def read_and_be_killed(sender) -> None:
    """A reader that tells of its processes and is then killed without warning."""
    results = in_processes([Path("a"), Path("b")], 2, 2, endless)
    sender.send([next(results).process for _ in range(2)])
    os.kill(os.getpid(), signal.SIGKILL)
