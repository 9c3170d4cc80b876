"""Draw the learning curves of `studies/nominal_quality.py` beside the published returns.

    python studies/plot_nominal_quality.py studies/results/nominal docs/images/nominal_quality.png

Prints the table of final returns, in Markdown.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from drspcrl.statistics import mean_band, mean_interval

ALGORITHMS = {"ppo": "PPO", "sac": "SAC", "ddpg": "DDPG"}
COLOURS = {"ppo": "#0072B2", "sac": "#D55E00", "ddpg": "#009E73"}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_group(path: Path) -> dict[tuple[str, str], list[dict[str, str]]]:
    groups = defaultdict(list)
    for row in rows(path):
        groups[row["algorithm"], row["env"]].append(row)
    return dict(groups)


def table(final: dict[tuple[str, str], list[dict[str, str]]]) -> str:
    lines = [
        "| learner | task | return | seeds, one by one | CleanRL (v4, 3 seeds, mean ± sd) |",
        "|---|---|---|---|---|",
    ]
    for (algorithm, env), runs in sorted(final.items()):
        returns = [float(run["return"]) for run in runs]
        mean = mean_interval(returns)
        each = ", ".join(f"{value:,.0f}" for value in returns)
        lines.append(
            f"| {ALGORITHMS[algorithm]} | {env} | **{mean.value:,.0f}** ± {mean.half_width:,.0f} "
            f"| {each} | {runs[0]['cleanrl_1m'].replace('±', ' ± ')} |"
        )
    return "\n".join(lines)


def curve(runs: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps, mean over seeds and the half-width of its 95% interval, on a common grid."""
    seeds = defaultdict(list)
    for row in runs:
        seeds[row["seed"]].append((float(row["step"]), float(row["return"])))
    grid = np.linspace(2e4, 1e6, 50)
    curves = [np.interp(grid, *np.transpose(points)) for points in seeds.values()]
    mean, half, _ = mean_band(np.array(curves))
    return grid, mean, half


def draw(curves: dict, final: dict, target: Path) -> None:
    tasks = sorted({env for _, env in curves})
    figure, axes = plt.subplots(
        1, len(tasks), figsize=(5.2 * len(tasks), 3.6), layout="constrained"
    )
    for axis, task in zip(np.atleast_1d(axes), tasks, strict=True):
        for algorithm, name in ALGORITHMS.items():
            if (algorithm, task) not in curves:
                continue
            steps, mean, half = curve(curves[algorithm, task])
            colour = COLOURS[algorithm]
            axis.plot(steps, mean, color=colour, label=f"{name}, ours", linewidth=2)
            axis.fill_between(
                steps, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0
            )
            published = float(final[algorithm, task][0]["cleanrl_1m"].split("±")[0])
            axis.plot(1e6, published, "D", color=colour, markeredgecolor="white", markersize=8)
        axis.set(title=task, xlabel="environment steps", xlim=(0, 1.03e6))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g}M")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("episode return")
    first.plot([], [], "D", color="0.4", label="CleanRL at 1M")
    first.legend(frameon=False, fontsize=9)
    figure.savefig(target, dpi=150)


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    curves, final = by_group(source / "curves.csv"), by_group(source / "final.csv")
    draw(curves, final, target)
    print(table(final))


if __name__ == "__main__":
    main()
