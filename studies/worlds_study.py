"""What studies in worlds found: tables, and whether a method lies above the constants' frontier.

    python studies/worlds_study.py table digests/controls
    python studies/worlds_study.py table digests/tilt --less tilt=1
    python studies/worlds_study.py frontier digests/controls
    python studies/worlds_study.py ends digests/controls > ends.yaml

All of them read run folders or their digests. `table` prints means over seeds with their 95%
intervals (Student's t): returns, and what the trainings said of themselves in their last quarter.
M is the mean over the settings of the suite but the unperturbed one. With `--less CHANGE` a method
that has this change is shown as a share of the same method without it, seed by seed.

`frontier` asks whether a pace is worth something: the constants, from radius 0 to the whole budget,
make a frontier of unperturbed return against M (the upper hull of their means over seeds, also
between them, as a choice between two policies would reach). A method's excess is its M less the
frontier's at the same unperturbed return, with a 95% bootstrap interval over seeds. The hull of
noisy means lies too high, so that the excess is rather too small.

`ends` writes the grid of the second stage: constants and lines that end where `self_paced` ended on
the same task, and one common curve, its mean over all tasks.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import yaml

from drspcrl import variants
from drspcrl.runfolder.runs import Run, read_runs, with_distinct_labels
from drspcrl.runfolder.tables import DEFAULT_SUITE
from drspcrl.statistics import mean_interval
from drspcrl.variants import Variant

KINDS = ("none", "action", "observation", "environment")
RETURNS = (*KINDS, "M")
TOLD = ("calibration_error", "calibration", "premium", "beta", "price", "epsilon")
HEADS = ("calibration error", "rank correlation", "premium", "β\\*", "price", "ρ")
LATE = 0.75  # share of a run after which its own numbers count
RESAMPLES = 2000
LEAST = 0.01
"""Least end of a second stage; at 0 it would be `probes_only`."""
FIXED, SELF_PACED = "fixed", "self_paced"
Numbers = dict[str, float]
Group = dict[str, dict[int, Numbers]]
"""Numbers of one task and learner, by method, seed and name."""


def read_groups(root: Path) -> dict[str, Group]:
    """The numbers of all evaluated runs below a folder, by task and learner."""
    groups: dict[str, Group] = defaultdict(lambda: defaultdict(dict))
    for run in with_distinct_labels(
        [r for r in read_runs(root).runs if DEFAULT_SUITE in r.evaluations]
    ):
        groups[f"{run.environment}-{run.algorithm}"][run.method][run.seed] = numbers_of(run)
    if not groups:
        raise SystemExit(f"{root} has no run that was evaluated on the suite {DEFAULT_SUITE}")
    return groups


def numbers_of(run: Run) -> Numbers:
    """Mean returns by kind of setting, and the training's own numbers over its last quarter."""
    found = run.evaluations[DEFAULT_SUITE]
    settings = list(zip(found.perturbation.tolist(), found.level.tolist(), strict=True))
    means = {
        setting: float(np.mean(found.returns[[own == setting for own in settings]]))
        for setting in dict.fromkeys(settings)
    }
    numbers = {kind: _mean(m for (own, _), m in means.items() if own == kind) for kind in KINDS}
    numbers["M"] = _mean(m for (own, _), m in means.items() if own != "none")
    late = run.metrics["step"] > LATE * run.metrics["step"][-1]
    return numbers | {
        name: _mean(run.metrics[name][late]) if name in run.metrics else np.nan for name in TOLD
    }


