"""A table as data: the form in between results and Markdown, LaTeX or CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from drspcrl.statistics import Estimate, ranks


@dataclass(frozen=True)
class Number:
    """A cell: an estimate and its rank in its column's section (1 is bold, 2 underlined)."""

    estimate: Estimate
    rank: int | None = None
    kind: Literal["decimal", "percent", "count"] = "decimal"


@dataclass(frozen=True)
class Column:
    """A column of numbers: its heading, and the heading it shares with its neighbours."""

    label: str
    group: str = ""


@dataclass(frozen=True)
class Row:
    """One row: its heads (task, method, ...) and its numbers."""

    heads: tuple[str, ...]
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Table:
    """A table with a caption; rows with the same first head form a section."""

    name: str
    caption: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def ranked(estimates: Sequence[Sequence[Estimate]]) -> list[tuple[Number, ...]]:
    """Rank every column of a section: [rows][columns] of estimates to numbers with ranks."""
    by_column = [
        ranks({str(i): row[column].value for i, row in enumerate(estimates)})
        for column in range(len(estimates[0]) if estimates else 0)
    ]
    return [
        tuple(Number(e, by_column[column].get(str(i))) for column, e in enumerate(row))
        for i, row in enumerate(estimates)
    ]


def seeds_text(estimates: Sequence[Estimate]) -> str:
    """The number of seeds behind a row, a range where cells differ."""
    counts = sorted({estimate.n for estimate in estimates})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def value_text(number: Number) -> str:
    """The value alone, as it is printed; "–" where it is missing."""
    if number.estimate.value != number.estimate.value:
        return "–"
    if number.kind == "percent":
        return f"{100 * number.estimate.value:+.1f}%".replace("-", "−")
    if number.kind == "count":
        return f"{number.estimate.value:.0f} of {number.estimate.n}"
    return decimal(number.estimate.value)


def interval_text(number: Number) -> str:
    """The half-width, or both ends where the interval is not symmetric; "" where none is known."""
    estimate = number.estimate
    if not estimate.has_interval:
        return ""
    if number.kind == "percent":
        return f"{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}".replace("-", "−")
    return decimal(estimate.half_width)


def decimal(value: float) -> str:
    """One decimal as in the paper; three significant ones where the value is small."""
    text = f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.3g}"
    return text.replace("-", "−")
