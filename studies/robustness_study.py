"""Do nominal noise and a radius make policies robust? Train variants side by side and try them.

    python studies/robustness_study.py train nominal_models --env HalfCheetah --steps 150000 \
        --seeds 0 1 2 --out study
    python studies/robustness_study.py table study/HalfCheetah-sac-nominal_models.csv
    python studies/robustness_study.py effects study/HalfCheetah-sac-nominal_models.csv
    python studies/robustness_study.py figure study/*-curves.csv.xz --out epsilon.png

All variants and seeds of a study are one population; `divergences`, `machinery`, `numbers` and
`tries` have more, which train one after the other or, with `--part`, in a process each. `train`
evaluates the final policies on the paper's suite and leaves two small files for each study in the
output folder: the mean return of every run in every setting, and thinned training metrics; with
`--no-evaluation` they are left to `evaluate`, on any machine that has the run folders.
`table` prints means over seeds, or differences to one method, with their 95% intervals; `effects`
means for every level of ε and of the nominal scales, over all levels of the others, or with
`--less` differences to the same runs in another file; `pairs` what one change does to every method
that was tried with and without it; `overall` differences to one method over the tasks of several
files, `together` those of the mean of some methods to that of others; `figure` draws ε over the
run, a panel for each file or, with `--by method`, for each method.
Run folders go to `--scratch` and may be thrown away.
"""

import argparse
import csv
import lzma
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from drspcrl.config.presets import ablation
from drspcrl.evaluation import evaluate_runs
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import Run, read_run
from drspcrl.training import TrainConfig, train
from drspcrl.training.settings import specs_of
from study_tables import effects, overall, pairs, table, together

# What every study changes one thing or another in: the defaults before there were any studies.
BASE = {"sensor": 0.1, "actuator": 0.0, "rollout_noise": 0.0, "level_spread": 0.0}
# The noise that SAC's defaults became, for studies that came after.
NOISE = {"sensor": 0.2, "actuator": 0.3, "rollout_noise": 1.0, "level_spread": 1.0}
RADII, SENSORS, PROCESSES = (0.1, 0.3, 1.0), (0.05, 0.1, 0.2), (0.0, 0.01, 0.03)
# One thing at a time beside the defaults of self_paced, then rollouts under noise with others.
CHANGES = (
    *("actuator=0.1", "actuator=0.3", "sensor=0.0,actuator=0.3", "sensor=0.0,process=0.03"),
    *("pacing=0.3", "pacing=3.0", "rate=1.0", "rate=4.0", "epsilon_budget=0.1"),
    *("epsilon_budget=0.3", "epsilon_budget=2.0", "warmup_updates=75"),
    *("rollout_noise=1.0", "rollout_noise=1.0,actuator=0.1", "rollout_noise=1.0,actuator=0.3"),
    *("rollout_noise=1.0,sensor=0.05", "rollout_noise=1.0,sensor=0.2"),
    *("rollout_noise=2.0", "rollout_noise=1.0,sensor=0.0,actuator=0.3"),
)
# What may pay on all tasks: rollouts under noise, actuators, and sensor noise that costs less.
SPREAD = "rollout_noise=1.0,actuator=0.3,level_spread=1.0,sensor=0.2"
CANDIDATES = (
    *("sensor=0.0,process=0.03", "rollout_noise=1.0", "rollout_noise=1.0,actuator=0.3"),
    *(f"rollout_noise=1.0,actuator=0.3,sensor={σ}" for σ in (0.0, 0.03)),
    *("rollout_noise=1.0,actuator=0.3,level_spread=1.0", SPREAD),
    "rollout_noise=1.0,level_spread=1.0,sensor=0.2",
)
# The same for a learner whose rollouts always carry the noise.
ON_POLICY = (
    *(f"sensor={σ},actuator={τ}" for σ, τ in product((0.0, 0.03, 0.1), (0.1, 0.3))),
    "sensor=0.03",
    *("sensor=0.0,process=0.03", "sensor=0.2", "pacing=0.3", "pacing=3.0", "rate=1.0", "rate=4.0"),
    *("epsilon_budget=0.1", "epsilon_budget=0.3"),
)
# Less ε for each curriculum, by a number of its own where it has one; `accel`, whose ε is small
# already, more of it.
TRIES = (
    *(("self_paced", "pacing=0.3,rate=6.0"), ("space", "space_growth=0.3")),
    *(("linear", "epsilon_budget=0.3"), ("domain_randomization", "epsilon_budget=0.3")),
    ("accel", "accel_score=epsilon_beta"),
)
# Further numbers of the rivals, beside those of TRIES.
RIVALS = (
    *(("linear", "linear_end=0.5"), ("linear", "epsilon_start=0.1")),
    *(("space", "space_growth=3.0"), ("space", "space_smoothing=0.9")),
    *(("accel", "accel_easy=0.5"), ("accel", "accel_edit=0.2")),
    *(("domain_randomization", f"epsilon_budget={ε}") for ε in (0.1, 2.0)),
)
# The rule in ε itself: begun above 0, which it does not leave, and with a pace to match.
IN_EPSILON = "rule=radius,epsilon_start=0.05,pacing=100.0,rate=0.02"
# Every number of `self_paced` beside its default, for a learner whose noise has been chosen.
NUMBERS = (
    *("pacing=0.3,rate=6.0", "pacing=0.3", "pacing=3.0", "rate=1.0", "rate=4.0"),
    *("epsilon_budget=0.3", IN_EPSILON),
)
WITHOUT_ACTUATORS = "actuator=0.0,rollout_noise=0.0"


