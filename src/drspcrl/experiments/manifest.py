"""What has become of every run of a grid, kept in one file of its folder.

While a grid is at work, what becomes of a piece is appended to a journal beside the file, so that
noting it costs the same however many pieces there are; now and then the file takes the journal up.

The run folders are the truth: whenever a grid is opened, their `run.json` overrules the manifest,
so that a machine that died, or a run that was continued by hand, is seen as it is.
"""

import json
import math
import os
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from drspcrl.display import brief, counted, shown
from drspcrl.errors import InputError
from drspcrl.experiments.grid import Grid
from drspcrl.experiments.population import Population
from drspcrl.experiments.selection import Selection
from drspcrl.experiments.states import OVER, RunState, check_origin, run_state
from drspcrl.files import append, read_text, remove_asides, remove_own, write_durably
from drspcrl.named import refuse_imports
from drspcrl.reading import MOST_JSON, parse_json
from drspcrl.runfolder.checkpoint.lock import FolderLock
from drspcrl.training.settings import named_parts

MANIFEST = "manifest.json"
JOURNAL = "manifest.journal"
FORMAT_VERSION = 1
_LEAST_PAUSE = 5.0  # seconds between two times that the whole file is written
_SHARE = 0.02  # of the time may go into writing it
_MOST_JOURNAL = 2**26  # bytes; the file takes it up before it has more

PieceState = Literal["pending", "running", "interrupted", "failed", "finished", "evaluated"]


@dataclass(frozen=True)
class Piece:
    """One population in one process, and what has become of it.

    Attributes:
        population: what is trained.
        runs: state of each run, by its folder relative to the grid's.
        attempts: how often it was started.
        error: the last line of the last failure, "" where it did not fail.
        seconds: how long it has been worked at.
    """

    population: Population
    runs: Mapping[str, RunState]
    attempts: int = 0
    error: str = ""
    seconds: float = 0.0

    @classmethod
    def new(cls, population: Population) -> "Piece":
        """One that has not begun."""
        return cls(population, dict.fromkeys(population.folders(), "pending"))

    @property
    def name(self) -> str:
        """Its name, for people and log files."""
        return self.population.name

    @property
    def begun(self) -> bool:
        """Whether a run folder of it is there; from then on it stays together."""
        return any(state != "pending" for state in self.runs.values())

    @property
    def trained(self) -> bool:
        """Whether no run of it is to be trained any further."""
        return all(state in OVER for state in self.runs.values())

    @property
    def state(self) -> PieceState:
        """The state of the whole."""
        states = set(self.runs.values())
        if "running" in states:
            return "running"
        if self.trained and "finished" not in states:
            return "evaluated"
        if self.error or "failed" in states:
            return "failed"
        if self.trained:
            return "finished"
        return "interrupted" if self.begun else "pending"


