"""What commands print: names as they are, without what a terminal or Rich would obey."""

from typing import Any

from drspcrl.display import printable


def say(text: object) -> None:
    """Print one line, at once, in which no name can colour, hide or break anything."""
    print(printable(text), flush=True)


def console() -> Any:
    """A Rich console that takes every text literally."""
    from rich.console import Console

    class Literal(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            literal = (_lines(one) if isinstance(one, str) else one for one in objects)
            super().print(*literal, **options)

    return Literal(markup=False, emoji=False, highlight=False)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
