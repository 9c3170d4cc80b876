"""What a training leaves, for `train` and `resume`."""

from collections.abc import Iterable
from pathlib import Path

from drspcrl.cli.say import say


def show(folders: Iterable[Path]) -> None:
    """Print the run folders; exit with code 1 if a run diverged."""
    from drspcrl.runfolder.runs import read_info

    failed = False
    for folder in folders:
        diverged = read_info(folder).get("status") == "diverged"
        failed |= diverged
        say(f"{folder} (diverged)" if diverged else folder)
    if failed:
        raise SystemExit(1)
