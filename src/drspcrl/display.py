"""What a user or a file gave, put into a message: short, on one line, safe on a terminal."""

import math
import reprlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 100  # characters of one value in a message
_BITS = 128  # larger whole numbers are told by their number of digits


class _Short(reprlib.Repr):
    """`repr` that never unfolds more than a few levels and entries, however large the value."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = _MOST

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() <= _BITS:
            return repr(x)
        # Python itself refuses to write numbers of more than 4,300 digits.
        return f"a whole number of {int(x.bit_length() * math.log10(2)) + 1} digits"


_SHORT = _Short()


def shown(value: Any) -> str:
    """The value as `repr` writes it, cut where it is deep or long."""
    return _cut(_SHORT.repr(value), 2 * _MOST)


def brief(text: object, most: int = 400) -> str:
    """A text from elsewhere, such as another error's message, on one line of bounded length."""
    return printable(_cut(" ".join(str(text).split()), most))


def printable(text: object) -> str:
    """The text with control characters and others that nobody sees written as escapes.

    A terminal would obey them: colours, titles, text that runs backwards. All other characters
    stay, so that a path can still be copied.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text)
    )


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 run`, `12 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def literal_console() -> "Console":
    """A Rich console that takes every text literally: no markup, and nothing a terminal obeys."""
    from rich import console

    class Literal(console.Console):
        def print(self, *objects: Any, **options: Any) -> None:
            literal = (_lines(one) if isinstance(one, str) else one for one in objects)
            super().print(*literal, **options)

    return Literal(markup=False, emoji=False, highlight=False)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} … {text[-most // 3 :]}"