def around(radii: Iterable[float] = RADII, **scales: float) -> list[str]:
    """ε = 0 and fixed radii around one nominal model."""
    model = ",".join(f"{kind}={scale}" for kind, scale in scales.items())
    return [f"nominal:{model}", *fixed(radii, **scales)]


def fixed(radii: Iterable[float] = RADII, **scales: float) -> list[str]:
    """Fixed radii around one nominal model."""
    model = ",".join(f"{kind}={scale}" for kind, scale in scales.items())
    return [f"fixed:epsilon_budget={ε},{model}" for ε in radii]


@dataclass(frozen=True)
class Part:
    """One population of a study: its methods, settings, and what tells it from the others."""

    methods: list[str]
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = ""


def balls() -> list[Part]:
    """The references, and the self-paced rule in each ball of the ablation `divergence`."""
    parts = [Part(["vanilla", "nominal"])]
    for variant in ablation("divergence").variants:
        name = f"divergence={variant.changes['divergence']}"
        parts.append(Part([variant.method], dict(variant.changes), name))
    return parts


def worst_cases() -> list[Part]:
    """The self-paced rule with more draws, and with each of the other duals."""
    others = (("draws", 32), ("dual", "network"), ("dual", "gaussian"))
    return [Part(["self_paced"], NOISE | {name: x}, f"{name}={x}") for name, x in others]


STUDIES: dict[str, list[Part]] = {
    "nominal_models": [
        Part(["vanilla", *(m for s, k in product(SENSORS, PROCESSES)
                           for m in around(sensor=s, process=k))])
    ],
    "gaussian": [
        Part([m for s, k in product(SENSORS, (0.0, 0.03)) for m in fixed(sensor=s, process=k)],
             {"dual": "gaussian"})
    ],
    "sensors": [Part(["vanilla", *(m for s in SENSORS for m in around(sensor=s, process=0.0))])],
    "defaults": [
        Part(["vanilla", "nominal", "self_paced",
              *(f"self_paced:{change}" for change in CHANGES),
              *(f"{method}:rollout_noise=1.0" for method in ("nominal", "linear", "fixed"))])
    ],
    "candidates": [
        Part(["vanilla", "nominal", "self_paced",
              *(f"self_paced:{change}" for change in CANDIDATES),
              *(f"{method}:{SPREAD}" for method in ("nominal", "fixed"))])
    ],
    "again": [
        Part(["vanilla", "nominal", "self_paced",
              *(f"{method}:{SPREAD}" for method in ("nominal", "fixed", "self_paced"))])
    ],
    "on_policy": [
        Part(["vanilla", "nominal", "fixed", "linear", "self_paced",
              *(f"self_paced:{change}" for change in ON_POLICY),
              *(f"nominal:{change}"
                for change in ("sensor=0.03", "actuator=0.1", "sensor=0.03,actuator=0.1"))])
    ],
    "machinery": [
        Part(["vanilla", "self_paced", "linear", "linear_radius",
              f"self_paced:{IN_EPSILON}"], NOISE),
        *worst_cases(),
    ],
    "budgets": [
        Part(["vanilla", "nominal", "fixed", "fixed:epsilon_budget=0.3", "self_paced",
              "self_paced:epsilon_budget=0.3", "self_paced:pacing=0.3,rate=6.0"], NOISE)
    ],
    "tries": [
        Part(["vanilla", "nominal", "fixed", "linear", "domain_randomization", "accel", "space",
              "self_paced", *(f"{method}:{change}" for method, change in TRIES)], NOISE),
        *(Part([f"{method}:process={κ}" for method in ("nominal", "self_paced")],
               NOISE | {"relative": unit}, f"relative={unit}")
          for unit, κ in (("process", 0.1), ("step", 0.3))),
    ],
    "numbers": [
        Part(["vanilla", "nominal", "fixed", "linear", "linear_radius", "domain_randomization",
              "accel", "space", "self_paced",
              *(f"self_paced:{change}" for change in NUMBERS), "fixed:epsilon_budget=0.3",
              *(f"{method}:{WITHOUT_ACTUATORS}" for method in ("nominal", "self_paced"))], NOISE),
        *worst_cases(),
        Part([f"{method}:process=0.1" for method in ("nominal", "self_paced")], NOISE, "process"),
    ],
    "gusts": [
        Part(["vanilla", "nominal", "self_paced", "self_paced:rollout_gusts=1.0,process=0.03",
              *(f"{method}:rollout_gusts={level}" for method in ("nominal", "self_paced")
                for level in (1.0, 3.0))], NOISE)
    ],
    "rivals": [
        Part(["vanilla", "nominal", "self_paced",
              "linear", "domain_randomization", "accel", "space",
              *(f"{method}:{change}" for method, change in RIVALS)], NOISE)
    ],
    "pacing": [
        Part(["vanilla", "nominal", "fixed", "linear", "linear_radius", "domain_randomization",
              "accel", "space", "self_paced"])
    ],
    "paces": [Part(["self_paced", "linear", "space", "accel", "domain_randomization"])],
    "divergences": balls(),
}  # fmt: skip

