"""The search itself: each parameter alone, the nearest failing world, the worst world in reach.

All of it compares mean returns over the same K episodes (common random numbers).

    alone     along each axis: a coarse scan outwards, then bisection of the first crossing
    nearest   min |x| with return(x) < limit: CMA-ES over directions on a sphere whose radius is the
              distance of the nearest failing world so far; when a direction fails there, the
              crossing on its ray becomes the new radius. It begins where a linear return would have
              its nearest failing world: in the direction Σᵢ eᵢ/rᵢ, rᵢ the crossings alone.
    worst     min return(x) with |x| ≤ radius: CMA-ES inside the ball, from the nearest's direction
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from drspcrl.evaluation.stress.ledger import Ledger
from drspcrl.evaluation.stress.space import Space

if TYPE_CHECKING:
    from cmaes import CMA

SCAN = (0.25, 0.5, 0.75, 1.0)
"""Where along each axis is looked first, as shares of the reach."""
SHARE_ALONE = 0.4
"""At most this share of the budget goes into single parameters."""
HALVINGS = 12
RAY = (0.5, 0.75, 0.9, 0.97)
"""Where on a ray that fails at its end is looked for an earlier crossing."""
POLISH = 5
_RUN = 25  # generations from which on a search is worth beginning again elsewhere
RUNS = 3
_STALE = 20  # generations without progress after which it is begun again
LEADS = 8
"""Directions that are tried before the search for the worst world begins."""
FINALISTS = 5
"""Worlds among which the worst is chosen, by episodes of their own."""
_STREAM = 0x73747265
WIDTH = 0.6
"""How far the first generation strays from where it begins, in units of the radius."""


@dataclass(frozen=True)
class Side:
    """One parameter alone, in one direction.

    Attributes:
        coordinate: which.
        sign: +1 or −1.
        crossing: how far it may go until the return falls below the limit, None if further than
            was looked.
        furthest: how far was looked.
        slope: share of the allowed loss per tolerance, as far as was seen.
    """

    coordinate: int
    sign: int
    crossing: float | None
    furthest: float
    slope: float


@dataclass
class Search:
    """Worlds that were played with their mean returns, and what is to be found among them.

    Attributes:
        space: what is searched.
        ledger: plays worlds.
        seeds: the episodes' seeds, the same in every world.
        nominal: mean return in the simulator as it is.
        limit: the return below which a world counts as failing.
        reach: furthest distance at which a failing world is looked for.
        seed: of the search's own randomness.
    """

    space: Space
    ledger: Ledger
    seeds: Sequence[int]
    nominal: float
    limit: float
    reach: float
    seed: int
    points: list[np.ndarray] = field(default_factory=list)
    means: list[float] = field(default_factory=list)

    @property
    def population(self) -> int:
        """Worlds in one generation."""
        return population(self.space.size)

    def returns(self, points: np.ndarray) -> np.ndarray:
        """Mean returns [n] of worlds [n, d]."""
        means = self.ledger.play(points, self.seeds)[0].mean(axis=1)
        self.points += list(np.asarray(points, float))
        self.means += means.tolist()
        return means

    def cost(self, worlds: int) -> int:
        """Episodes that so many worlds take."""
        return worlds * len(self.seeds)

    def alone(self, budget: int) -> list[Side]:
        """How far each parameter may go alone, both ways, all of them side by side.

        Args:
            budget: episodes.
        """
        axes = axes_of(self.space, self.reach)
        ends = np.array([furthest for _, _, furthest in axes])
        halvings = max(1, min(HALVINGS, budget // self.cost(len(axes)) - len(SCAN)))
        holds, fails = np.zeros(len(axes)), np.full(len(axes), np.nan)
        slope = np.zeros(len(axes))
        for share in SCAN:
            rows = np.flatnonzero(np.isnan(fails))
            means = self._along(axes, rows, share * ends[rows])
            lost = (self.nominal - means) / (self.nominal - self.limit)
            slope[rows] = np.maximum(slope[rows], lost / (share * ends[rows]))
            fails[rows[means < self.limit]] = share * ends[rows[means < self.limit]]
            holds[rows[means >= self.limit]] = share * ends[rows[means >= self.limit]]
        rows = np.flatnonzero(np.isfinite(fails))
        for _ in range(halvings if rows.size else 0):
            middle = (holds[rows] + fails[rows]) / 2
            failing = self._along(axes, rows, middle) < self.limit
            fails[rows[failing]], holds[rows[~failing]] = middle[failing], middle[~failing]
        return [
            Side(k, sign, float(fails[i]) if np.isfinite(fails[i]) else None, far, float(slope[i]))
            for i, (k, sign, far) in enumerate(axes)
        ]

    def _along(
        self, axes: list[tuple[int, int, float]], rows: np.ndarray, radii: np.ndarray
    ) -> np.ndarray:
        if not rows.size:
            return np.zeros(0)
        points = np.zeros((len(rows), self.space.size))
        for point, row, radius in zip(points, rows, radii, strict=True):
            coordinate, sign, _ = axes[row]
            point[coordinate] = sign * radius
        return self.returns(points)

    def nearest(self, sides: Sequence[Side], budget: int) -> np.ndarray | None:
        """The nearest world found whose return is below the limit, None within the reach.

        Args:
            sides: the parameters alone.
            budget: episodes.
        """
        last = self.ledger.played + budget
        polish = self.cost(POLISH * len(RAY) + self.space.size)
        best = self._nearest_seen()
        lead = linear_guess(sides, self.space.size)
        best = self._try(self.space.directions(lead[None])[0], best, last)
        for search in self._runs(lead, last - polish):
            while self._affords(last - polish):
                radius = self.reach if best is None else float(self.space.distance(best))
                z = np.array([search.cma.ask() for _ in range(self.population)])
                directions = self.space.directions(z)
                means = self.returns(self.space.at(directions, radius))
                search.tell(z, means)
                found = self._try(directions[np.argmin(means)], best, last, float(means.min()))
                search.note(found is not best)
                best = found
                if search.over:
                    break
        return None if best is None else self._polished(self._pruned(best, last), last)

    def _nearest_seen(self) -> np.ndarray | None:
        failing = [p for p, m in zip(self.points, self.means, strict=True) if m < self.limit]
        return min(failing, key=self.space.distance) if failing else None

    def _try(
        self, direction: np.ndarray, best: np.ndarray | None, last: int, mean: float | None = None
    ) -> np.ndarray | None:
        """The better of the best so far and the first crossing seen in a direction."""
        radius = self.reach if best is None else float(self.space.distance(best))
        end = self.space.at(direction[None], radius)
        if not self._within(last, 1 + len(RAY)):
            return best
        mean = float(self.returns(end)[0]) if mean is None else mean
        if not mean < self.limit:
            return best
        rays = self.space.at(np.tile(direction, (len(RAY), 1)), radius * np.array(RAY))
        failing = np.flatnonzero(self.returns(rays) < self.limit)
        found = rays[failing[0]] if failing.size else end[0]
        closer = best is None or self.space.distance(found) < self.space.distance(best)
        return found if closer else best

    def _pruned(self, best: np.ndarray, last: int) -> np.ndarray:
        """The best without its smallest coordinates, as many as it fails without."""
        order = np.argsort(np.abs(best))[:-1]
        without = np.tile(best, (len(order), 1))
        for k in range(len(order)):
            without[k, order[: k + 1]] = 0.0
        if not len(order) or not self._within(last, len(order)):
            return best
        failing = np.flatnonzero(self.returns(without) < self.limit)
        return without[failing[-1]] if failing.size else best

    def _polished(self, best: np.ndarray, last: int) -> np.ndarray:
        """The first crossing on the ray to the best, by ever finer sections."""
        low, high = 0.0, 1.0
        shares = np.array([0.8, 0.9, 0.95, 0.98])
        for _ in range(POLISH):
            if not self._within(last, len(shares)) or high - low < 1e-4:
                break
            failing = np.flatnonzero(self.returns(shares[:, None] * best) < self.limit)
            first = int(failing[0]) if failing.size else len(shares)
            high = shares[first] if first < len(shares) else high
            low = shares[first - 1] if first else low
            shares = np.linspace(low, high, len(RAY) + 2)[1:-1]
        return high * best

    def worst(self, radius: float, lead: np.ndarray, budget: int) -> np.ndarray:
        """Candidates for the worst world within a radius, [FINALISTS, d] at most.

        Those with the lowest mean returns may owe them to luck in these episodes; where a run of
        CMA-ES ended is less lucky, since its mean averages over many worlds.

        Args:
            radius: in tolerances.
            lead: a direction to begin with, [d].
            budget: episodes.
        """
        last = self.ledger.played + budget - self.cost(RUNS)
        ends = []
        for search in self._runs(self._best_lead(lead, radius), last):
            lowest = np.inf
            while self._affords(last):
                z = np.array([search.cma.ask() for _ in range(self.population)])
                means = self.returns(self.space.inside(z, radius))
                search.tell(z, means)
                search.note(float(means.min()) < lowest)
                lowest = min(lowest, float(means.min()))
                if search.over:
                    break
            ends.append(self.space.inside(search.cma.mean[None], radius)[0])
        finalists = ends[:RUNS] or [self.space.inside(lead[None], radius)[0]]
        self.returns(np.array(finalists))
        lowest_first = (self.points[k] for k in self._lowest_within(radius))
        return np.array([*finalists, *islice(lowest_first, FINALISTS - len(finalists))])

    def _best_lead(self, lead: np.ndarray, radius: float) -> np.ndarray:
        """Of a lead and the directions of the worst worlds so far, which is worst at the radius."""
        worst = np.argsort(self.means, kind="stable")[: LEADS - 1]
        seen = np.array([self.points[k] for k in worst if np.any(self.points[k])])
        leads = self.space.directions(np.vstack([lead[None], seen.reshape(-1, self.space.size)]))
        return leads[np.argmin(self.returns(self.space.inside(leads, radius)))]

    def _lowest_within(self, radius: float) -> np.ndarray:
        """The worlds within a radius, those with the lowest mean return first."""
        near = self.space.distance(np.array(self.points)) <= radius * (1 + 1e-9)
        return np.argsort(np.where(near, self.means, np.inf), kind="stable")[: near.sum()]

    def _runs(self, lead: np.ndarray, last: int) -> Iterator["_Run"]:
        """Searches that begin at a lead first, then in directions at random."""
        generations = (last - self.ledger.played) // self.cost(self.population)
        least = 1 if generations < _RUN else max(1, min(RUNS, generations // _RUN))
        number = 0
        while self._affords(last):
            random = np.random.default_rng((_STREAM, self.seed, self.ledger.played))
            start = lead if number == 0 else random.standard_normal(self.space.size)
            each = generations if number + 1 >= least else -(-generations // least)
            yield _Run.begin(start, self.population, each, int(random.integers(2**31)))
            number += 1

    def _affords(self, last: int) -> bool:
        return self._within(last, self.population)

    def _within(self, last: int, worlds: int) -> bool:
        return self.ledger.played + self.cost(worlds) <= last


@dataclass
class _Run:
    """One CMA-ES run, and when it is over."""

    cma: "CMA"
    generations: int
    done: int = 0
    stale: int = 0

    @classmethod
    def begin(cls, start: np.ndarray, population: int, generations: int, seed: int) -> "_Run":
        from cmaes import CMA

        size = len(start)
        mean = start / max(float(np.linalg.norm(start)), 1e-12)
        width = WIDTH / np.sqrt(size)
        return cls(CMA(mean, width, seed=seed, population_size=population), generations)

    def tell(self, z: np.ndarray, means: np.ndarray) -> None:
        """Hand the generation back; lower returns are better."""
        self.cma.tell(list(zip(z, means.tolist(), strict=True)))
        self.done += 1

    def note(self, progress: bool) -> None:
        """Whether the generation brought anything."""
        self.stale = 0 if progress else self.stale + 1

    @property
    def over(self) -> bool:
        """Whether another beginning is worth more than another generation."""
        stuck = self.stale >= _STALE or self.cma.should_stop()
        return stuck or self.done >= self.generations


def population(size: int) -> int:
    """CMA-ES's own default of worlds in a generation."""
    return 4 + int(3 * np.log(size))


def axes_of(space: Space, reach: float) -> list[tuple[int, int, float]]:
    """Coordinate, sign and furthest distance of each single parameter's directions."""
    low, high = space.bounds
    both = ((k, sign, min(reach, end)) for k in range(space.size)
            for sign, end in ((-1, float(-low[k])), (1, float(high[k]))))  # fmt: skip
    return [(k, sign, far) for k, sign, far in both if far > 1e-6]


def linear_guess(sides: Sequence[Side], size: int) -> np.ndarray:
    """Where the nearest failing world would be if the return were linear in each parameter."""
    guess = np.zeros(size)
    for side in sides:
        slope = 1 / side.crossing if side.crossing else max(0.0, side.slope)
        if slope > abs(guess[side.coordinate]):
            guess[side.coordinate] = side.sign * slope
    return guess if guess.any() else np.ones(size)