@dataclass
class Manifest:
    """The pieces of a grid in its folder.

    Attributes:
        out: the grid's folder.
        pieces: by name, in the order of the grid.
        suite: name of the suite whose results make a run evaluated.
        storage: a folder elsewhere that has the checkpoints; None where the run folders have them.
    """

    out: Path
    pieces: dict[str, Piece] = field(default_factory=dict)
    suite: str = ""
    storage: str | None = None
    _journal: str = field(default="", init=False, repr=False)
    _saved: tuple[float, float] = field(default=(-math.inf, 0.0), init=False, repr=False)
    _room: int = field(default=0, init=False, repr=False)

    @classmethod
    def read(cls, out: Path, trust: Collection[str] = ()) -> "Manifest":
        """The manifest of a folder, empty where there is none.

        Args:
            out: the folder.
            trust: methods and environments named `module:Name` whose module may be imported.

        Raises:
            InputError: it is damaged, of another version than this one reads, or names code that
                is not trusted.
        """
        path = out / MANIFEST
        if not os.path.lexists(path):
            return cls(out)
        try:
            content = parse_json(read_text(path, most=MOST_JSON))
            version = content["format_version"]
            entries = content["pieces"] if version == FORMAT_VERSION else []
            entries = _with_journal(entries, out / JOURNAL, content.get("journal"))
            pieces = [_piece(entry, trust) for entry in entries]
            storage = content.get("storage")
            if not isinstance(storage, str | None):
                raise InputError(f"its storage is {shown(storage)}")
        except KeyError as error:
            raise _damaged(path, f"it lacks {brief(error, 100)}") from None
        except (OSError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise _damaged(path, brief(error)) from None
        if version != FORMAT_VERSION:
            raise InputError(
                f"{path} has format_version {shown(version)}, and this drspcrl reads "
                f"{FORMAT_VERSION}; use the drspcrl that made it, or another --out"
            )
        return cls(out, {piece.name: piece for piece in pieces}, storage=storage)

    @classmethod
    @contextmanager
    def held(cls, out: Path, trust: Collection[str] = ()) -> Iterator["Manifest"]:
        """The manifest of a folder, which is made and held against other grids; see `read`.

        Raises:
            InputError: another process holds it, or it cannot be made or read.
        """
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"out {out} cannot be made: {error.strerror}") from None
        lock = FolderLock(out)
        try:
            remove_asides(out)
            manifest = cls.read(out, trust)
            yield manifest
            if os.path.lexists(out / JOURNAL):
                manifest.save()
        finally:
            lock.release()

    def save(self) -> None:
        """Write it, whole or not at all, and begin a new journal."""
        begun = time.monotonic()
        self._journal = secrets.token_hex(8)
        content = {"format_version": FORMAT_VERSION, "journal": self._journal}
        content |= {} if self.storage is None else {"storage": self.storage}
        pieces = [_entry(piece) for piece in self.pieces.values()]
        text = json.dumps({**content, "pieces": pieces}, indent=1)
        write_durably(self.out / MANIFEST, text.encode() + b"\n")
        remove_own(self.out / JOURNAL)
        self._saved = (time.monotonic(), time.monotonic() - begun)
        self._room = _MOST_JOURNAL

    def keep_in(self, storage: str | None) -> None:
        """Note where checkpoints are; what the file says of that is not followed, but asked for.

        Raises:
            InputError: runs that are not trained have checkpoints elsewhere than is said.
        """
        given = None if storage is None else str(Path(storage).absolute())
        begun = any(self._has_begun(piece) and not piece.trained for piece in self.pieces.values())
        if begun and self.storage not in (None, given):
            raise InputError(
                f"the checkpoints of this grid are in {brief(self.storage)}; give --storage with "
                "that folder"
            )
        self.storage = given

    def _has_begun(self, piece: Piece) -> bool:
        """Whether there may be checkpoints of it; in a storage they may be before a run is here."""
        return piece.begun or (self.storage is not None and piece.attempts > 0)

    def put(self, piece: Piece) -> None:
        """Note a piece, so that it is known whatever becomes of this process."""
        self.pieces[piece.name] = piece
        when, cost = self._saved
        line = json.dumps({"journal": self._journal, "piece": _entry(piece)}).encode() + b"\n"
        self._room -= len(line)
        due = time.monotonic() - when > max(_LEAST_PAUSE, cost / _SHARE)
        if not self._journal or due or self._room < 0:
            self.save()
            return
        append(self.out / JOURNAL, line)

    def look(self, piece: Piece) -> Piece:
        """A piece with its runs as their folders say.

        Raises:
            InputError: a folder holds a run of another training.
        """
        for run in piece.runs:
            check_origin(self.out / run, piece.population)
        states = {run: run_state(self.out / run, self.suite) for run in piece.runs}
        return replace(piece, runs=states)

    def follow(self, grid: Grid, selection: Selection, most: Mapping[str, int]) -> list[str]:
        """Take up a grid, which may have grown, and look at what is on disk.

        Groups, methods and seeds may be added, and what has not begun may go; what has begun stays
        as it is. How a group is cut into pieces is decided when it begins.

        Args:
            grid: the grid.
            selection: what is wanted now; it is cut off from what is not.
            most: members that one population may have, by group.

        Returns:
            What has changed, in words.

        Raises:
            InputError: the grid no longer asks for runs that have begun.
        """
        self.suite = grid.evaluation.suite
        before, wanted = dict(self.pieces), set(grid.folders())
        seen = {name: self.look(piece) for name, piece in before.items()}
        kept = {name: piece for name, piece in seen.items() if self._has_begun(piece)}
        for piece in kept.values():
            self._check_still_wanted(piece, grid)
        self.pieces = dict(kept)
        for population in cut(grid, selection, most, [p.population for p in kept.values()]):
            piece = seen.get(population.name) or self.look(Piece.new(population))
            self.pieces[piece.name] = piece
        return _changes({run for piece in before.values() for run in piece.runs}, wanted)

    def _check_still_wanted(self, piece: Piece, grid: Grid) -> None:
        own = piece.population
        left = [own]
        for population in grid.populations:
            left = [rest for part in left for rest in part.without([population])]
        if left:
            raise InputError(
                f"{self.out} holds {next(iter(piece.runs))}, which has begun with {own.steps:,} "
                "steps and which the grid no longer asks for in this way; give another --out, or "
                "put the grid back (groups, methods and seeds may be added)"
            )


