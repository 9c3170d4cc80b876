"""What was played: how many episodes are left, and a journal from which a search continues.

A search is a deterministic function of the returns it is given. So its state is the list of worlds
played with their returns, saved after every batch; to continue, the search is run again from the
beginning and given what is in the list, until it asks for what is not.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.evaluation.parallel import Progress
from drspcrl.files import read_text, write_durably

FORMAT_VERSION = 1
KIND = "drspcrl stress state"
_MOST_BYTES = 2**28  # of the journal; that of a million episodes has a tenth

Play = Callable[[np.ndarray, Sequence[int], Progress], tuple[np.ndarray, np.ndarray]]
"""Plays the same episodes in every world: worlds [n, d] and seeds [K] → returns, diverged [n, K].

`Player.play` is one; whatever else plays worlds must give the same numbers for the same worlds.
"""


class Ledger:
    """Counts episodes and remembers them.

    Args:
        play_worlds: plays worlds.
        budget: episodes altogether.
        request: everything that decides the result, as plain data.
        file: where the journal is kept, None for nowhere.
        advance: is told of every episode that is over.
    """

    def __init__(
        self,
        play_worlds: Play,
        budget: int,
        request: Mapping[str, Any],
        file: Path | None,
        advance: Progress,
    ):
        self._play_worlds, self.budget = play_worlds, budget
        self._file, self._advance = file, advance
        self._request = json.loads(json.dumps(request))
        self._plays: list[dict[str, Any]] = []
        self._replayed = 0
        self.played = 0
        if file is not None and file.exists():
            self._plays = _read(file, self._request)

    @property
    def left(self) -> int:
        """Episodes that may still be played."""
        return self.budget - self.played

    def play(self, points: np.ndarray, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Returns [n, K] and divergences [n, K] of worlds [n, d], from the journal where it can."""
        points = np.asarray(points, float)
        self.played += len(points) * len(seeds)
        if self._replayed < len(self._plays):
            return self._replay(points, seeds)
        returns, lost = self._play_worlds(points, seeds, self._advance)
        self._replayed += 1
        self._plays.append(_entry(points, seeds, returns, lost))
        self._save()
        return returns, lost

    def forget(self) -> None:
        """Leave no state behind, so that a corrected question may begin in the same folder."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _replay(self, points: np.ndarray, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        entry = self._plays[self._replayed]
        worlds, returns, lost = (entry[name] for name in ("worlds", "returns", "diverged"))
        same = entry["seeds"] == _digest(seeds) and worlds.shape == points.shape
        same = same and returns.shape == lost.shape == (len(points), len(seeds))
        if not same or not np.allclose(worlds, points, rtol=1e-6, atol=1e-9):
            raise InputError(
                f"{self._file} was written by another version of this search; give another --out, "
                "or --overwrite to begin again"
            )
        if self._replayed == 0:  # the policy and the environment may be others by now
            again, _ = self._play_worlds(points, seeds, lambda steps, episodes=1: None)
            if not np.array_equal(again, returns):
                raise InputError(
                    f"the episodes in {self._file} go differently now, so the policy or the "
                    "environment has changed; give another --out, or --overwrite to begin again"
                )
        self._replayed += 1
        self._advance(0, returns.size)
        return returns, lost

    def _save(self) -> None:
        if self._file is not None:
            content = {"kind": KIND, "format_version": FORMAT_VERSION, "request": self._request}
            text = json.dumps({**content, "plays": self._plays}, default=np.ndarray.tolist) + "\n"
            write_durably(self._file, text.encode())


def _entry(
    points: np.ndarray, seeds: Sequence[int], returns: np.ndarray, lost: np.ndarray
) -> dict[str, Any]:
    arrays = {"worlds": points, "returns": returns, "diverged": lost}
    return {"seeds": _digest(seeds), **{name: array.copy() for name, array in arrays.items()}}


def _as_read(play: Mapping[str, Any]) -> dict[str, Any]:
    """What was saved of a batch; a file may come from elsewhere.

    Raises:
        ValueError: it is no list of numbers, or another one than it says.
    """
    kinds = {"worlds": np.float64, "returns": np.float64, "diverged": np.bool_}
    arrays = {name: np.array(play[name], kind) for name, kind in kinds.items()}
    return {"seeds": play["seeds"], **arrays}


def _digest(seeds: Sequence[int]) -> str:
    return hashlib.sha256(json.dumps(list(map(int, seeds))).encode()).hexdigest()[:16]


def _read(file: Path, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    remedy = "give another --out, or --overwrite to begin again"
    try:
        content = json.loads(read_text(file, most=_MOST_BYTES))
        known = content["kind"] == KIND and content["format_version"] == FORMAT_VERSION
        was, plays = dict(content["request"]), list(map(_as_read, content["plays"]))
    except InputError as error:  # no regular file
        raise InputError(f"{error}; {remedy}") from None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise InputError(f"{file} is damaged; {remedy}") from None
    if not known:
        raise InputError(f"{file} is no state that this version continues; {remedy}")
    was, request = _flat(was), _flat(request)
    names = sorted(set(was) | set(request))
    if changed := [name for name in names if was.get(name) != request.get(name)]:
        told = ", ".join(f"{n} {_short(was.get(n))} → {_short(request.get(n))}" for n in changed)
        raise InputError(f"{file} belongs to another search ({told}); {remedy}")
    return plays


def _flat(request: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the question's numbers beside the rest."""
    question = request.get("question")
    rest = {name: value for name, value in request.items() if name != "question"}
    return {**rest, **question} if isinstance(question, dict) else rest


def _short(value: Any) -> str:
    return brief(shown(value), 40)
