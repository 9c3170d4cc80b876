"""What was found: as plain data, and as a table in the user's units."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from drspcrl.evaluation.stress.search import Side
from drspcrl.evaluation.stress.space import Space
from drspcrl.statistics import Estimate

FORMAT_VERSION = 1
KIND = "drspcrl stress"
_FURTHER = 1.02  # what is further than this is said


@dataclass(frozen=True)
class Found:
    """One world that was found, and how the policy does in it.

    Attributes:
        point: the world, in tolerances, [d].
        distance: how far it is from the simulator.
        fresh: mean return over episodes that had no part in choosing it, with its interval.
        above: how far that is above the limit, episode by episode, with its interval.
        share: what is left of the nominal return in those episodes, 1 for all of it.
        diverged: of those episodes, how many the simulator could not finish.
    """

    point: np.ndarray
    distance: float
    fresh: Estimate
    above: Estimate
    share: float
    diverged: int

    @property
    def verdict(self) -> str:
        """Whether it fails by those episodes: `fails`, `holds`, or `undecided`."""
        if self.above.high < 0 or (not self.above.has_interval and self.above.value < 0):
            return "fails"
        return "holds" if self.above.low >= 0 else "undecided"


@dataclass(frozen=True)
class StressResult:
    """Where a policy breaks.

    Attributes:
        space: what was searched.
        info: everything that the result was made with, as plain data.
        nominal: mean return in the simulator as it is, over fresh episodes.
        limit: the return below which a world counts as failing, of those episodes.
        nearest: the nearest failing world found, None within the reach.
        worst: the worst world found within the radius.
        alone: how far each parameter may go alone.
        episodes: how many were played.
        searched: how far away the search's own episodes put the nearest failing world.
        complete: whether all that seemed to fail nearer could be played again.
    """

    space: Space
    info: Mapping[str, Any]
    nominal: Estimate
    limit: float
    nearest: Found | None
    worst: Found
    alone: tuple[Side, ...]
    episodes: int
    searched: float | None = None
    complete: bool = True

    @property
    def worst_is_nearest(self) -> bool:
        """Whether only the last episodes say that the nearest failing world fails: the worst."""
        return self.nearest is self.worst

    def record(self) -> dict[str, Any]:
        """Everything as plain data, as `stress.json` holds it."""
        return {
            "kind": KIND,
            "format_version": FORMAT_VERSION,
            **self.info,
            "episodes_played": self.episodes,
            "nominal": _estimate(self.nominal),
            "limit_return": self.limit,
            "nearest": None if self.nearest is None else self._found(self.nearest),
            "nearest_is_worst": self.worst_is_nearest,
            "searched_distance": self.searched,
            "all_nearer_played_again": self.complete,
            "worst": self._found(self.worst),
            "alone": [self._alone(k) for k in range(self.space.size)],
        }

    def _found(self, found: Found) -> dict[str, Any]:
        space = self.space
        values = [
            {
                "name": name,
                "tolerances": float(found.point[k]),
                "value": space.value(k, float(found.point[k])),
                "unit": space.unit(k),
            }
            for k, name in enumerate(space.names)
        ]
        return {
            "distance": found.distance,
            "values": values,
            "return": _estimate(found.fresh),
            "above_limit": _estimate(found.above),
            "verdict": found.verdict,
            "share_of_nominal": found.share,
            "diverged": found.diverged,
        }

    def _alone(self, coordinate: int) -> dict[str, Any]:
        space = self.space
        row: dict[str, Any] = {
            "name": space.names[coordinate],
            "unit": space.unit(coordinate),
            "tolerance": float(space.tolerance[coordinate]),
            "nominal": space.nominal.get(space.names[coordinate], space.value(coordinate, 0.0)),
            "down": None,
            "up": None,
        }
        for side in self.sides(coordinate):
            reached = side.furthest if side.crossing is None else side.crossing
            row["up" if side.sign > 0 else "down"] = {
                "fails": side.crossing is not None,
                "distance": reached,
                "value": space.value(coordinate, side.sign * reached),
            }
        return row

    def sides(self, coordinate: int) -> list[Side]:
        """The directions in which a parameter was moved alone."""
        return [side for side in self.alone if side.coordinate == coordinate]

    def __str__(self) -> str:
        return "\n".join([*self._headlines(), "", *self._rows()])

    def _headlines(self) -> list[str]:
        question = self.info["question"]
        which = "|Σ^−½ω|" if self.space.shape == "ball" else "max |ωᵢ|/σᵢ"
        lines = [
            f"{self.info['env']}: nominal return {_interval(self.nominal)}; a world fails below "
            f"{self.limit:.4g} ({_rule(question)})",
            f"distance is {which} in units of the declared tolerances",
        ]
        if self.nearest is None:
            lines.append(f"no failing world found within {question['reach']:g} tolerances")
        else:
            lines.append(
                f"nearest failing world: {self.nearest.distance:.3g} tolerances away, return "
                f"{_interval(self.nearest.fresh)}"
            )
        lines.append(
            f"worst world found within {question['within']:g}: return {_interval(self.worst.fresh)}"
            f"{self._share()}"
        )
        return lines + self._warnings()

    def _share(self) -> str:
        """What is left of the nominal return, where that is a share of something."""
        whole = self.nominal.value > 0 and self.worst.share >= 0
        return f", {self.worst.share:.0%} of nominal" if whole else ""

    def _warnings(self) -> list[str]:
        lost = [f.diverged for f in (self.nearest, self.worst) if f is not None and f.diverged]
        notes = [f"the simulation diverged in {sum(lost)} of these episodes; a return ends there"]
        return [*self._doubts(), *(notes if lost else [])]

    def _doubts(self) -> list[str]:
        """Where the search's episodes and the others do not agree."""
        more = "give more --episodes and --budget"
        doubts = []
        if self.worst_is_nearest:
            doubts.append(
                "it is the worst world, which fails in fresh episodes, but not by a standard error "
                f"in those of the verification; {more}"
            )
        if self.nearest is None and self.searched is not None:
            doubts.append(
                f"one that seemed to fail {self.searched:.3g} tolerances away does not fail with "
                f"other episodes, nor does what lies behind it; {more}"
            )
        if self.nearest is not None and self.nearest.verdict == "holds":
            doubts.append(f"with fresh episodes the nearest failing world does not fail: {more}")
        if self.nearest is not None and self.nearest.verdict == "undecided":
            doubts.append("it lies at the limit: fresh episodes cannot tell whether it fails")
        near, first = self.nearest, self.searched
        if near is not None and first is not None and near.distance > _FURTHER * first:
            own = self.info["question"]["episodes"]
            who = "own episode puts" if own == 1 else f"own {own} episodes put"
            doubts.append(f"the search's {who} it at {first:.3g}; other episodes fail only here")
        if not self.complete:
            doubts.append(
                "not all parameters that seem to fail nearer alone could be played again: give "
                "more --budget"
            )
        return doubts

    def _rows(self) -> list[str]:
        within = f"worst within {self.info['question']['within']:g}"
        head: tuple[str, ...] = (
            "parameter",
            "unit",
            "alone down to",
            "alone up to",
            "nearest failing",
            within,
        )
        rows: list[tuple[str, ...]] = [head]
        for k, name in enumerate(self.space.names):
            ends = {side.sign: self._end(side) for side in self.sides(k)}
            found = [self._component(one, k) for one in (self.nearest, self.worst)]
            unit = self.space.unit(k)
            rows.append((name, unit, ends.get(-1, "–"), ends.get(1, "–"), found[0], found[1]))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(f"{x:<{w}}" for x, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        beyond = any(side.crossing is None for side in self.alone)
        note = "≤, ≥: it holds so far, and further was not looked; –: it cannot go that way"
        return [*lines, note] if beyond else lines

    def _component(self, found: Found | None, coordinate: int) -> str:
        if found is None:
            return "–"
        x = float(found.point[coordinate])
        return self.space.words(coordinate, x) if x else "as is"

    def _end(self, side: Side) -> str:
        reached = side.furthest if side.crossing is None else side.crossing
        value = self.space.words(side.coordinate, side.sign * reached)
        beyond = "≤ " if side.sign < 0 else "≥ "
        return value if side.crossing is not None else beyond + value


def _rule(question: Mapping[str, Any]) -> str:
    if question["least"] is not None:
        return "given with --least"
    return f"nominal − {1 - question['limit']:.0%} of its size"


def _interval(estimate: Estimate) -> str:
    if not estimate.has_interval:
        return f"{estimate.value:.4g}"
    return f"{estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}]"


def _estimate(estimate: Estimate) -> dict[str, Any]:
    ends = (estimate.low, estimate.high) if estimate.has_interval else (None, None)
    return {
        "mean": estimate.value,
        "low": ends[0],
        "high": ends[1],
        "episodes": estimate.n,
        "interval": "95%, Student's t over episodes",
    }
