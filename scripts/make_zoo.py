"""Put trained policies into zoo/, each with its results and a card.

    python scripts/make_zoo.py RUN... --zoo zoo

Every RUN is the run folder of a finished training (or its digest with a policy). Its layers are
stored in half precision if the mean return over the suite `paper` stays within two standard errors
of the difference, episode by episode; what the zoo says a policy returns was measured with the file
that it holds. A name is <task>-<learner>-<method>, with -transitions for a robust method of the
paper's form. An entry of the same name is replaced.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from drspcrl import files
from drspcrl.cli.zoo import returns_of
from drspcrl.evaluation import evaluate_runs
from drspcrl.policy import POLICY_FILE, load_policy, save_policy
from drspcrl.report.results import setting_means
from drspcrl.runfolder.runs import Run, read_run
from drspcrl.runfolder.tables import Evaluation
from drspcrl.runfolder.thinning import digest

PLAIN = ("vanilla",)


def name_of(run: Run) -> str:
    """What the zoo calls a run."""
    name = f"{run.environment}-{run.algorithm}-{run.method}"
    return name if run.uncertainty == "worlds" or run.method in PLAIN else f"{name}-transitions"


def candidate(source: Run, folder: Path, half: bool) -> Path:
    """A run folder with the policy in one of the two precisions, and no results yet."""
    folder.mkdir()
    for file in source.path.iterdir():
        if file.name in ("run.json", "config.yaml") or file.name.startswith("metrics.csv"):
            shutil.copy(file, folder / file.name)
    save_policy(folder / POLICY_FILE, load_policy(source.path), half=half)
    return folder


def difference(half: Evaluation, whole: Evaluation) -> tuple[float, float]:
    """Mean over perturbed settings of the difference in return, and its standard error.

    Both evaluations have the same episodes, with the same random numbers.
    """
    apart = half.returns - whole.returns
    settings = np.char.add(half.perturbation, half.level.astype(str))
    perturbed = [apart[settings == s] for s in np.unique(settings[half.perturbation != "none"])]
    variances = [np.nanvar(d, ddof=1) / np.isfinite(d).sum() for d in perturbed]
    mean = np.mean([np.nanmean(d) for d in perturbed])
    return float(mean), float(np.sqrt(np.sum(variances)) / len(perturbed))


def evaluated(folder: Path, suites: Mapping[str, int]) -> Run:
    """A run folder after its evaluation."""
    for suite, episodes in suites.items():
        for result in evaluate_runs(folder, load_policy, suite, episodes, show=None):
            assert result.status == "evaluated", result.reason
    return read_run(folder)


def entry(source: Run, suites: Mapping[str, int], work: Path) -> dict[str, bytes]:
    """The files of one policy in the zoo."""
    first = {"paper": suites["paper"]}
    half = evaluated(candidate(source, work / "half", half=True), first)
    whole = evaluated(candidate(source, work / "whole", half=False), first)
    mean, error = difference(half.evaluations["paper"], whole.evaluations["paper"])
    chosen = half if abs(mean) <= 2 * error else whole
    rest = {suite: episodes for suite, episodes in suites.items() if suite != "paper"}
    run = evaluated(chosen.path, rest)
    content = digest(run, with_policy=True)
    stored = "half" if chosen is half else "single"
    precision = f"{stored} precision; half against single: {mean:+,.1f} ± {2 * error:,.1f}"
    return content | {"card.md": card(run, precision).encode()}


def command(run: Run) -> str:
    """What trained it, with all that was asked for."""
    asked = run.config["population"]
    parts = [f"drspcrl train --env {run.environment} --algorithm {run.algorithm}"]
    parts += [f"--methods {' '.join(asked['methods'])}"]
    parts += [f"--seeds {' '.join(map(str, asked['seeds']))} --steps {run.config['steps']}"]
    if run.uncertainty != "worlds":
        parts.append(f"--uncertainty {run.uncertainty}")
    if asked["settings"]:
        changed = (f"{k}={json.dumps(v)}" for k, v in asked["settings"].items())
        parts.append(f"--set {' '.join(changed)}")
    return " ".join([*parts, "--out runs"])


def worlds(run: Run) -> list[str]:
    """What it was trained against, and how far."""
    if run.method in PLAIN:
        return ["Trained in the simulator as it is."]
    last = run.metrics["epsilon"][-1]
    settings = run.config["settings"]
    if run.uncertainty == "worlds":
        declared = {k: v for k, v in run.config["worlds"].items() if v not in ({}, [], 0.0)}
        return [f"Trained in worlds up to ε = {last:.2f} of {settings['epsilon_budget']:g}, where",
                "ε = 1 is these tolerances:", "", f"    {json.dumps(declared)}"]  # fmt: skip
    scales = ", ".join(f"{k} {settings[k]:g}" for k in ("sensor", "actuator", "process"))
    return [
        f"Trained in transitions, the paper's form: {settings['divergence']} ball of radius up to",
        f"ε = {last:.2f} of {settings['epsilon_budget']:g} around the nominal noise {scales}.",
    ]


def returns(run: Run) -> list[str]:
    """A table for each suite."""
    lines = []
    for suite, evaluation in run.evaluations.items():
        means = setting_means(evaluation, run.path.name, [])
        count = len(np.unique(evaluation.episode))
        lines += ["", f"## Suite `{suite}`, {count} episodes a setting", ""]
        lines += ["| setting | mean return |", "|---|---:|"]
        lines += [f"| {name} {level:g} | {mean:,.0f} |" for (name, level), mean in means.items()]
    return lines


def card(run: Run, precision: str) -> str:
    """What a user should know, as Markdown."""
    unperturbed, perturbed = returns_of(run)
    versions = run.info["versions"]
    lines = [
        f"# {name_of(run)}",
        "",
        f"{run.environment}, {run.algorithm}, {run.method}, seed {run.seed}, "
        f"{run.info['steps']:,} steps.",
        f"Mean return {unperturbed:,.0f} unperturbed, {perturbed:,.0f} over the 15 perturbed",
        "settings of the suite `paper`.",
        "",
        *worlds(run),
        "",
        f"    {command(run)}",
        "",
        f"at commit {run.info['commit'][:12]}, MuJoCo {versions['mujoco']}, JAX {versions['jax']}, "
        f"{run.info['started'][:10]}; every number is in `config.yaml`.",
        "",
        f"Weights: {precision} (mean return over the 15 settings, ± two standard errors).",
        "Licence: MIT, like the library.",
        *returns(run),
    ]
    return "\n".join(lines) + "\n"


def put(folder: Path, content: Mapping[str, bytes]) -> None:
    """Write an entry in place of an earlier one of the same name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in content.items():
        files.write_durably(folder / name, data)


def main() -> None:
    parser = argparse.ArgumentParser(description="Put trained policies into zoo/.")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--zoo", type=Path, default=Path("zoo"))
    parser.add_argument("--paper", type=int, default=20, help="episodes of each of its settings")
    parser.add_argument("--beyond", type=int, default=5, help="the same; 0 leaves that suite out")
    given = parser.parse_args()
    suites = {"paper": given.paper} | ({"beyond": given.beyond} if given.beyond else {})
    for path in given.runs:
        run = read_run(path, evaluations=False)
        with tempfile.TemporaryDirectory() as work:
            put(given.zoo / name_of(run), entry(run, suites, Path(work)))
        print(f"{name_of(run)}: {(given.zoo / name_of(run) / 'card.md').stat().st_size} bytes")


if __name__ == "__main__":
    main()