def tables(groups: Mapping[str, Group], less: str | None = None) -> str:
    """Two tables for each task and learner."""
    lines = []
    for name, group in groups.items():
        shares = "" if less is None else f" | M, % of without {less}"
        lines += [f"**{name}**", "", f"| method | n | unperturbed | action | observation | "
                  f"environment | M{shares} |"]  # fmt: skip
        lines.append("|---" * (7 + (less is not None)) + "|")
        for method, seeds in group.items():
            cells = [cell([own[kind] for own in seeds.values()]) for kind in RETURNS]
            cells += [] if less is None else [share(group, method, less)]
            lines.append(f"| `{method}` | {len(seeds)} | {' | '.join(cells)} |")
        lines += ["", f"| method | {' | '.join(HEADS)} |", "|---" * (1 + len(HEADS)) + "|"]
        for method, seeds in group.items():
            cells = [cell([own[kind] for own in seeds.values()], 2) for kind in TOLD]
            lines.append(f"| `{method}` | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def share(group: Group, method: str, less: str) -> str:
    """M in percent of that of the same method without a change, over the seeds of both."""
    variant, change = (
        variants.parse_variant(method),
        variants.parse_variant(f"{FIXED}:{less}").changes,
    )
    if not change.items() <= variant.changes.items():
        return "–"
    rest = {name: value for name, value in variant.changes.items() if name not in change}
    base = group.get(variants.variant_label(Variant(variant.method, rest)), {})
    both = [100 * own["M"] / base[seed]["M"] for seed, own in group[method].items() if seed in base]
    return cell(both, 1)


def is_constant(method: str) -> bool:
    """Whether a method holds one radius, with probes and a critic that sees the world."""
    variant = variants.parse_variant(method)
    held = variant.method == FIXED and set(variant.changes) <= {"end_share"}
    return held or method == "probes_only"


def frontier(points: np.ndarray) -> np.ndarray:
    """The upper hull of points (unperturbed, M) [n, 2], from the least unperturbed to the most.

    What is worse in both than another is no part of it.
    """
    ordered = points[np.lexsort((-points[:, 1], -points[:, 0]))]
    hull: list[np.ndarray] = []
    for point in ordered:
        if hull and point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and _turns_in(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array(hull[::-1])


def excess(group: Group, method: str, seeds: Sequence[int]) -> float:
    """M of a method above the constants' frontier, by means over these seeds."""

    def mean(own: str) -> list[float]:
        return [_mean(group[own][seed][name] for seed in seeds) for name in ("none", "M")]

    hull = frontier(np.array([mean(own) for own in group if is_constant(own)]))
    unperturbed, among = mean(method)
    return among - float(np.interp(unperturbed, hull[:, 0], hull[:, 1]))


def frontiers(groups: Mapping[str, Group], resamples: int = RESAMPLES) -> str:
    """The excess of every method that is no constant, for each task and learner."""
    lines = ["| group | method | seeds | M above the constants' frontier | 95% interval |"]
    lines.append("|---" * 5 + "|")
    for name, group in groups.items():
        seeds = sorted(set.intersection(*(set(own) for own in group.values())))
        if sum(map(is_constant, group)) < 2 or not seeds:
            raise SystemExit(f"{name}: a frontier needs two constants with seeds in common")
        random = np.random.default_rng(0)
        draws = [random.choice(seeds, len(seeds)).tolist() for _ in range(resamples)]
        for method in (own for own in group if not is_constant(own)):
            low, high = np.percentile([excess(group, method, d) for d in draws], [2.5, 97.5])
            found = f"{excess(group, method, seeds):+,.0f}"
            lines.append(
                f"| {name} | `{method}` | {len(seeds)} | {found} | {low:+,.0f} to {high:+,.0f} |"
            )
    return "\n".join(lines)


def ends(groups: Mapping[str, Group], root: Path, steps: int) -> str:
    """The grid of the second stage, from where `self_paced` ended, in the same worlds."""
    paced = [run for run in read_runs(root).runs if run.method == SELF_PACED]
    if not paced:
        raise SystemExit(f"{root} has no run of {SELF_PACED}, whose end others are to have")
    entries = []
    for name, group in groups.items():
        env, _, algorithm = name.rpartition("-")
        seeds = sorted(group[SELF_PACED])
        ρ = max(LEAST, round(_mean(own["epsilon"] for own in group[SELF_PACED].values()), 2))
        shared = {"algorithm": algorithm, "env": env, "seeds": seeds, "steps": steps}
        held = [f"{method}:end_share={ρ}" for method in (FIXED, "linear")]
        entries.append(shared | {"methods": held})
        curve = {"settings": {"yoked_to": str(root.resolve())}}
        entries.append(shared | {"methods": ["yoked"]} | curve)
    grid = {
        "title": "Controls that end where self_paced ended, and its mean curve over all tasks",
        "groups": entries,
        "training": {
            "uncertainty": "worlds",
            "worlds": paced[0].config["worlds"],
            "checkpoint_every": 100_000,
            "tensorboard": False,
        },
        "evaluation": {"suite": DEFAULT_SUITE, "episodes": 10},
    }
    return yaml.safe_dump(grid, sort_keys=False)


def cell(values: Sequence[float], digits: int = 0) -> str:
    """Mean and half-width of its 95% interval."""
    found = mean_interval([value for value in values if np.isfinite(value)])
    if not np.isfinite(found.value):
        return "–"
    return f"{found.value:,.{digits}f} ± {found.half_width:,.{digits}f}"


def _turns_in(first: np.ndarray, middle: np.ndarray, last: np.ndarray) -> bool:
    """Whether the middle of three points of falling unperturbed return lies below the others."""
    across = (last[0] - first[0]) * (middle[1] - first[1])
    return bool(across >= (middle[0] - first[0]) * (last[1] - first[1]))


def _mean(values: Iterable[float]) -> float:
    known = np.array([value for value in values if np.isfinite(value)])
    return float(known.mean()) if known.size else float("nan")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    tabled = commands.add_parser("table")
    tabled.add_argument("--less", metavar="CHANGE", help="such as tilt=1")
    ending = commands.add_parser("ends")
    ending.add_argument("--steps", type=int, default=300_000)
    for one in (tabled, ending, commands.add_parser("frontier")):
        one.add_argument("runs", type=Path)
    given = parser.parse_args(arguments)
    groups = read_groups(given.runs)
    if given.command == "table":
        print(tables(groups, given.less))
    elif given.command == "frontier":
        print(frontiers(groups))
    else:
        print(ends(groups, given.runs, given.steps), end="")


if __name__ == "__main__":
    main()
