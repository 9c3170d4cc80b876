"""Do nominal noise and a radius make policies robust? Train variants side by side and try them.

    python benchmarks/robustness_study.py train nominal_models --env HalfCheetah --steps 150000 \
        --seeds 0 1 2 --out study
    python benchmarks/robustness_study.py table study/HalfCheetah-sac-nominal_models.csv
    python benchmarks/robustness_study.py effects study/HalfCheetah-sac-nominal_models.csv
    python benchmarks/robustness_study.py figure study/*-curves.csv --out epsilon.png

All variants and seeds of a study are one population. `train` evaluates the final policies on the
paper's suite and leaves two small files for each study in the output folder: the mean return of
every run in every setting, and thinned training metrics; with `--no-evaluation` that is left to
`evaluate`, on any machine that has the run folders. `table` prints means over seeds with their
95% intervals, `effects` the same for every level of ε and of the nominal scales, over all levels of
the others, `figure` draws ε over the run. Run folders go to `--scratch` and may be thrown away.
"""

import argparse
import csv
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.evaluation import evaluate_runs
from drspcrl.policy import load_policy
from drspcrl.runs import read_run
from drspcrl.statistics import mean_interval
from drspcrl.trainer import TrainConfig, train

RADII, SENSORS, PROCESSES = (0.1, 0.3, 1.0), (0.05, 0.1, 0.2), (0.0, 0.01, 0.03)


def around(sensor: float, process: float, radii: tuple[float, ...] = RADII) -> list[str]:
    """ε = 0 and fixed radii around one nominal model."""
    scales = f"sensor={sensor},process={process}"
    return [f"nominal:{scales}", *(f"fixed:epsilon_budget={ε},{scales}" for ε in radii)]


# name → methods, settings of the whole population
STUDIES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nominal_models": (
        ["vanilla", *(m for s, k in product(SENSORS, PROCESSES) for m in around(s, k))],
        {},
    ),
    "gaussian": ([m for k in (0.0, 0.03) for m in around(0.1, k)[1:]], {"dual": "gaussian"}),
    "sensors": (["vanilla", *(m for s in SENSORS for m in around(s, 0.0))], {}),
    "pacing": (
        ["vanilla", "nominal", "fixed", "linear", "linear_radius", "domain_randomization",
         "accel", "space", "self_paced"],
        {},
    ),
    "paces": (["self_paced", "linear", "space", "accel", "domain_randomization"], {}),
}  # fmt: skip

CURVES = ("episode_return", "epsilon", "beta", "robust_value", "value_spread", "steps_per_second")
POINTS = 50


