"""`drspcrl solve`: one finite MDP, exactly."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from drspcrl.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from drspcrl.divergences import Divergence
    from drspcrl.tabular import MDP, SparseMDP
    from drspcrl.tabular.frontier import FrontierPoint, Trainer
    from drspcrl.tabular.self_paced import Training

# Names for people, in pictures.
BALLS = {
    "kl": "KL ball",
    "chi2": "χ² ball",
    "tv": "total-variation ball",
    "cvar": "CVaR ball",
    "cressie_read": "Hellinger ball",
    "wasserstein": "Wasserstein ball",
}
TITLES = {
    "cliffwalking": "CliffWalking",
    "frozenlake": "FrozenLake",
    "garnet": "Garnet",
    "riverswim": "RiverSwim",
    "taxi": "Taxi",
}

MOST_POINTS = 10_000


@dataclass(frozen=True)
class Solve:
    """Solve a finite MDP exactly: robust optimum, what training reaches, and the curriculum.

    Writes frontier.png, curriculum.png and solution.csv.
    """

    mdp: str = "frozenlake"
    """Instance: cliffwalking, frozenlake, garnet, inventory, machine, riverswim or taxi."""
    divergence: str = "kl"
    """Ball: kl, chi2, tv, cvar, cressie_read (the Hellinger ball) or wasserstein (hop distance)."""
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
        from rich.console import Console

        from drspcrl.tabular import make_instance
        from drspcrl.tabular.frontier import Trainer, optimal_point, radius_grid

        self._check()
        mdp = make_instance(self.mdp, self.discount)
        divergence = make_divergence(self.divergence, mdp)
        if not divergence.on_support:
            mdp = mdp.to_dense()
        console = Console()
        if divergence.on_support and mdp.deterministic:
            console.print(
                f"Note: every row of {self.mdp} is a point mass, so a {self.divergence} ball holds "
                "only itself: every radius gives the nominal answer. Try --divergence wasserstein."
            )
        radii = radius_grid(divergence, self.budget, self.points)
        best = [optimal_point(mdp, divergence, radius) for radius in radii.tolist()]
        _print_table(console, best, f"{self.mdp} · {self.divergence} · γ = {mdp.discount:g}")
        trainer = Trainer(self.iterations, self.learning_rate, self.rule, self.pacing, self.rate)
        trained = _trained(console, mdp, divergence, radii, trainer)
        self._write(console, divergence, [*best, *(point for point, _ in trained)], trained[-1][1])

    def _check(self) -> None:
        if not 0 < self.budget < float("inf"):
            raise InputError(f"--budget is {self.budget}; it must be a number above 0")
        if not 2 <= self.points <= MOST_POINTS or self.iterations < 1:
            raise InputError(
                f"--points is {self.points} and --iterations {self.iterations}; "
                f"from 2 to {MOST_POINTS} points and at least 1 iteration are needed"
            )
        if not (self.learning_rate > 0 and self.pacing > 0 and self.rate > 0):
            raise InputError(
                f"--learning-rate is {self.learning_rate}, --pacing {self.pacing}, "
                f"--rate {self.rate}; all must be above 0"
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
        name = f"{TITLES.get(self.mdp, self.mdp)}, {BALLS[self.divergence]}"
        table = self.out / "solution.csv"
        frontier, curriculum = self.out / "frontier.png", self.out / "curriculum.png"
        write_points(points, table)
        draw_frontier(points, divergence, f"The price of robustness: {name}", frontier)
        draw_curriculum(run, divergence, self.budget, f"Self-paced curriculum: {name}", curriculum)
        for path in (frontier, curriculum, table):
            console.print(f"wrote {path}", soft_wrap=True)


def make_divergence(name: str, mdp: MDP | SparseMDP) -> Divergence:
    """The named ball; a Wasserstein ball measures distance in hops of this MDP."""
    from drspcrl.divergences import (
        KL,
        ChiSquared,
        CressieRead,
        CVaR,
        TotalVariation,
        Wasserstein,
    )
    from drspcrl.tabular.metric import hop_distance

    makers = {
        "kl": KL,
        "chi2": ChiSquared,
        "tv": TotalVariation,
        "cvar": CVaR,
        "cressie_read": lambda: CressieRead(0.5),
        "wasserstein": lambda: Wasserstein(hop_distance(mdp)),
    }
    if name not in makers:
        raise InputError(f"unknown divergence {name!r}; choose one of {', '.join(BALLS)}")
    return makers[name]()


def write_points(points: Sequence[FrontierPoint], path: Path) -> None:
    """All points as CSV, whole or not at all."""
    aside = path.with_name(f".{path.name}.partial")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(points[0]._fields)
        writer.writerows(points)
    os.replace(aside, path)


def _trained(
    console: Console,
    mdp: MDP | SparseMDP,
    divergence: Divergence,
    radii,
    trainer: Trainer,
) -> list[tuple[FrontierPoint, Training]]:
    from rich.progress import Progress

    from drspcrl.tabular.frontier import trained_points

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("training nominal, fixed and self-paced", total=3 * len(radii))
        trained = []
        for found in trained_points(mdp, divergence, radii, trainer):
            trained.append(found)
            progress.advance(task)
    return trained


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
