"""When to stop before the end: a time limit, SIGTERM, SIGINT, a callback."""

import math
import re
import signal
import threading
import time
from types import FrameType
from typing import Any

from drspcrl.display import shown
from drspcrl.errors import InputError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """As a context it turns the first signal into a request, so that the step at hand is finished.

    A second signal does what it would have done without it. Outside of the main thread, where
    Python allows no signal handlers, only the time limit counts.

    Args:
        seconds: the time limit, None for none.

    Attributes:
        signal: the signal that came, None for none.
        asked: whether a callback asked for it.
    """

    def __init__(self, seconds: float | None):
        self._end = None if seconds is None else time.monotonic() + seconds
        self.signal: signal.Signals | None = None
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    @property
    def now(self) -> bool:
        """Whether to stop."""
        return self.signal is not None or self.asked or self.out_of_time

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is reached."""
        return self.left is not None and self.left <= 0

    @property
    def left(self) -> float | None:
        """Seconds until the time limit, below 0 after it; None where there is none."""
        return None if self._end is None else self._end - time.monotonic()

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *exception: Any) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


_DURATION = re.compile(r"(?:(?P<h>[\d.]+)h)?(?:(?P<m>[\d.]+)m)?(?:(?P<s>[\d.]+)s?)?")


def seconds(name: str, given: float | str | None) -> float | None:
    """A duration from seconds or a text such as 90s, 9m, 1h30m.

    Raises:
        InputError: it is none, or not above 0.
    """
    if given is None:
        return None
    try:
        total = _total(given) if isinstance(given, str) else float(given)
    except (ValueError, TypeError, OverflowError):
        total = math.nan
    if isinstance(given, bool) or not 0 < total < math.inf:
        raise InputError(
            f"{name} is {shown(given)}; give seconds above 0 or a text such as 90s, 9m or 1h30m"
        )
    return total


def _total(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if not found or not any(found.groups()):
        return math.nan
    units = {"h": 3600.0, "m": 60.0, "s": 1.0}
    return sum(float(found[unit]) * size for unit, size in units.items() if found[unit])
