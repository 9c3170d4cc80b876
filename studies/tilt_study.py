r"""Does a weighted tilt of the law of worlds cost returns or calibration?

The page about it is docs/studies/tilt_study.md.

    drspcrl train --env Hopper --algorithm ppo --methods self_paced self_paced:tilt=1 fixed \
        fixed:tilt=1 --seeds 100 101 102 103 104 --steps 307200 --log-every 8192 --out runs
    drspcrl evaluate runs --episodes 5
    python studies/tilt_study.py keep runs --out studies/results/tilt
    python studies/tilt_study.py table studies/results/tilt/Hopper-ppo.csv

`keep` writes one row for each run: the mean return in every kind of setting of the suite `paper`,
and the training's own numbers over its last quarter. `table` prints means over seeds with their 95%
intervals (Student's t), and M, the mean over the 15 settings, of τ = 1 over that of τ = 0 seed by
seed.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from drspcrl.evaluation import EvaluationTable
from drspcrl.runfolder.runs import Run, read_run
from drspcrl.statistics import mean_interval

KINDS = ("none", "action", "observation", "environment")
TOLD = ("calibration_error", "calibration", "premium", "beta", "epsilon", "episode_return")
TILTED = ":tilt=1"
Rows = dict[str, dict[str, dict[str, float]]]
"""Numbers by method, seed and name."""


def kept(found: Run) -> dict[str, float]:
    """The numbers of a run that are kept."""
    table = EvaluationTable.from_csv(found.path / "evaluation-paper.csv")
    by_kind = {kind: np.asarray(table.returns)[table.perturbation == kind] for kind in KINDS}
    late = found.metrics["step"] > 0.75 * found.metrics["step"][-1]
    numbers = {kind: float(np.mean(returns)) for kind, returns in by_kind.items()}
    # As many episodes in every setting, so that the mean over settings is one over episodes.
    numbers["all"] = float(np.mean(np.concatenate([by_kind[kind] for kind in KINDS[1:]])))
    return numbers | {name: _known_mean(found.metrics[name][late]) for name in TOLD}


def keep(runs: Path, out: Path) -> None:
    """One file for each task and learner."""
    groups = defaultdict(list)
    for folder in sorted(path.parent for path in runs.glob("*/metrics.csv")):
        found = read_run(folder)
        numbers = {name: f"{value:.5g}" for name, value in kept(found).items()}
        group = f"{found.environment}-{found.algorithm}"
        groups[group].append({"method": found.method, "seed": found.seed, **numbers})
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in groups.items():
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def read(path: Path) -> Rows:
    """What `keep` wrote."""
    rows: Rows = defaultdict(dict)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            method, seed = row.pop("method"), row.pop("seed")
            rows[method][seed] = {name: float(value) for name, value in row.items()}
    return rows


def table(path: Path) -> str:
    """Two tables: returns, and what the trainings said of themselves."""
    rows = read(path)
    returns = [*KINDS, "all"]
    lines = ["| method | unperturbed | action | observation | environment | M | M, % of τ = 0 |"]
    lines.append("|---" * 7 + "|")
    for method, seeds in rows.items():
        cells = [cell([own[name] for own in seeds.values()]) for name in returns]
        lines.append(f"| `{method}` | {' | '.join([*cells, share(rows, method)])} |")
    lines += ["", "| method | calibration error | rank correlation | premium | β\\* | ρ |"]
    lines.append("|---" * 6 + "|")
    for method, seeds in rows.items():
        cells = [cell([own[name] for own in seeds.values()], 2) for name in TOLD[:5]]
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def share(rows: Rows, method: str) -> str:
    """M in percent of the same method's without a tilt, seed by seed."""
    base = method.removesuffix(TILTED)
    if base == method:
        return "–"
    own, other = rows[method], rows[base]
    return cell([100 * own[seed]["all"] / other[seed]["all"] for seed in own if seed in other], 1)


def cell(values: list[float], digits: int = 0) -> str:
    """Mean and half-width of its 95% interval."""
    found = mean_interval([value for value in values if np.isfinite(value)])
    return f"{found.value:,.{digits}f} ± {found.half_width:,.{digits}f}"


def _known_mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    keeping = commands.add_parser("keep")
    keeping.add_argument("runs", type=Path)
    keeping.add_argument("--out", type=Path, default=Path("studies/results/tilt"))
    commands.add_parser("table").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.command == "keep":
        keep(given.runs, given.out)
    else:
        print(table(given.path))


if __name__ == "__main__":
    main()
