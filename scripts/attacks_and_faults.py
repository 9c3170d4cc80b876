"""Make the tables of docs/guides/attacks_and_faults.md from the policies of the zoo.

    python scripts/attacks_and_faults.py OUT [--episodes 20]

Every policy is copied into OUT, a folder of runs, and evaluated there with the suites `attacks` and
`faults`; what is there already is kept.
"""

import argparse
from pathlib import Path

import numpy as np

from drspcrl import zoo
from drspcrl.evaluation import EvaluationTable, evaluate_runs
from drspcrl.evaluation.table import Summary
from drspcrl.policy import load_policy

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/guides/attacks_and_faults.md"
MARKERS = {
    suite: (f"<!-- {suite}: made by scripts/attacks_and_faults.py -->", "<!-- end -->")
    for suite in ("attacks", "faults")
}
ATTACKS = ("random_attack", "action_attack", "query_attack")


def evaluated(out: Path, suite: str, episodes: int) -> dict[str, EvaluationTable]:
    """The tables of all policies of the zoo, by name."""
    tables = {}
    for name in zoo.names():
        folder = out / name
        if not folder.exists():
            out.mkdir(parents=True, exist_ok=True)
            folder = zoo.copied(zoo.folder_of(name), out)
        (result,) = evaluate_runs(folder, load_policy, suite, episodes, show=None)
        if result.table is None:
            raise SystemExit(f"{name}: {result.reason}")
        tables[name] = result.table
        print(f"{name}\n{result.table}\n", flush=True)
    return tables


def interval(table: EvaluationTable, attack: str) -> str:
    """The mean return under an attack, with its standard error."""
    found = table.returns[table.perturbation == attack]
    return f"{np.mean(found):,.0f} ± {np.std(found, ddof=1) / np.sqrt(len(found)):,.0f}"


def attacks(tables: dict[str, EvaluationTable]) -> list[str]:
    """Mean returns without and with each attack."""
    rows = [
        "| policy | ε | unperturbed | uniform noise | action attack | query attack |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, table in tables.items():
        radius = table.level[table.perturbation == "random_attack"][0]
        cells = [interval(table, kind) for kind in ("none", *ATTACKS)]
        rows.append(f"| `{name}` | {radius:g} | {' | '.join(cells)} |")
    return rows


def faults(tables: dict[str, EvaluationTable]) -> list[str]:
    """Mean return, how many episodes recovered, and in how many steps."""
    first = next(iter(tables.values())).summary()
    heads = [_heading(s) for s in first]
    rows = [f"| policy | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for name, table in tables.items():
        rows.append(f"| `{name}` | {' | '.join(map(_cell, table.summary()))} |")
    return rows


_SHORT = {
    "stuck_joint": "joint stuck",
    "dead_sensor": "readings dead",
    "authority_loss": "motors weak",
    "physics_shift": "masses",
}


def _heading(summary: Summary) -> str:
    kind, _, rest = summary.perturbation.partition("[")
    if kind == "none":
        return "no fault"
    until = rest.partition("until=")[2].rstrip("]")
    when = f"{int(until) - 300} steps" if until else "for good"
    level = {"authority_loss": f"{summary.level:.0%}", "physics_shift": f"×{summary.level:g}"}
    return f"{_SHORT[kind]}, {level.get(kind, f'{summary.level:g}')}, {when}"


def _cell(summary: Summary) -> str:
    steps = f", {summary.recovery:.0f}" if np.isfinite(summary.recovery) else ""
    return f"{summary.mean:,.0f} ({summary.recovered}/{summary.faulty}{steps})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--episodes", type=int, default=20)
    options = parser.parse_args()
    for suite, table in (("attacks", attacks), ("faults", faults)):
        lines = table(evaluated(options.out, suite, options.episodes))
        begin, end = MARKERS[suite]
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        after = rest.partition(end)[2]
        PAGE.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")


if __name__ == "__main__":
    main()
