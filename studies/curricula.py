"""Every curriculum in the exact setting: how near the robust optimum each comes, and how ε goes.

    python studies/curricula.py docs/images

Nothing is estimated: exact β*, exact softmax policy gradient, steps of fixed length; only the
curriculum differs. Draws `curricula.png` and `self_paced_growth.png` and prints the table of
docs/concepts/curricula.md. About five minutes on two cores.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from drspcrl.curricula import CURRICULA, Curriculum, Yoked, curriculum
from drspcrl.divergences import KL
from drspcrl.report.names import looks, method_label
from drspcrl.tabular import (
    MDP,
    SparseMDP,
    make_instance,
    robust_policy_evaluation,
    robust_value_iteration,
)
from drspcrl.tabular.self_paced import Training, softmax, train

TASKS = {"garnet": "Garnet", "inventory": "Inventory", "riverswim": "RiverSwim"}
BUDGET, ITERATIONS, SEEDS, EVERY = 1.0, 150, 5, 5
SHOWN = [method for method in CURRICULA if method != "vanilla"]  # without estimates it is `nominal`
BALL = KL()


class Result(NamedTuple):
    """Runs of one method on one task, seeds first: gap [N, points], ε [N, T+1], return [N]."""

    gaps: np.ndarray
    radii: np.ndarray
    nominal: np.ndarray


def run(mdp: MDP | SparseMDP, rule: Curriculum, seed: int) -> Training:
    """One training from a policy near the uniform one."""
    logits = np.random.default_rng(seed).normal(scale=0.1, size=mdp.shape)
    return train(
        mdp,
        BALL,
        rule,
        iterations=ITERATIONS,
        learning_rate=1.0,
        normalized=True,
        logits=logits,
        seed=seed,
    )


def at_budget(mdp: MDP | SparseMDP, logits: np.ndarray) -> float:
    return robust_policy_evaluation(mdp, softmax(logits), BALL, BUDGET).expected_return


def measure(mdp: MDP | SparseMDP, runs: list[Training]) -> Result:
    """Gaps as shares of what the uniform policy leaves to be gained."""
    best = robust_value_iteration(mdp, BALL, BUDGET).expected_return
    whole = best - at_budget(mdp, np.zeros(mdp.shape))
    gaps = [[(best - at_budget(mdp, θ)) / whole for θ in run.logits[::EVERY]] for run in runs]
    return Result(
        gaps=np.array(gaps),
        radii=np.array([run.radii for run in runs]),
        nominal=np.array([run.nominal_returns[-1] for run in runs]),
    )


def compare(mdp: MDP | SparseMDP) -> dict[str, Result]:
    """All methods; `yoked` comes after the curve that it replays."""
    results = {}
    for method in sorted(SHOWN, key=lambda name: name == "yoked"):
        rule = curriculum(method, {"epsilon_budget": BUDGET}, ITERATIONS, mdp.discount, BALL)
        if method == "yoked":
            mean = results["self_paced"].radii.mean(axis=0)
            rule = Yoked(start=0.0, iterations=ITERATIONS, curve=tuple(mean.tolist()))
        results[method] = measure(mdp, [run(mdp, rule, seed) for seed in range(SEEDS)])
    return {method: results[method] for method in SHOWN}


def draw_comparison(found: dict[str, dict[str, Result]], target: Path) -> None:
    look = looks(SHOWN)
    figure, axes = plt.subplots(
        2, len(found), figsize=(13.5, 6.6), sharex=True, layout="constrained"
    )
    for column, (task, results) in enumerate(found.items()):
        gap, radius = axes[0, column], axes[1, column]
        # self_paced broad and late, and on it yoked, which is the same line here.
        for method in sorted(results, key=lambda name: ("self_paced", "yoked").count(name)):
            style = {
                "color": look[method].light,
                "linestyle": "--" if look[method].dash else "-",
                "linewidth": 4.0 if method == "self_paced" else 1.6,
                "alpha": 0.45 if method == "domain_randomization" else 1.0,
                "label": method_label(method),
            }
            gaps, radii = results[method].gaps.mean(axis=0), results[method].radii.mean(axis=0)
            gap.plot(np.arange(0, ITERATIONS + 1, EVERY), np.maximum(gaps, 1e-6), **style)
            radius.plot(radii, **style)
        gap.set(title=TASKS[task], yscale="log", ylim=(1e-5, 2))
        radius.set(xlabel="iteration", ylim=(-0.03, 1.05))
        for axis in (gap, radius):
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("distance to the robust optimum\nat the budget (share of uniform's)")
    axes[1, 0].set_ylabel("radius ε (mean of seeds)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=9, frameon=False)
    figure.savefig(target, dpi=130)


GROWTH = [
    ("α = 1 (default)", {}, "#d55e00", "-"),
    ("α = 0.3", {"pacing": 0.3}, "#e6a000", "-"),
    ("α = 3", {"pacing": 3.0}, "#882255", "-"),
    ("paper's rule from ε = 0", {"rule": "radius"}, "#0072b2", "--"),
    (
        "paper's rule from ε = 0.6, α = 100",
        {"rule": "radius", "epsilon_start": 0.6, "pacing": 100.0, "rate": 0.02},
        "#56b4e9",
        "--",
    ),
]


def draw_growth(target: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), sharey=True, layout="constrained")
    for axis, task in zip(axes, ("garnet", "inventory"), strict=True):
        mdp = make_instance(task)
        for name, settings, colour, dash in GROWTH:
            rule = curriculum("self_paced", settings, ITERATIONS, mdp.discount, BALL)
            axis.plot(run(mdp, rule, 0).radii, dash, color=colour, linewidth=2, label=name)
        axis.axhline(BUDGET, color="0.3", linewidth=1, linestyle=":")
        axis.set(title=TASKS[task], xlabel="iteration", ylim=(-0.03, 1.05))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("radius ε")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5,
                  frameon=False, fontsize=9)  # fmt: skip
    figure.savefig(target, dpi=130)


def table(found: dict[str, dict[str, Result]]) -> str:
    """Final distance, nominal return and ε of each method, in Markdown."""
    heads = "".join(f" {TASKS[task]}: distance | nominal return | ε |" for task in found)
    lines = [f"| method |{heads}", "|---|" + "---:|---:|---:|" * len(found)]
    for method in SHOWN:
        cells = ""
        for results in found.values():
            gaps, radii, nominal = results[method]
            cells += f" {max(gaps[:, -1].mean(), 0):.4f} | {nominal.mean():.2f} |"
            cells += f" {radii[:, -1].mean():.2f} |"
        lines.append(f"| `{method}` |{cells}")
    return "\n".join(lines)


def main() -> None:
    folder = Path(sys.argv[1])
    found = {task: compare(make_instance(task)) for task in TASKS}
    draw_comparison(found, folder / "curricula.png")
    draw_growth(folder / "self_paced_growth.png")
    print(table(found))


if __name__ == "__main__":
    main()