def cut(
    grid: Grid, selection: Selection, most: Mapping[str, int], taken: list[Population]
) -> Iterator[Population]:
    """The populations of a grid that are not taken, in pieces that are wanted whole or not at all.

    Args:
        grid: the grid.
        selection: what is wanted.
        most: members that one population may have, by group.
        taken: populations that are settled.
    """
    for whole in grid.populations:
        for rest in whole.without(taken):
            for part in selection.divide(rest):
                yield from part.pieces(most[whole.group])


def _changes(before: set[str], now: set[str]) -> list[str]:
    if not before:
        return []
    gone, new = len(before - now), len(now - before)
    words = [f"no longer in the grid: {counted(gone, 'run')} that had not begun"] if gone else []
    return words + ([f"new in the grid: {counted(new, 'run')}"] if new else [])


def _entry(piece: Piece) -> dict[str, Any]:
    plain = {"name": piece.name, "state": piece.state, **asdict(piece)}
    return plain | {"population": piece.population.plain()}


def _with_journal(entries: list[Any], path: Path, token: Any) -> list[Any]:
    """The entries of a manifest with what its journal says since; another's journal says nothing.

    A line that a crash has cut short is one that was not written.
    """
    if token is None or not os.path.lexists(path):
        return entries
    found = {entry["name"]: entry for entry in entries}
    for line in read_text(path, most=_MOST_JOURNAL).splitlines():
        try:
            said = parse_json(line)
            if said["journal"] == token:
                found[said["piece"]["name"]] = said["piece"]
        except (ValueError, KeyError, TypeError):
            break
    return list(found.values())


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path} cannot be read: {reason}; restore or remove it")


def _piece(entry: Mapping[str, Any], trust: Collection[str]) -> Piece:
    described = entry["population"]
    # Before the population is made, which looks its methods up.
    for name in named_parts(described):
        refuse_imports(name, trust)
    population, states = Population.of(described), entry["runs"]
    # The folders follow from the population, whatever the file says.
    runs = {run: states.get(run, "pending") for run in population.folders()}
    if unknown := [state for state in runs.values() if state not in get_args(RunState)]:
        raise InputError(f"a run of it is {shown(unknown[0])}")
    attempts, error, seconds = (entry[name] for name in ("attempts", "error", "seconds"))
    if not 0 <= float(seconds) < math.inf or int(attempts) < 0:
        raise InputError(f"a piece of it took {shown(seconds)} seconds")
    return Piece(population, runs, int(attempts), brief(error), float(seconds))
