"""What a grid would do, told before it does anything."""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from drspcrl.display import counted
from drspcrl.experiments.cost import Rate, Timing, needs, rate_of
from drspcrl.experiments.manifest import Manifest, Piece
from drspcrl.training.memory import MemoryEstimate, readable


@dataclass(frozen=True)
class Row:
    """One piece of a plan.

    Attributes:
        piece: the piece.
        needs: memory and disk of the whole piece.
        rate: how fast it will train.
    """

    piece: Piece
    needs: MemoryEstimate
    rate: Rate

    @property
    def seconds(self) -> float:
        """How long it takes from its beginning, training alone."""
        if self.piece.trained:
            return 0.0
        steps = self.piece.population.size * self.piece.population.steps
        return steps / self.rate.steps_per_second


def timings(manifest: Manifest) -> list[Timing]:
    """How long the trained pieces of a grid took."""
    return [
        Timing(p.env, p.algorithm, p.size * p.steps, piece.seconds)
        for piece in manifest.pieces.values()
        for p in [piece.population]
        if piece.trained and piece.seconds > 0
    ]


def rows_of(
    pieces: Iterable[Piece], known: list[Timing], given: float | None, gpu: bool
) -> list[Row]:
    """The rows of a plan.

    Raises:
        InputError: an unknown task.
    """
    return [
        Row(piece, needs(piece.population), rate_of(piece.population, given, known, gpu))
        for piece in pieces
    ]


def describe(rows: list[Row], jobs: int, where: str = "") -> list[str]:
    """A plan in lines.

    Args:
        rows: its pieces.
        jobs: pieces at a time.
        where: on what machines, in words.
    """
    table = [("piece", "state", "methods", "seeds", "runs", "steps", "time", "memory", "disk")]
    table += [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    return lines + _totals(rows, jobs, where)


def _cells(row: Row) -> tuple[str, ...]:
    population = row.piece.population
    return (
        row.piece.name,
        row.piece.state,
        str(len(population.methods)),
        ",".join(map(str, population.seeds)),
        str(population.size),
        f"{population.steps:,}",
        duration(row.seconds),
        readable(row.needs.replay + row.needs.learning),
        readable(row.needs.disk),
    )


def _totals(rows: list[Row], jobs: int, where: str) -> list[str]:
    waiting = [row for row in rows if not row.piece.trained]
    runs = Counter(state for row in rows for state in row.piece.runs.values())
    memory = sorted((row.needs.replay + row.needs.learning for row in waiting), reverse=True)
    disk = readable(sum(row.needs.disk for row in rows))
    total = duration(_makespan([row.seconds for row in waiting], jobs))
    told = "; ".join(dict.fromkeys(row.rate.source for row in waiting)) or "all is trained"
    at_once = f"{jobs} pieces at a time" if jobs > 1 else "one piece at a time"
    return [
        f"{counted(sum(runs.values()), 'run')}: "
        + ", ".join(f"{count} {state}" for state, count in sorted(runs.items())),
        f"training takes {total} from the beginning, {where or at_once}, without evaluation "
        f"({told})",
        f"memory {readable(sum(memory[:jobs]))} at most, disk {disk}",
    ]


def _makespan(seconds: Iterable[float], places: int) -> float:
    """When all is over if each piece, in its order, begins where a place is free first."""
    ends = [0.0] * places
    for one in seconds:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:
        return f"{seconds:.0f}s"
    minutes = seconds / 60
    return f"{minutes:.0f}m" if minutes < 90 else f"{minutes / 60:.1f}h"
