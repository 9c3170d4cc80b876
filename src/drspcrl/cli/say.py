"""What commands print: names as they are, without what a terminal or Rich would obey."""

from typing import Any

from drspcrl.display import literal_console, printable


def say(text: object) -> None:
    """Print one line, at once, in which no name can colour, hide or break anything."""
    print(printable(text), flush=True)


def console() -> Any:
    """A Rich console that takes every text literally."""
    return literal_console()
