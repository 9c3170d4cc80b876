"""Tables of what a study found: means over seeds and differences, with their 95% intervals.

Read by `robustness_study.py`, whose files have a row for each run and setting.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from drspcrl.statistics import mean_interval

COLUMNS = ("none", "action", "observation", "environment", "all")
Means = dict[str, dict[str, dict[str, float]]]
"""Mean return by method, seed and kind of perturbation."""


def read_means(path: Path) -> Means:
    """Mean return by method, seed and kind of perturbation; `all` is the mean of 15 settings."""
    returns: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            kinds = returns[row["method"]][row["seed"]]
            kinds.setdefault(row["perturbation"], []).append(float(row["return"]))
            if row["perturbation"] != "none":
                kinds.setdefault("all", []).append(float(row["return"]))
    return {
        method: {
            seed: {kind: float(np.mean(values)) for kind, values in kinds.items()}
            for seed, kinds in seeds.items()
        }
        for method, seeds in returns.items()
    }


def table(path: Path, less: str | None = None) -> str:
    """Means over seeds of each method, or of its difference to the method `less` seed by seed."""
    runs = read_means(path)
    if less is None:
        return markdown(
            "method", ((method, list(seeds.values())) for method, seeds in runs.items())
        )
    base = runs.pop(less)
    rows = (
        (method, [{k: own[k] - base[seed][k] for k in COLUMNS} for seed, own in seeds.items()])
        for method, seeds in runs.items()
    )
    return markdown(f"method less {less}", rows)


def effects(path: Path, less: Path | None = None) -> str:
    """The same for each level of ε and of the scales, averaged over all levels of the others.

    With `less`, of the differences to the same runs in another file, over what both files have.
    """
    runs = read_means(path)
    if less is not None:
        runs = differences(runs, read_means(less))
    groups: dict[str, list[str]] = defaultdict(list)
    for method in runs:
        name, _, text = method.partition(":")
        numbers = dict(pair.split("=") for pair in text.split(",") if pair)
        if "sensor" not in numbers or name not in ("nominal", "fixed"):
            groups[method].append(method)
            continue
        ε = "0 (nominal)" if name == "nominal" else numbers["epsilon_budget"]
        groups[f"ε = {ε}"].append(method)
        for symbol, kind in (("σ", "sensor"), ("κ", "process")):
            if kind in numbers:
                groups[f"{symbol} = {numbers[kind]}"].append(method)
    rows = []
    for label in sorted(groups, key=lambda label: (label[0] not in "v", label)):
        methods = groups[label]
        seeds = [
            {k: float(np.mean([runs[m][seed][k] for m in methods])) for k in COLUMNS}
            for seed in runs[methods[0]]
        ]
        rows.append((label, seeds))
    return markdown("mean over" if less is None else f"mean over, less {less.stem}", rows)


def pairs(path: Path, change: str) -> str:
    """What one change does: every method that has it, less the same without it, seed by seed."""
    runs = read_means(path)
    found = {}
    for method in runs:
        name, _, text = method.partition(":")
        changes = text.split(",")
        rest = ",".join(other for other in changes if other != change)
        base = f"{name}:{rest}" if rest else name
        if change in changes and base in runs:
            found[base] = [{k: own[k] - runs[base][seed][k] for k in COLUMNS}
                           for seed, own in runs[method].items()]  # fmt: skip
    if not found:
        raise SystemExit(f"{path}: no method was tried with and without {change!r}")
    everything = [
        {k: float(np.mean([seed[k] for seed in seeds])) for k in COLUMNS}
        for seeds in zip(*found.values(), strict=True)
    ]
    return markdown(f"{change} less without", [*found.items(), ("mean of these", everything)])


def overall(paths: list[Path], less: str) -> str:
    """All files together: differences to the method `less` in percent of what `vanilla` reaches.

    A percent is of vanilla's mean over the seeds of a task and the 15 settings, so that one seed
    of vanilla does not decide. Interval and mean are over all pairs of a task and a seed.
    """
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    for path in paths:
        runs = read_means(path)
        unit = unit_of(path, runs, [less])
        for method, seeds in runs.items():
            rows[method] += [{k: (own[k] - runs[less][seed][k]) / unit for k in COLUMNS}
                             for seed, own in seeds.items()]  # fmt: skip
    ordered = sorted(rows.items(), key=lambda row: -np.mean([seed["all"] for seed in row[1]]))
    return markdown(f"% of vanilla, less {less}", ordered)


def together(paths: Sequence[Path], methods: Sequence[str], less: Sequence[str]) -> str:
    """The mean of some methods less that of others, for each file and for all of them.

    In percent of what `vanilla` reaches, as in `overall`, and seed by seed.
    """
    rows: list[tuple[str, list[dict[str, float]]]] = []
    for path in paths:
        runs = read_means(path)
        unit = unit_of(path, runs, [*methods, *less])
        found = [
            {k: (mean_of(runs, methods, seed, k) - mean_of(runs, less, seed, k)) / unit
             for k in COLUMNS}
            for seed in runs[methods[0]]
        ]  # fmt: skip
        rows.append((path.stem, found))
    if len(paths) > 1:
        rows.append(("all of these", [pair for _, found in rows for pair in found]))
    return markdown("% of vanilla", rows)


def unit_of(path: Path, runs: Means, methods: Iterable[str]) -> float:
    """One percent of vanilla's mean over the seeds of a task and the 15 settings."""
    if missing := {"vanilla", *methods} - runs.keys():
        raise SystemExit(f"{path}: it has no {' and no '.join(sorted(missing))}")
    return float(np.mean([own["all"] for own in runs["vanilla"].values()])) / 100


def mean_of(runs: Means, methods: Iterable[str], seed: str, kind: str) -> float:
    return float(np.mean([runs[method][seed][kind] for method in methods]))


def differences(runs: Means, base: Means) -> Means:
    return {
        method: {
            seed: {k: own[k] - base[method][seed][k] for k in COLUMNS}
            for seed, own in seeds.items()
            if seed in base[method]
        }
        for method, seeds in runs.items()
        if method in base
    }


def markdown(what: str, rows: Iterable[tuple[str, list[dict[str, float]]]]) -> str:
    head = f"| {what} | nominal | action | observation | environment | all 15 |"
    lines = [head, "|---" * 6 + "|"]
    for label, seeds in rows:
        cells = " | ".join(cell([seed[kind] for seed in seeds]) for kind in COLUMNS)
        lines.append(f"| {label} | {cells} |")
    return "\n".join(lines)


def cell(values: list[float]) -> str:
    found = mean_interval(values)
    return f"{found.value:,.0f} ± {found.half_width:,.0f}"
