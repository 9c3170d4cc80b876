"""How far it is: a bar on a terminal, plain lines or nothing elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from drspcrl.display import printable

Show = Literal["bar", "lines"]
_SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    """Receives every episode that is over."""

    def __call__(self, steps: int, episodes: int = 1) -> None:
        """Episodes are over that took so many steps together."""
        ...


@contextmanager
def progress(total: int, title: str, show: Show | None) -> Iterator[Progress]:
    """Show how many of `total` episodes are over, and the steps per second.

    Args:
        total: Number of episodes.
        title: What is evaluated.
        show: `bar` draws on a terminal and is silent elsewhere; `lines` writes a line now and then
            where there is no terminal; None shows nothing.
    """
    if show is None or (show == "bar" and not sys.stderr.isatty()):
        yield lambda steps, episodes=1: None
    elif sys.stderr.isatty():
        with _bar(total, title) as advance:
            yield advance
    else:
        yield _lines(total, title)


@contextmanager
def _bar(total: int, title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("episodes  {task.fields[rate]:,.0f} steps/s"),
        TimeRemainingColumn(),
    )
    begin, steps_done = time.monotonic(), 0
    # Lines printed meanwhile are put above the bar, unless they go into a file or a pipe.
    console, together = Console(stderr=True), sys.stdout.isatty()
    with Progress(*columns, console=console, redirect_stdout=together) as bar:
        task = bar.add_task(escape(printable(title)), total=total, rate=0.0)

        def advance(steps: int, episodes: int = 1) -> None:
            nonlocal steps_done
            steps_done += steps
            rate = steps_done / max(1e-9, time.monotonic() - begin)
            bar.update(task, advance=episodes, rate=rate)

        yield advance


def _lines(total: int, title: str) -> Progress:
    begin = latest = time.monotonic()
    done = steps_done = 0

    def advance(steps: int, episodes: int = 1) -> None:
        nonlocal latest, done, steps_done
        done, steps_done = done + episodes, steps_done + steps
        now = time.monotonic()
        if now - latest >= _SECONDS_BETWEEN_LINES or done == total:
            latest = now
            rate = steps_done / max(1e-9, now - begin)
            left = (now - begin) * (total - done) / max(1, done)
            told = "" if done >= total else f", about {_duration(left)} left"
            print(
                f"{printable(title)}: {done} of {total} episodes, {rate:,.0f} steps/s{told}",
                file=sys.stderr,
                flush=True,
            )

    return advance


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"