def run(given: argparse.Namespace) -> None:
    methods, settings = STUDIES[given.study]
    own = dict(pair.split("=", 1) for pair in given.set)
    begun = time.monotonic()
    folders = train(
        TrainConfig(
            env=given.env,
            algorithm=given.algorithm,
            out=given.scratch / name_of(given),
            methods=tuple(given.methods or methods),
            seeds=tuple(given.seeds),
            steps=given.steps,
            settings=settings | {name: _number(text) for name, text in own.items()},
            time_limit=given.minutes * 60,
            checkpoint_every=0,
            tensorboard=False,
        )
    )
    print(f"trained in {time.monotonic() - begun:.0f} s", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{name_of(given)}-curves.csv"
    write(path, ("method", "seed", "step", *CURVES), curves(folders))
    if not given.no_evaluation:
        evaluate(given)


def evaluate(given: argparse.Namespace) -> None:
    begun = time.monotonic()
    folder = given.scratch / name_of(given)
    done = evaluate_runs(folder, load_policy, "paper", given.episodes, 0, show="lines")
    rows = [row for result in done for row in settings_of(result)]
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{name_of(given)}.csv"
    write(path, ("method", "seed", "perturbation", "level", "return"), rows)
    print(f"evaluated in {time.monotonic() - begun:.0f} s", flush=True)


def name_of(given: argparse.Namespace) -> str:
    return f"{given.env}-{given.algorithm}-{given.study}{given.suffix}"


def _number(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def settings_of(result: Any) -> list[tuple]:
    """The mean return of a run in each setting."""
    found = read_run(result.path)
    if result.table is None:
        print(f"{result.path.name}: {result.reason}", flush=True)
        return []
    returns = defaultdict(list)
    table = result.table
    for kind, level, value in zip(table.perturbation, table.level, table.returns, strict=True):
        returns[str(kind), float(level)].append(value)
    return [
        (found.method, found.seed, kind, level, f"{np.nanmean(values):.1f}")
        for (kind, level), values in returns.items()
    ]


def curves(folders: tuple[Path, ...]) -> list[tuple]:
    """Training metrics, thinned to means over equal stretches."""
    rows = []
    for found in map(read_run, folders):
        steps = found.metrics["step"]
        for part in np.array_split(np.arange(len(steps)), min(POINTS, len(steps))):
            numbers = (_mean(found.metrics[name][part]) for name in CURVES if name in found.metrics)
            rows.append((found.method, found.seed, int(steps[part[-1]]), *numbers))
    return rows


def _mean(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.mean():.5g}" if known.size else ""


def write(path: Path, header: tuple[str, ...], rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


COLUMNS = ("none", "action", "observation", "environment", "all")


def read_means(path: Path) -> dict[str, dict[str, dict[str, float]]]:
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


def table(path: Path) -> str:
    """Means over seeds of each method: nominal, by kind of perturbation, all 15 settings."""
    rows = ((method, list(seeds.values())) for method, seeds in read_means(path).items())
    return markdown("method", rows)


def effects(path: Path) -> str:
    """The same for each level of ε and of the scales, averaged over all levels of the others."""
    runs = read_means(path)
    groups: dict[str, list[str]] = defaultdict(list)
    for method in runs:
        text = method.partition(":")[2]
        numbers = dict(pair.split("=") for pair in text.split(",") if pair)
        if "sensor" not in numbers:
            groups[method].append(method)
            continue
        groups[f"ε = {numbers.get('epsilon_budget', '0 (nominal)')}"].append(method)
        groups[f"σ = {numbers['sensor']}"].append(method)
        groups[f"κ = {numbers['process']}"].append(method)
    rows = []
    for label in sorted(groups, key=lambda label: (label[0] not in "v", label)):
        methods = groups[label]
        seeds = [
            {k: np.mean([runs[m][seed][k] for m in methods]) for k in COLUMNS}
            for seed in runs[methods[0]]
        ]
        rows.append((label, seeds))
    return markdown("mean over", rows)


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


def figure(paths: list[Path], out: Path) -> None:
    """ε of every run over its steps, one panel for each file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = 4.2 * len(paths) + 1.5, 3.2
    panels, axes = plt.subplots(1, len(paths), figsize=size, squeeze=False, layout="constrained")
    colours: dict[str, Any] = {}
    for path, axis in zip(paths, axes[0], strict=True):
        curves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                point = float(row["step"]) / 1000, float(row["epsilon"])
                curves[row["method"], row["seed"]].append(point)
        for (method, _), points in curves.items():
            known = colours.get(method)
            label = None if known and method in axis.get_legend_handles_labels()[1] else method
            (line,) = axis.plot(*np.transpose(points), lw=1.2, label=label, color=known)
            colours[method] = line.get_color()
        axis.set(title=path.stem.removesuffix("-curves"), xlabel="thousand steps", ylabel="ε")
    panels.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    panels.savefig(out, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    trains, evaluates = commands.add_parser("train"), commands.add_parser("evaluate")
    for parser_of_both in (trains, evaluates):
        parser_of_both.add_argument("study", choices=sorted(STUDIES))
        parser_of_both.add_argument("--env", default="HalfCheetah")
        parser_of_both.add_argument("--algorithm", default="sac")
        parser_of_both.add_argument("--suffix", default="", help="of all names, for a variant")
        parser_of_both.add_argument("--episodes", type=int, default=6)
        parser_of_both.add_argument("--out", type=Path, default=Path("study"))
        parser_of_both.add_argument("--scratch", type=Path, default=Path("study/runs"))
    trains.add_argument("--methods", nargs="*", help="other methods than the study's own")
    trains.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    trains.add_argument("--steps", type=int, default=150_000)
    trains.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    trains.add_argument("--minutes", type=float, default=9.0)
    trains.add_argument("--no-evaluation", action="store_true", help="leave that to `evaluate`")
    for name in ("table", "effects"):
        commands.add_parser(name).add_argument("files", type=Path, nargs="+")
    figures = commands.add_parser("figure")
    figures.add_argument("files", type=Path, nargs="+")
    figures.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "train":
        run(given)
    elif given.command == "evaluate":
        evaluate(given)
    elif given.command == "figure":
        figure(given.files, given.out)
    else:
        show = {"table": table, "effects": effects}[given.command]
        print("\n\n".join(f"{path.stem}\n\n{show(path)}" for path in given.files))


if __name__ == "__main__":
    main()
