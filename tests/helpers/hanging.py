"""A test that would hang fails instead."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_hang(seconds: int = 60) -> Iterator[None]:
    """Raise TimeoutError where the main thread waits for ever, as an open of a FIFO does."""

    def fail(*_) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
