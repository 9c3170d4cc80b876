"""How a training goes: a live line per method on a terminal, plain lines otherwise."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from drspcrl.display import literal_console, printable

_PLAIN_SECONDS = 10.0
_HEADINGS = ("method", "steps", "return", "ε", "β", "steps/s", "left")


class Progress:
    """Shows where a population stands.

    Args:
        methods: the method of each member, in order.
        total: steps of each member.
        console: where to show it.
        first: the step that this part of the run begins at.
    """

    def __init__(
        self, methods: Sequence[str], total: int, console: Console | None = None, first: int = 0
    ):
        self._methods, self._total, self._first = list(methods), total, first
        self._console = console or literal_console()
        self._live = Live(console=self._console, auto_refresh=False)
        self._begun = self._shown = time.monotonic()
        self._returns = np.full(len(self._methods), math.nan)

    def __enter__(self) -> "Progress":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, rows: Sequence[Mapping[str, float]]) -> None:
        """The newest row of each member; without a terminal, a line every ten seconds at most."""
        fresh = np.array([row["episode_return"] for row in rows])
        self._returns = np.where(np.isnan(fresh), self._returns, fresh)
        step = int(rows[0]["step"])
        if self._console.is_terminal:
            self._live.update(self._table(step, rows), refresh=True)
            return
        now = time.monotonic()
        if now - self._shown >= _PLAIN_SECONDS or step >= self._total:
            self._shown = now
            for cells in self._lines(step, rows):
                pairs = zip(_HEADINGS, cells, strict=True)
                self._console.print(
                    "  ".join(f"{k} {v}" for k, v in pairs),
                    highlight=False,
                    markup=False,
                    soft_wrap=True,
                )

    def _table(self, step: int, rows: Sequence[Mapping[str, float]]) -> Table:
        table = Table(*_HEADINGS, box=None, pad_edge=False)
        for cells in self._lines(step, rows):
            table.add_row(*map(Text, cells))  # a method's name is no markup
        return table

    def _lines(self, step: int, rows: Sequence[Mapping[str, float]]) -> list[tuple[str, ...]]:
        elapsed = time.monotonic() - self._begun
        pace = elapsed / max(1, step - self._first)
        left = _clock(pace * (self._total - step)) if step < self._total else "done"
        lines = []
        for method in dict.fromkeys(self._methods):
            mine = [i for i, name in enumerate(self._methods) if name == method]
            epsilon, beta, speed = (
                _mean([rows[i].get(name, math.nan) for i in mine])
                for name in ("epsilon", "beta", "steps_per_second")
            )
            lines.append(
                (
                    printable(method),
                    f"{step:,}/{self._total:,}",
                    _number(_mean(self._returns[mine]), ".1f"),
                    _number(epsilon, ".3f"),
                    _number(beta, ".3g"),
                    _number(speed * len(mine), ",.0f"),
                    left,
                )
            )
        return lines


def _mean(values: Sequence[float] | np.ndarray) -> float:
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else math.nan


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
