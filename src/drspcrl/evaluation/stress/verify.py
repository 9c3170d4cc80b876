"""What the search found, played again with episodes that it never saw.

The nearest failing world is the least of many noisy measurements, so its own episodes flatter it.
Here a world fails only if its mean return is a standard error below the limit, over K more
episodes; one that does not is followed outwards on its ray until it does. Parameters alone that
are said to fail nearer than that are played again the same way, so that no world that is said to
fail lies nearer than the nearest one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from drspcrl.evaluation.stress.ledger import Ledger
from drspcrl.evaluation.stress.search import Side
from drspcrl.evaluation.stress.space import Space

ROUNDS, POINTS = 3, 4
COST, LEAST_COST = 1 + ROUNDS * POINTS, 1 + POINTS
"""Worlds that one ray takes at most, and with the coarsest sections alone."""
Limits = Callable[[np.ndarray], np.ndarray]
"""From the nominal returns of some episodes to the least that each of them must return."""


@dataclass
class Verifier:
    """Plays worlds with K episodes of its own.

    Attributes:
        space: what is searched.
        ledger: plays worlds.
        seeds: the episodes' seeds, the same in every world.
        limits: the least that each episode must return, [K].
    """

    space: Space
    ledger: Ledger
    seeds: Sequence[int]
    limits: np.ndarray

    @classmethod
    def begin(
        cls, space: Space, ledger: Ledger, seeds: Sequence[int], limits: Limits
    ) -> "Verifier":
        """Play the nominal world, from which the limit follows."""
        nominal = ledger.play(np.zeros((1, space.size)), seeds)[0][0]
        return cls(space, ledger, seeds, limits(nominal))

    def cost(self, worlds: int) -> int:
        """Episodes that so many worlds take."""
        return worlds * len(self.seeds)

    def fails(self, points: np.ndarray) -> np.ndarray:
        """Whether worlds [n, d] fail by more than a standard error, [n]."""
        above = self.ledger.play(points, self.seeds)[0] - self.limits
        error = above.std(axis=1, ddof=1) / np.sqrt(above.shape[1])
        return above.mean(axis=1) + error < 0

    def outwards(self, point: np.ndarray, furthest: float, last: int) -> np.ndarray | None:
        """A world if it fails, else the first beyond it that does, None up to the furthest.

        Args:
            point: the world, [d].
            furthest: a distance.
            last: how many episodes may have been played at the end; `LEAST_COST` worlds are played.
        """
        if self.fails(point[None])[0]:
            return point
        near = float(self.space.distance(point))
        if not near < furthest:
            return None
        radii = np.geomspace(near, furthest, POINTS + 1)[1:]
        return self._first(point / near, near, radii, last)

    def inwards(self, point: np.ndarray, last: int) -> np.ndarray | None:
        """The first failing world on the way to a point, None if the point itself holds.

        Args:
            point: the world, [d].
            last: how many episodes may have been played at the end.
        """
        far = float(self.space.distance(point))
        return self._first(point / far, 0.0, np.linspace(0.0, far, POINTS + 1)[1:], last)

    def _first(
        self, direction: np.ndarray, holds: float, radii: np.ndarray, last: int
    ) -> np.ndarray | None:
        """Where a ray first fails, by ever finer sections."""
        fails = None
        for _ in range(ROUNDS):
            if self.ledger.played + self.cost(POINTS) > last:
                break
            failing = np.flatnonzero(self.fails(self._on_ray(direction, radii)))
            first = int(failing[0]) if failing.size else len(radii)
            if first < len(radii):
                fails = radii[first]
            elif fails is None:
                return None
            holds = radii[first - 1] if first else holds
            radii = np.linspace(holds, fails, POINTS + 2)[1:-1]
        return None if fails is None else self._on_ray(direction, np.array([fails]))[0]

    def _on_ray(self, direction: np.ndarray, radii: np.ndarray) -> np.ndarray:
        return self.space.at(np.tile(direction, (len(radii), 1)), radii)


@dataclass(frozen=True)
class Verified:
    """The nearest failing world and the parameters alone, after they were played again.

    Attributes:
        nearest: the nearest world that fails, None if none does within the reach.
        sides: the parameters alone, with the crossings that were corrected.
        complete: whether every world that was said to fail nearer could be played again.
    """

    nearest: np.ndarray | None
    sides: tuple[Side, ...]
    complete: bool


def verify(
    verifier: Verifier,
    candidate: np.ndarray | None,
    sides: Sequence[Side],
    reach: float,
    budget: int,
) -> Verified:
    """Play the candidate again, then the parameters that are said to fail nearer, nearest first.

    Args:
        verifier: plays worlds.
        candidate: the nearest failing world of the search.
        sides: the parameters alone.
        reach: how far a failing world is looked for.
        budget: episodes, at least those of `COST` worlds.
    """
    space, ledger = verifier.space, verifier.ledger
    last, checked = ledger.played + budget, list(sides)
    nearest = None if candidate is None else verifier.outwards(candidate, reach, last)
    for k in sorted(_crossing(sides), key=lambda k: sides[k].crossing or 0.0):
        side = sides[k]
        near = np.inf if nearest is None else float(space.distance(nearest))
        if side.crossing is None or side.crossing >= near:
            break
        if _along(nearest, side):
            checked[k] = replace(side, crossing=near)
            continue
        if ledger.played + verifier.cost(LEAST_COST) > last:
            return Verified(nearest, tuple(checked), complete=False)
        point = np.zeros(space.size)
        point[side.coordinate] = side.sign * side.crossing
        found = verifier.outwards(point, side.furthest, last)
        reached = None if found is None else float(space.distance(found))
        checked[k] = replace(side, crossing=reached)
        if reached is not None and reached < near:
            nearest = found
    return Verified(nearest, tuple(checked), complete=True)


def _crossing(sides: Sequence[Side]) -> list[int]:
    return [k for k, side in enumerate(sides) if side.crossing is not None]


def _along(point: np.ndarray | None, side: Side) -> bool:
    """Whether a world is that parameter alone, in that direction."""
    if point is None or np.count_nonzero(point) != 1:
        return False
    return bool(point[side.coordinate] * side.sign > 0)