CURVES = ("episode_return", "epsilon", "beta", "robust_value", "value_spread", "steps_per_second")
POINTS = 50
CURVES_END = "-curves.csv.xz"


def run(given: argparse.Namespace) -> None:
    root, begun = given.scratch / name_of(given), time.monotonic()
    parts = STUDIES[given.study]
    if given.part is not None:
        parts = [part for part in parts if part.name == given.part]
        if not parts:
            names = ", ".join(repr(part.name) for part in STUDIES[given.study])
            raise SystemExit(f"{given.study} has no part {given.part!r}; it has {names}")
    for part in parts:
        train(configuration(given, part, root / part.name))
    print(f"trained in {time.monotonic() - begun:.0f} s", flush=True)
    if not given.no_evaluation and given.part is None:
        evaluate(given)


def configuration(given: argparse.Namespace, part: Part, out: Path) -> TrainConfig:
    own = dict(pair.split("=", 1) for pair in given.set)
    known = specs_of(
        given.algorithm, "transitions"
    )  # PPO has no levels, and its rollouts always carry the noise
    noise = {k: v for k, v in (BASE | part.settings).items() if k in known or k not in BASE}
    return TrainConfig(
        env=given.env,
        algorithm=given.algorithm,
        out=out,
        methods=tuple(given.methods or part.methods),
        seeds=tuple(given.seeds),
        uncertainty="transitions",
        steps=given.steps,
        settings=noise | {name: _number(text) for name, text in own.items()},
        time_limit=given.minutes * 60,
        checkpoint_every=0,
        tensorboard=False,
    )


def evaluate(given: argparse.Namespace) -> None:
    begun = time.monotonic()
    folder = given.scratch / name_of(given)
    done = list(evaluate_runs(folder, load_policy, episodes=given.episodes, jobs=0, show="lines"))
    rows = [row for result in done for row in settings_of(result, folder)]
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{name_of(given)}.csv"
    write(path, ("method", "seed", "perturbation", "level", "return"), rows)
    path = given.out / f"{name_of(given)}{CURVES_END}"
    tried = [result.path for result in done if result.table is not None]
    write(path, ("method", "seed", "step", *CURVES), curves(tried, folder))
    print(f"evaluated in {time.monotonic() - begun:.0f} s", flush=True)


def name_of(given: argparse.Namespace) -> str:
    return f"{given.env}-{given.algorithm}-{given.study}{given.suffix}"


def _number(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def label_of(found: Run, root: Path) -> str:
    """A run's method, with the part of the study below `root` that it was in."""
    part = found.path.parent.relative_to(root).as_posix()
    return found.method if part == "." else f"{found.method}:{part}"


def settings_of(result: Any, root: Path) -> list[tuple]:
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
        (label_of(found, root), found.seed, kind, level, f"{np.nanmean(values):.1f}")
        for (kind, level), values in returns.items()
    ]


