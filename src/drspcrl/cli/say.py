"""What commands print: names as they are, without what a terminal or Rich would obey."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from drspcrl.display import literal_console, printable


def say(text: object) -> None:
    """Print one line, at once, in which no name can colour, hide or break anything."""
    print(printable(text), flush=True)


def console() -> Any:
    """A Rich console that takes every text literally."""
    return literal_console()


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
