"""How often a method is best, or among the best two, over the cells of a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from drspcrl.errors import InputError


@dataclass(frozen=True)
class Wins:
    """Cells in which a method is best or in the top two.

    Attributes:
        best: Cells where no other method has a higher mean.
        top_two: Cells where at most one other method has a higher mean.
        n: Cells compared: those that the method and at least one other have.
        method: How it was counted.
    """

    best: int
    top_two: int
    n: int
    method: str = "cells by rank of the mean over seeds"


def ranks(means: Mapping[str, float]) -> dict[str, int]:
    """Rank of each method's mean, 1 the best; equal means share a rank, missing ones have none."""
    present = {name: mean for name, mean in means.items() if isfinite(mean)}
    return {
        name: 1 + sum(other > mean for other in present.values()) for name, mean in present.items()
    }


def count_wins(cells: Iterable[Mapping[str, float]], method: str = "self_paced") -> Wins:
    """Count the cells where `method` is best and where it is in the top two.

    Args:
        cells: For each cell the mean of every method in it; nan where it is missing.
        method: The method to count for.
    """
    cells = list(cells)
    if not any(method in cell for cell in cells):
        raise InputError(f"no cell has the method {method!r}; name one that the table has")
    ranked = [ranks(cell) for cell in cells]
    own = [cell[method] for cell in ranked if method in cell and len(cell) > 1]
    return Wins(sum(rank == 1 for rank in own), sum(rank <= 2 for rank in own), len(own))
