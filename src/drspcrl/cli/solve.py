"""`drspcrl solve`: one finite MDP, exactly."""

from __future__ import annotations

import csv
import io
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from drspcrl.display import Pace, clock, shown
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.files import remove_asides, write_durably

if TYPE_CHECKING:
    from rich.console import Console

    from drspcrl.divergences import Divergence
    from drspcrl.tabular import MDP, SparseMDP
    from drspcrl.tabular.frontier import FrontierPoint
    from drspcrl.tabular.self_paced import Training

# Names for people, in pictures.
TITLES = {
    "cliffwalking": "CliffWalking",
    "frozenlake": "FrozenLake",
    "garnet": "Garnet",
    "riverswim": "RiverSwim",
    "taxi": "Taxi",
}

MOST_POINTS = 10_000
MOST_ITERATIONS = 100_000  # the policies of all of them are kept
_SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True)
class Solve:
    """Solve a finite MDP exactly: robust optimum, what training reaches, and the curriculum.

    Writes frontier.png, curriculum.png and solution.csv.
    """

    mdp: str = "frozenlake"
    """Instance: cliffwalking, frozenlake, garnet, inventory, machine, riverswim or taxi."""
    divergence: str = "kl"
    """Ball: kl, chi2, tv, cvar, cressie_read (the Hellinger ball), wasserstein (hop distance), or
    your own as module:Class."""
    budget: float = 1.0
    """Largest radius ε, above 0."""
    discount: float | None = None
    """Discount γ in [0, 1); the instance's own unless given."""
    points: int = 8
    """Number of radii from 0 to the budget."""
    iterations: int = 150
    """Policy-gradient steps of each training."""
    learning_rate: float = 1.0
    """Length of a policy-gradient step."""
    rule: Literal["coordinate", "radius"] = "coordinate"
    """Self-paced rule: in √ε and units of reward, or the paper's own in ε."""
    pacing: float = 10.0
    """α, the pull of the budget; larger goes further."""
    rate: float = 0.002
    """λ, the curriculum's step size."""
    out: Path = Path("solve-output")
    """Folder for the pictures and the table."""

    def run(self) -> None:
        """Solve, print and draw."""
        from drspcrl.cli.say import console as literal_console
        from drspcrl.tabular import make_instance
        from drspcrl.tabular.frontier import (
            FrontierTraining,
            optimal_point,
            radius_grid,
            trained_points,
        )

        self._check()
        mdp = make_instance(self.mdp, self.discount)
        divergence = make_divergence(self.divergence, mdp)
        if not divergence.on_support:
            mdp = mdp.to_dense()
        console = literal_console()
        if divergence.on_support and mdp.deterministic:
            console.print(
                f"Note: every row of {self.mdp} is a point mass, so a {self.divergence} ball holds "
                "only itself: every radius gives the nominal answer. Try --divergence wasserstein."
            )
        radii = radius_grid(divergence, self.budget, self.points)
        trainer = FrontierTraining(
            self.iterations, self.learning_rate, self.rule, self.pacing, self.rate
        )
        with _progress(console, self.mdp, 4 * len(radii)) as advance:
            best = []
            for radius in radii.tolist():
                best.append(optimal_point(mdp, divergence, radius))
                advance("robust optimum")
            title = f"{self.mdp} · {self.divergence} · γ = {mdp.discount:g}"
            _print_table(console, best, title)
            trained = []
            for found in trained_points(mdp, divergence, radii, trainer):
                trained.append(found)
                advance("training nominal, fixed and self-paced")
        self._write(console, divergence, [*best, *(point for point, _ in trained)], trained[-1][1])

    def _check(self) -> None:
        if not 0 < self.budget < float("inf"):
            raise InputError(f"--budget is {self.budget}; it must be a number above 0")
        if not (2 <= self.points <= MOST_POINTS and 1 <= self.iterations <= MOST_ITERATIONS):
            raise InputError(
                f"--points is {shown(self.points)} and --iterations {shown(self.iterations)}; from "
                f"2 to {MOST_POINTS} points and 1 to {MOST_ITERATIONS} iterations are needed"
            )
        if not all(0 < x < math.inf for x in (self.learning_rate, self.pacing, self.rate)):
            raise InputError(
                f"--learning-rate is {self.learning_rate}, --pacing {self.pacing}, "
                f"--rate {self.rate}; all must be numbers above 0"
            )
        if self.out.exists() and not self.out.is_dir():
            raise InputError(f"--out {self.out} is a file; name a folder")

    def _write(
        self,
        console: Console,
        divergence: Divergence,
        points: Sequence[FrontierPoint],
        run: Training,
    ) -> None:
        from drspcrl.tabular.pictures import draw_curriculum, draw_frontier

        self.out.mkdir(parents=True, exist_ok=True)
        remove_asides(self.out)
        ball = DIVERGENCES.label(self.divergence)
        name = f"{TITLES.get(self.mdp, self.mdp)}, {ball} ball"
        table = self.out / "solution.csv"
        frontier, curriculum = self.out / "frontier.png", self.out / "curriculum.png"
        write_points(points, table)
        draw_frontier(points, divergence, f"The price of robustness: {name}", frontier)
        draw_curriculum(run, divergence, self.budget, f"Self-paced curriculum: {name}", curriculum)
        for path in (frontier, curriculum, table):
            console.print(f"wrote {path}", soft_wrap=True)