def curves(folders: list[Path], root: Path) -> list[tuple]:
    """Training metrics, thinned to means over equal stretches."""
    rows = []
    for found in map(read_run, folders):
        steps = found.metrics["step"]
        for part in np.array_split(np.arange(len(steps)), min(POINTS, len(steps))):
            numbers = (_mean(found.metrics[name][part]) for name in CURVES if name in found.metrics)
            rows.append((label_of(found, root), found.seed, int(steps[part[-1]]), *numbers))
    return rows


def _mean(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.mean():.5g}" if known.size else ""


def write(path: Path, header: tuple[str, ...], rows: list[tuple]) -> None:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


Curves = dict[tuple[str, str], list[tuple[float, float]]]


def read_curves(path: Path) -> Curves:
    """(method, seed) → points of thousand steps and ε."""
    found: Curves = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            point = float(row["step"]) / 1000, float(row["epsilon"])
            found[row["method"], row["seed"]].append(point)
    return found


def by_method(paths: list[Path]) -> dict[str, Curves]:
    """Curves of all files, a panel for each method whose ε ever moves."""
    panels: dict[str, Curves] = defaultdict(dict)
    for path in paths:
        for (method, seed), points in read_curves(path).items():
            panels[method][f"seed {seed}", path.name] = points
    return {
        method: runs
        for method, runs in panels.items()
        if any(ε for points in runs.values() for _, ε in points)
    }


def figure(panels: dict[str, Curves], out: Path) -> None:
    """ε of every run over its steps; runs of one first name share a colour."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = 3.4 * len(panels) + 1.5, 3.2
    sheet, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    colours: dict[str, Any] = {}
    for (title, runs), axis in zip(panels.items(), axes[0], strict=True):
        for (name, _), points in runs.items():
            known = colours.get(name)
            label = None if known and name in axis.get_legend_handles_labels()[1] else name
            (line,) = axis.plot(*np.transpose(points), lw=1.2, label=label, color=known)
            colours[name] = line.get_color()
        axis.set(xlabel="thousand steps", ylabel="ε")
        axis.set_title(title, fontsize=9)
    sheet.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    sheet.savefig(out, dpi=130)


def main(arguments: list[str] | None = None) -> None:
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
    trains.add_argument(
        "--part",
        help="one population alone, such as dual=network; `evaluate` is for all of them",
    )
    trains.add_argument("--no-evaluation", action="store_true", help="leave that to `evaluate`")
    tables = commands.add_parser("table")
    tables.add_argument("files", type=Path, nargs="+")
    tables.add_argument("--less", help="print differences to this method, seed by seed")
    levels = commands.add_parser("effects")
    levels.add_argument("files", type=Path, nargs="+")
    levels.add_argument("--less", type=Path, help="print differences to the runs of this file")
    paired = commands.add_parser("pairs")
    paired.add_argument("files", type=Path, nargs="+")
    paired.add_argument("--change", required=True, help="such as rollout_noise=1")
    tasks = commands.add_parser("overall")
    tasks.add_argument("files", type=Path, nargs="+")
    tasks.add_argument("--less", default="self_paced", help="the method that others are less of")
    pooled = commands.add_parser("together")
    pooled.add_argument("files", type=Path, nargs="+")
    pooled.add_argument("--methods", nargs="+", required=True, help="the mean of these")
    pooled.add_argument("--less", nargs="+", required=True, help="less that of these")
    figures = commands.add_parser("figure")
    figures.add_argument("files", type=Path, nargs="+")
    figures.add_argument("--by", choices=("file", "method"), default="file")
    figures.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    if given.command == "train":
        run(given)
    elif given.command == "evaluate":
        evaluate(given)
    elif given.command == "figure":
        files = {path.name.removesuffix(CURVES_END): read_curves(path) for path in given.files}
        figure(by_method(given.files) if given.by == "method" else files, given.out)
    elif given.command == "effects":
        print("\n\n".join(f"{path.stem}\n\n{effects(path, given.less)}" for path in given.files))
    elif given.command == "overall":
        print(overall(given.files, given.less))
    elif given.command == "together":
        print(together(given.files, given.methods, given.less))
    elif given.command == "pairs":
        print("\n\n".join(f"{path.stem}\n\n{pairs(path, given.change)}" for path in given.files))
    else:
        print("\n\n".join(f"{path.stem}\n\n{table(path, given.less)}" for path in given.files))


if __name__ == "__main__":
    main()
