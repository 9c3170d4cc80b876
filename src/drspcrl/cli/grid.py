"""`drspcrl grid`."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from drspcrl.cli.say import say
from drspcrl.cli.train import Duration
from drspcrl.errors import InputError

UNFINISHED = 3
"""The exit code of a grid that stopped before its end and continues with the same command."""


@dataclass(frozen=True)
class Grid:
    """Train, evaluate and report a grid of runs; the same command continues where it stopped.

    Exit code 0: all is done; 1: something failed; 3: stopped before its end.
    """

    name: Annotated[str, tyro.conf.Positional]
    """paper, protocol, worlds, quick, ablation-alpha, ablation-lambda, fixed-budget, divergences,
    wr2l, or the path of a YAML file."""
    out: Path | None = None
    """Folder of the grid: its runs, manifest.json, logs/ and report/."""
    only: tuple[str, ...] = ()
    """A part of it, e.g. --only env=Hopper algorithm=sac seeds=0,1 methods=self_paced,vanilla."""
    steps: int | None = None
    """Environment steps of each run, instead of the grid's."""
    episodes: int | None = None
    """Episodes for each setting of the evaluation, instead of the grid's."""
    time_limit: Duration = None
    """Stop everything with checkpoints after this time: seconds, or a text such as 9m or 1h30m."""
    engine: Literal["local", "ray"] = "local"
    """What runs the populations: processes of this machine, or tasks on a Ray cluster."""
    address: str | None = None
    """The Ray cluster: host:port of its head, or auto on one of its machines; RAY_ADDRESS unless
    given, and without that this machine alone."""
    storage: str | None = None
    """A folder that every machine sees, for checkpoints, where not all of them see --out; without
    it they travel through Ray's object store."""
    jobs: int = 1
    """Populations at a time, on each machine."""
    retries: int = 2
    """How often a population that fails is tried again, after the others, before it is given up."""
    max_members: int | None = None
    """The most runs of one population; larger groups are split by seeds."""
    memory: str | None = None
    """Memory for one population, e.g. 80G, instead of what the machine has."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to learn; auto takes a GPU if JAX finds one."""
    threads: int = 0
    """Threads for the physics of each population, and its cores on a cluster; 0 for a fair share of
    a machine's."""
    evaluate: bool = True
    """Evaluate finished runs; --no-evaluate only trains, the same command without it evaluates."""
    report: bool = True
    """Write a report into OUT/report at the end."""
    plan: bool = False
    """Only say what would run, with estimates of time, memory and disk."""
    rate: float | None = None
    """For the plan: steps of all members of a population together, per second."""
    nodes: str | None = None
    """For the plan: machines to plan for instead of this one, e.g. 8xH200."""
    trust: tuple[str, ...] = ()
    """Methods and environments named module:Name in OUT/manifest.json, beside those of the grid
    itself, whose module may be imported."""

    def run(self) -> None:
        """Run or plan the grid; see the class for exit codes."""
        from drspcrl.experiments.run import closing_words, plan_grid, run_grid

        grid, options = self._grid(), self._options()
        if self.plan:
            for line in plan_grid(grid, self.out, options):
                say(line)
            return
        if self.out is None:
            raise InputError("--out is missing; give a folder for the grid (or --plan)")
        summary = run_grid(grid, self.out, options, say, self._command())
        for line in closing_words(summary):
            say(line)
        if summary.signal is not None:
            raise SystemExit(128 + summary.signal)
        if summary.failed:
            raise SystemExit(1)
        if summary.unfinished:
            raise SystemExit(UNFINISHED)

    def _grid(self):
        from dataclasses import replace

        from drspcrl.experiments.grid import load_grid

        grid = load_grid(self.name)
        if self.steps is not None:
            grid = grid.of_length(self.steps)
        if self.episodes is not None:
            grid = replace(grid, evaluation=replace(grid.evaluation, episodes=self.episodes))
        return grid

    def _command(self) -> str:
        """This command with what decides results, for figures to name."""
        words = ["drspcrl", "grid", self.name, "--out", str(self.out)]
        words += ["--only", *self.only] if self.only else []
        for name in ("steps", "episodes"):
            value = getattr(self, name)
            words += [] if value is None else [f"--{name}", str(value)]
        return shlex.join(words)

    def _options(self):
        from drspcrl.experiments.cost import bytes_of
        from drspcrl.experiments.run import Options

        same = ("only", "engine", "address", "storage", "jobs", "retries", "time_limit")
        same += ("max_members", "device", "threads", "evaluate", "report", "rate", "nodes", "trust")
        memory = None if self.memory is None else bytes_of(self.memory)
        return Options(**{name: getattr(self, name) for name in same}, memory=memory)