def make_divergence(name: str, mdp: MDP | SparseMDP) -> Divergence:
    """The named ball; a Wasserstein ball measures distance in hops of this MDP."""
    from drspcrl.divergences.registry import divergence_class
    from drspcrl.tabular.mdp import hop_distance

    return divergence_class(name).between_states(lambda: hop_distance(mdp))


def write_points(points: Sequence[FrontierPoint], path: Path) -> None:
    """All points as CSV, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(points[0]._fields)
    writer.writerows(points)
    write_durably(path, text.getvalue().encode())


@contextmanager
def _progress(console: Console, name: str, total: int) -> Iterator[Callable[[str], None]]:
    """Gives a function to call after each policy, with what it was.

    On a terminal a bar with the time left; elsewhere a line at the start and one every few
    seconds.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if not console.is_terminal:
        yield _lines(name, total)
        return
    text = TextColumn("{task.description}", markup=False)
    clocks = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    columns = (text, BarColumn(), MofNCompleteColumn(), *clocks)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"solving {name}", total=total)
        yield lambda what: bar.update(task, advance=1, description=what)


def _lines(name: str, total: int) -> Callable[[str], None]:
    print(f"solving {name}: {total} policies", file=sys.stderr, flush=True)
    begun = latest = time.monotonic()
    done, pace = 0, Pace(total)

    def advance(what: str) -> None:
        nonlocal latest, done
        done += 1
        now, seconds = time.monotonic(), pace.left(done)
        if now - latest >= _SECONDS_BETWEEN_LINES:
            latest = now
            left = f", about {clock(seconds)} left" if seconds else ""
            line = f"{what}: {done} of {total} policies after {now - begun:.0f}s{left}"
            print(line, file=sys.stderr, flush=True)

    return advance


def _print_table(console: Console, best: Sequence[FrontierPoint], title: str) -> None:
    from rich.table import Table

    table = Table(title=f"Robust optimum: {title}")
    for header in ("ε", "nominal return", "worst-case return", "mean β*"):
        table.add_column(header, justify="right")
    accuracy = 1e-12 * max(1.0, *(abs(point.worst_case_return) for point in best))
    for point in best:
        table.add_row(
            f"{point.radius:.4g}",
            _number(point.nominal_return, accuracy),
            _number(point.worst_case_return, accuracy),
            _number(point.mean_multiplier, accuracy),
        )
    console.print(table)


def _number(value: float, accuracy: float) -> str:
    """A number for people; what is smaller than the solver's accuracy is 0."""
    return "0" if abs(value) < accuracy else f"{value:.6g}".replace("inf", "∞")
