"""Run a grid: every piece as far as it goes, whatever becomes of the others."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from drspcrl.display import counted, shown
from drspcrl.errors import InputError
from drspcrl.evaluation import load_suite
from drspcrl.experiments.cost import available_memory, members_that_fit, nodes_of, on_gpu, rate_of
from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.experiments.grid import Grid
from drspcrl.experiments.local import LOGS, LocalEngine
from drspcrl.experiments.manifest import Manifest, Piece
from drspcrl.experiments.plan import describe, duration, rows_of, timings
from drspcrl.experiments.selection import Selection, parse_selection
from drspcrl.report.write import check_target
from drspcrl.runfolder.checkpoint.lock import LOCK_FILE
from drspcrl.runfolder.runs import check_uncertainty
from drspcrl.training.config import DEVICES
from drspcrl.training.stopping import Stop

ENGINES = ("local", "ray")
REPORT = "report"
_MOST = 1_000_000  # of jobs, threads and the like
_SLOWEST = 1e-3  # steps per second


@dataclass(frozen=True)
class Options:
    """How a grid is run; none of it changes what is trained.

    Attributes:
        only: which runs, as texts such as `env=Hopper` or `seeds=0,1`; all where empty.
        engine: what runs the pieces.
        address: of the Ray cluster; this machine alone unless given.
        storage: a folder that every machine of the cluster sees, for checkpoints, where they do not
            see the grid's.
        jobs: pieces at a time, on each machine.
        retries: how often a piece that fails is tried again before it is given up.
        time_limit: seconds after which everything stops with checkpoints, None for no limit.
        max_members: the most runs of one population, None for as many as fit.
        memory: bytes for one population, None for what the machine has.
        device: where to learn, as in `TrainConfig`.
        threads: threads for the physics of one piece, 0 for a fair share of all cores.
        evaluate: whether finished runs are evaluated.
        report: whether a report is written at the end.
        rate: steps of all members per second, for the plan.
        nodes: machines to plan for, e.g. 8xH200; this one unless given.
        trust: methods and environments named `module:Name` in the folder's manifest, beside the
            grid's own, whose module may be imported.
    """

    only: tuple[str, ...] = ()
    engine: str = "local"
    address: str | None = None
    storage: str | None = None
    jobs: int = 1
    retries: int = 2
    time_limit: float | None = None
    max_members: int | None = None
    memory: float | None = None
    device: str = "auto"
    threads: int = 0
    evaluate: bool = True
    report: bool = True
    rate: float | None = None
    nodes: str | None = None
    trust: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in {"jobs": 1, "retries": 0, "threads": 0, "max_members": 1}.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and least <= value <= _MOST):
                raise InputError(
                    f"{name} is {shown(value)}; give a whole number of at least {least}, at most "
                    f"{_MOST:,}"
                )
        if self.rate is not None and not _SLOWEST <= self.rate < float("inf"):
            raise InputError(f"rate is {shown(self.rate)}; give steps per second above 0")
        if self.address is not None and self.engine != "ray":
            raise InputError(f"address {shown(self.address)} is of a Ray cluster; add --engine ray")
        for name, allowed in (("engine", ENGINES), ("device", DEVICES)):
            if getattr(self, name) not in allowed:
                value = getattr(self, name)
                raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(allowed)}")


@dataclass(frozen=True)
class Summary:
    """What a call of `run_grid` leaves.

    Attributes:
        pieces: the pieces that were asked for.
        signal: the number of the signal that ended it, None where none did.
    """

    pieces: tuple[Piece, ...]
    signal: int | None
    evaluate: bool

    @property
    def failed(self) -> tuple[Piece, ...]:
        """Pieces that were given up, or that have a run that diverged."""
        return tuple(p for p in self.pieces if p.state == "failed" or "diverged" in p.runs.values())

    @property
    def unfinished(self) -> tuple[Piece, ...]:
        """Pieces that the same command continues with."""
        return tuple(p for p in self.pieces if p.state != "failed" and not _done(p, self.evaluate))


def plan_grid(grid: Grid, out: Path | None, options: Options) -> list[str]:
    """What `run_grid` would do, in lines; starts nothing and writes nothing.

    Raises:
        InputError: something does not fit.
    """
    load_suite(grid.evaluation.suite)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"out {out} is a file; give a folder for the grid")
    if out is not None:
        check_uncertainty(out, grid.uncertainty)
    trust = (*grid.code, *options.trust)
    manifest = Manifest.read(out, trust) if out is not None else Manifest(Path())
    selection = parse_selection(options.only, grid.populations)
    nodes = None if options.nodes is None else nodes_of(options.nodes)
    if nodes is not None:
        options = replace(
            options,
            jobs=nodes.count,
            memory=options.memory or nodes.memory or available_memory(nodes.table),
            device=nodes.table,
        )
    memory = LocalEngine(options.jobs, Stop(None)).memory(options.device)
    words = manifest.follow(grid, selection, _most_members(grid, options, memory))
    if (manifest.out / LOCK_FILE).exists() and out is not None:
        words.append("a grid is at work here: what it trains now is shown as interrupted")
    # What this folder's pieces took says nothing about other machines.
    gpu, known = on_gpu(options.device), [] if nodes is not None else timings(manifest)
    rows = rows_of(_wanted(manifest, selection), known, options.rate, gpu)
    where = "" if nodes is None else f"on {counted(nodes.count, 'node')} ({nodes.machine} each)"
    return [f"{grid.name}: {grid.title}", *words, *describe(rows, options.jobs, where)]


def run_grid(
    grid: Grid,
    out: Path,
    options: Options,
    say: Callable[[str], None] = print,
    command: str | None = None,
) -> Summary:
    """Train, evaluate and report a grid; called again it continues.

    Args:
        grid: what is trained.
        out: the grid's folder.
        options: how it is run.
        say: where lines about progress go.
        command: the command that figures of the report name; made from the arguments unless told.

    Raises:
        InputError: something does not fit, or another grid is at work in the folder.
    """
    load_suite(grid.evaluation.suite)
    check_uncertainty(out, grid.uncertainty)
    selection = parse_selection(options.only, grid.populations)
    if options.report:
        check_target(out / REPORT)
    trust = (*grid.code, *options.trust)
    with (
        Stop(options.time_limit) as stop,
        _engine(options, stop) as engine,
        Manifest.held(out, trust) as manifest,
    ):
        found = engine.memory(options.device) if options.memory is None else None
        most = _most_members(grid, options, found)
        for line in manifest.follow(grid, selection, most):
            say(line)
        manifest.keep_in(options.storage)
        manifest.save()
        pieces = _wanted(manifest, selection)
        waiting = [piece for piece in pieces if not _done(piece, options.evaluate)]
        say(f"{len(pieces) - len(waiting)} of {len(pieces)} pieces are done already")
        Conductor(manifest, grid, options, engine, stop, say).run(waiting)
        pieces = [manifest.pieces[piece.name] for piece in pieces]
        if options.report and not stop.now:
            told = command or " ".join(("drspcrl grid", grid.name, "--out", str(out)))
            _report(out, grid.compare, told, say)
        number = None if stop.signal is None else int(stop.signal)
        return Summary(tuple(pieces), number, options.evaluate)


class Conductor:
    """Hands pieces to an engine, notes what becomes of them, and tries failed ones again."""

    def __init__(
        self,
        manifest: Manifest,
        grid: Grid,
        options: Options,
        engine: Engine,
        stop: Stop,
        say: Callable[[str], None],
    ):
        self._manifest, self._grid, self._options = manifest, grid, options
        self._engine, self._stop, self._say = engine, stop, say

    def run(self, pieces: Sequence[Piece]) -> None:
        """Work at pieces; what fails is tried again after the others."""
        begun, waiting = time.monotonic(), {piece.name: _steps(piece) for piece in pieces}
        total = sum(waiting.values())
        for attempt in range(self._options.retries + 1):
            failed = []
            for outcome in self._engine.run([self._task(piece) for piece in pieces]):
                piece = self._note(outcome)
                self._tell(piece, outcome, attempt)
                if outcome.status == "done" and waiting.pop(piece.name, 0) and waiting:
                    left = sum(waiting.values())
                    seconds = (time.monotonic() - begun) * left / (total - left)
                    self._say(f"{counted(len(waiting), 'piece')} left: about {duration(seconds)}")
                if piece.state == "failed" and outcome.status != "lost":
                    failed.append(piece)
            if self._stop.now or not failed:
                return
            pieces = failed

    def _task(self, piece: Piece) -> Task:
        options = self._options
        threads = options.threads or self._engine.threads
        machine: dict[str, Any] = {"device": options.device, "threads": threads}
        evaluation = asdict(self._grid.evaluation) if options.evaluate else None
        out = str(self._manifest.out.absolute())
        plain, storage = piece.population.plain(), self._manifest.storage
        return Task(piece.name, plain, out, machine, evaluation, storage=storage)

    def _note(self, outcome: Outcome) -> Piece:
        piece = self._manifest.pieces[outcome.piece]
        if outcome.status == "running":
            over = ("diverged", "evaluated")
            runs = {run: s if s in over else "running" for run, s in piece.runs.items()}
            piece = replace(piece, runs=runs, attempts=piece.attempts + 1, error="")
        elif outcome.status == "lost":  # it begins again by itself
            piece = self._manifest.look(piece)
        else:
            stopped = outcome.status == "interrupted" and self._stop.now
            error = "" if stopped or outcome.status == "done" else outcome.error or "stopped"
            seconds = piece.seconds + outcome.seconds
            piece = self._manifest.look(replace(piece, error=error, seconds=seconds))
        self._manifest.put(piece)
        return piece

    def _training_time(self, piece: Piece) -> str:
        """How long a piece trains from its beginning, as the plan says; nothing once it is over."""
        if piece.trained:
            return ""
        known, gpu = timings(self._manifest), on_gpu(self._options.device)
        rate = rate_of(piece.population, self._options.rate, known, gpu)
        seconds = _steps(piece) / rate.steps_per_second
        return f"; training takes about {duration(seconds)} from the beginning"

    def _tell(self, piece: Piece, outcome: Outcome, attempt: int) -> None:
        if outcome.status == "running":
            runs = counted(piece.population.size, "run")
            self._say(f"{piece.name}: {runs} begin or continue{self._training_time(piece)}")
            return
        if outcome.status == "lost":
            self._say(f"{piece.name}: begins again elsewhere: {outcome.error}")
            return
        line = f"{piece.name}: {piece.state} after {duration(outcome.seconds)}"
        if diverged := sum(state == "diverged" for state in piece.runs.values()):
            line += f", {counted(diverged, 'run')} diverged"
        if piece.error:
            log = self._manifest.out / LOGS / f"{piece.name}.log"
            tries = f"attempt {attempt + 1} of {self._options.retries + 1}"
            line += f" ({tries}): {piece.error}; see {log}"
        self._say(line)


def _engine(options: Options, stop: Stop) -> AbstractContextManager[Engine]:
    if options.engine == "local":
        return nullcontext(LocalEngine(options.jobs, stop))
    from drspcrl.experiments.ray_engine import RayEngine

    return RayEngine(stop, options.jobs, options.address, options.device, options.threads)


def _most_members(grid: Grid, options: Options, found: float | None) -> dict[str, int]:
    """How many members one population of each group may have, with so much memory as was found."""
    memory = found if options.memory is None else options.memory
    return {
        population.group: members_that_fit(population, memory, options.max_members)
        for population in grid.populations
    }


def _steps(piece: Piece) -> int:
    """How much there is to do, at least one: environment steps of all its runs."""
    return max(1, piece.population.size * piece.population.steps)


def _wanted(manifest: Manifest, selection: Selection) -> list[Piece]:
    return [piece for piece in manifest.pieces.values() if selection.wants(piece.population)]


def _done(piece: Piece, evaluate: bool) -> bool:
    return piece.state == "evaluated" or (not evaluate and piece.trained)


def _report(out: Path, compare: str | None, command: str, say: Callable[[str], None]) -> None:
    from drspcrl.report import write_report
    from drspcrl.runfolder.runs import find_runs

    if next(find_runs(out), None) is None:
        return
    for skip in write_report(out, out / REPORT, compare=compare, command=command):
        say(f"left out of the report: {skip.path}: {skip.reason}")
    say(f"wrote {out / REPORT / 'index.html'}")


def closing_words(summary: Summary) -> list[str]:
    """How a grid stands, in lines."""
    runs = Counter(state for piece in summary.pieces for state in piece.runs.values())
    lines = [", ".join(f"{counted(count, 'run')} {state}" for state, count in sorted(runs.items()))]
    for piece in summary.failed:
        diverged = sum(state == "diverged" for state in piece.runs.values())
        why = piece.error or f"{counted(diverged, 'run')} diverged"
        lines.append(f"failed: {piece.name} ({counted(piece.attempts, 'attempt')}): {why}")
    if summary.unfinished:
        left = counted(len(summary.unfinished), "piece")
        lines.append(f"left to do: {left}; the same command continues")
    return lines
