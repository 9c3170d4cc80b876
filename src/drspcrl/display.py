"""What a user or a file gave, put into a message: short, on one line, safe on a terminal."""

import math
import reprlib
import time
from collections import deque
from collections.abc import Callable
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


def clock(seconds: float) -> str:
    """A duration as on a clock: `0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Pace:
    """Estimates the time left from the newer half of the time since the first report.

    What comes before the first report, such as compiling, does not count.

    Args:
        total: how much there is to do.
        now: the clock, in seconds.
    """

    def __init__(self, total: float, now: Callable[[], float] = time.monotonic):
        self._total, self._now = total, now
        self._points: deque[tuple[float, float]] = deque()
        self._begun = 0.0

    def left(self, done: float) -> float | None:
        """Seconds left where so much is done; None before that can be said."""
        now, points = self._now(), self._points
        if not points:
            self._begun = now
        points.append((now, done))
        while len(points) > 2 and points[1][0] <= (self._begun + now) / 2:
            points.popleft()
        if done >= self._total:
            return 0.0
        then, before = points[0]
        return (now - then) * (self._total - done) / (done - before) if done > before else None


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
