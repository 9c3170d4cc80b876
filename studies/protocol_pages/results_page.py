"""docs/results/results.md."""

from collections import Counter
from pathlib import Path

import numpy as np

from drspcrl.data import cleanrl_returns
from drspcrl.report.curves import curves_of_runs
from drspcrl.report.figures.style import Paint, save
from drspcrl.report.figures.training import training
from drspcrl.report.names import (
    TASK_ORDER,
    algorithm_label,
    in_order,
    looks,
    method_label,
    ordered_methods,
)
from drspcrl.report.results import NOMINAL, Group, Results, restricted
from drspcrl.report.summary import group_means
from drspcrl.report.table import to_markdown
from drspcrl.report.tables import comparison_table
from drspcrl.statistics import headline_gain, mean_interval
from protocol_pages.evidence import FOCUS, KINDS, SEVEN, Evidence, group_title
from protocol_pages.provenance import made_with
from protocol_pages.sums import chance_of, gain, part
from protocol_pages.words import NOT_YET, SYNTHETIC, kind_label, mean, percent, table, with_chance

INTRODUCTION = (
    "# Results\n\n"
    "The paper's protocol on this library: 1M steps, five seeds, the final policy for 100 episodes "
    "in each of 16 settings (unperturbed, and five levels of action, observation and environment "
    "noise), the paper's seven methods and `nominal` (the same nominal noise, ε = 0) beside them, "
    "and on HalfCheetah `self_paced` without sensor noise. Every table and figure on this page is "
    "computed from the digests of runs in `studies/results/protocol` by\n\n"
    "    make results\n\n"
    "and a test does it again and compares, so that page and runs cannot drift apart; only what is "
    "under *In words* was written by hand. How the runs are made, in pieces, is in "
    "[Grids](../guides/grids.md); the formulas are in [Statistics](../concepts/statistics.md); "
    "what it means for each claim of the paper is in [Claims](claims.md).\n"
)

GAIN = (
    "G is the mean over groups of (M − M of the rival) / M of the rival, M the mean return over "
    "the settings; brackets hold the 95% bootstrap interval over seeds, the best rival chosen "
    "again in each replicate. The best rival is the best of the paper's six other methods, in "
    "groups that have them all. **The best of six is ahead by chance**: *by chance* is what G "
    "would be if the six methods with a nominal model were one and the same and `vanilla` as it "
    "is, their runs dealt again among them within each group, mean and middle 95%. G inside that "
    "range is what one of several equal methods gets. Published means carry no seeds, hence "
    "neither interval nor chance; the paper has no `nominal`.\n"
)

IN_FAMILY = (
    "**Observation noise is in-family.** Training carries sensor noise (σ of 0.1 or 0.2) for "
    "every method but `vanilla` and those with sensor noise off, so that observation noise is the "
    "kind that was trained against, though its levels, up to σ = 0.5, are not. Where training "
    "carries actuator noise too, as it does by default with SAC and DDPG, action noise is near "
    "what was trained against: there a Gaussian is added to the action, here a uniform action "
    "replaces it now and then. Where a group was trained with other noise than [the "
    "defaults](../concepts/nominal_models.md), the table above says with which. Gains are "
    "therefore given by kind and once more with observation noise left out of the mean, and "
    "against `nominal`, which "
    "trains with the same noise at ε = 0: what remains over `nominal` is what the worst case "
    "adds.\n"
)

# What the numbers say, in words: the one part of the page that is not computed.
READING = Path(__file__).with_name("reading.md")
# The groups that the words are about, and how many seeds they had when they were written.
READING_SEEDS = {
    **dict.fromkeys([("sac", "HalfCheetah"), ("sac", "Hopper"), ("ppo", "HalfCheetah")], 5),
    **dict.fromkeys([("ppo", "Hopper"), ("ppo", "Walker2d")], 5),
    ("ddpg", "HalfCheetah"): 4,
}


def results_page(evidence: Evidence, images: Path) -> str:
    """The page as Markdown; its figures go to `images`."""
    sections = [
        INTRODUCTION,
        *([SYNTHETIC] if evidence.synthetic else []),
        _state(evidence),
        _gains(evidence),
        *_reading(evidence),
        *_sensor_off(evidence),
        _nominal(evidence),
        _epsilon(evidence, images),
        *[_group(evidence, group) for group in evidence.groups if group in evidence.results.runs],
    ]
    return "\n".join(sections)


def _state(evidence: Evidence) -> str:
    """What has been run."""
    planned = {(one.algorithm, one.env): one for one in evidence.plan}
    rows = []
    for group in evidence.groups:
        runs = [run for run in evidence.runs if (run.algorithm, run.environment) == group]
        if not runs and group not in planned:
            continue
        counts = _counts(evidence, group, planned.get(group))
        rows.append([group_title(group), *counts, made_with(runs)])
    heads = ["group", "evaluated runs", "state", "made with"]
    text = "## What has been run\n\n" + table(heads, rows, left=len(heads))
    if not evidence.runs:
        text += (
            "\nNo run of this length has been kept yet: every number of ours below is not yet "
            "measured.\n"
        )
    if any(run.status == "diverged" for run in evidence.runs):
        text += (
            "\nA run that diverged has no final policy and is missing from every mean below, which "
            "flatters its method.\n"
        )
    if evidence.left_out:
        text += "\nNot counted: " + "; ".join(
            f"`{skip.path.name}` ({skip.reason})" for skip in evidence.left_out
        ) + ".\n"  # fmt: skip
    if evidence.results.notes:
        text += "\n" + "".join(f"- {note}\n" for note in evidence.results.notes)
    return text


def _counts(evidence: Evidence, group: Group, plan) -> tuple[str, str]:
    runs = [run for run in evidence.runs if (run.algorithm, run.environment) == group]
    done = Counter({m: len(x) for m, x in evidence.results.runs.get(group, {}).items()})
    diverged = sum(run.status == "diverged" for run in runs)
    lost = f", {diverged} diverged" if diverged else ""
    if plan is None:
        return str(done.total()), f"beyond the protocol{lost}"
    missing = [m for m in plan.methods if done[m] < len(plan.seeds)]
    count = f"{sum(done[m] for m in plan.methods)} of {plan.size}"
    if not runs:
        return count, NOT_YET
    if not missing:
        return count, f"complete{lost}"
    return count, f"partial: fewer than {len(plan.seeds)} seeds of {', '.join(missing)}{lost}"


def _gains(evidence: Evidence) -> str:
    """G by opponent and by part of the settings, ours beside the paper's."""
    shared = restricted(evidence.paper, evidence.results)
    selections = {
        "all 15 settings": KINDS,
        **{kind_label(kind): (kind,) for kind in KINDS},
        "action and physics noise": ("action", "environment"),
    }
    opponents = {
        "the best rival": SEVEN,
        "`vanilla`": (FOCUS, "vanilla"),
        "`nominal`": (FOCUS, "nominal"),
    }
    rows = []
    for selection, kinds in selections.items():
        for opponent, methods in opponents.items():
            sides = [
                gain(part(side, methods, kinds=kinds), FOCUS)
                for side in (evidence.results, shared, evidence.paper)
            ]
            published = [percent(e) if e.n else "–" for e in sides[1:]]
            chance = "–"
            if methods is SEVEN and sides[0].n:
                chance = percent(chance_of(part(evidence.results, methods, kinds=kinds), FOCUS))
            rows.append([selection, opponent, percent(sides[0], n=True), chance, *published])
    published = ("the paper's, same groups", "the paper's, all 12")
    heads = ["settings", "over", "ours", "by chance", *published]
    noise = gain(part(evidence.results, ("nominal", "vanilla")), "nominal")
    return (
        f"## The gain of self_paced\n\n{GAIN}\n{table(heads, rows, left=2)}\n"
        f"The nominal noise alone, `nominal` over `vanilla` in all 15 settings: "
        f"{percent(noise, n=True)}.\n\n{IN_FAMILY}"
    )


def _reading(evidence: Evidence) -> list[str]:
    """The words, where the runs are those that they are about."""
    methods = (*SEVEN, "nominal")
    have = {g: {evidence.seeds(g, m) for m in methods} for g in evidence.results.runs}
    meant = have == {group: {seeds} for group, seeds in READING_SEEDS.items()}
    return [READING.read_text(encoding="utf-8")] if meant and not evidence.synthetic else []


def _sensor_off(evidence: Evidence) -> list[str]:
    """self_paced trained without sensor noise, so that observation noise is not in-family."""
    rows = []
    for group, found in evidence.results.runs.items():
        for variant in ordered_methods(found):
            if not _without_sensors(variant) or "vanilla" not in found:
                continue
            for label, kinds in {**{kind_label(k): (k,) for k in KINDS}, "all 15": KINDS}.items():
                scores = part(evidence.results, (variant, "vanilla"), groups=[group], kinds=kinds)
                M = [
                    mean(mean_interval(scores[group][method].mean(axis=1)))
                    for method in (variant, "vanilla")
                ]
                gained = percent(gain(scores, variant), n=True)
                rows.append([group_title(group), f"`{variant}`", label, *M, gained])
    heads = ["group", "variant", "settings", "M", "`vanilla`", "gain"]
    text = (
        "## Sensor noise off\n\n"
        "The same method trained without sensor noise, so that observation noise is no kind that "
        "was trained against. With `process` the next state is moved by κ standard deviations of "
        "one step's change instead, and the policy sees the truth; without it SAC has the "
        "actuator noise of its [defaults](../concepts/nominal_models.md). (The same noise at ε = 0 "
        "was not trained, so this does not tell what the worst case adds to it.)\n\n"
    )
    return [text + table(heads, rows, left=3)] if rows else []


def _without_sensors(method: str) -> bool:
    """Whether a variant is self_paced but for sensor noise, or with process noise instead."""
    name, _, text = method.partition(":")
    changes = dict(pair.split("=", 1) for pair in text.split(",") if pair)
    return name == FOCUS and changes.get("sensor") == "0" and {*changes} <= {"sensor", "process"}


def _nominal(evidence: Evidence) -> str:
    """Unperturbed returns beside CleanRL's."""
    rows = []
    methods = ("vanilla", "nominal", FOCUS)
    for group in evidence.groups:
        cells = [evidence.results.cell(*group, method, NOMINAL) for method in methods]
        if not any(cell.n for cell in cells) and group not in _planned(evidence):
            continue
        published = cleanrl_returns().get(group)
        theirs = f"{published[0]:,.0f} ± {published[1]:,.0f}" if published else "–"
        ours = [mean(cell) if cell.n else NOT_YET for cell in cells]
        rows.append([group_title(group), *ours, theirs])
    heads = ["group", *(f"`{m}`" for m in methods), "CleanRL (v4, 3 seeds, mean ± sd)"]
    return (
        "## Unperturbed return\n\n"
        "The final policy, acting deterministically; mean over seeds ± half the width of Student's "
        "95% interval. Not like for like: CleanRL's numbers are for the v4 tasks and from training "
        "episodes with exploration ([Nominal quality](nominal_quality.md)).\n\n"
        + table(heads, rows)
    )


def _planned(evidence: Evidence) -> list[Group]:
    return [(one.algorithm, one.env) for one in evidence.plan]


def _epsilon(evidence: Evidence, images: Path) -> str:
    """How ε moved: a figure for each learner, and numbers."""
    text = "## How ε moved\n\n"
    names = draw_epsilon(evidence, images)
    if not names:
        return text + f"{NOT_YET.capitalize()}.\n"
    rows = []
    for group in evidence.groups:
        curves = [
            run.metrics
            for run in evidence.runs
            if (run.algorithm, run.environment, run.method) == (*group, FOCUS)
            and "epsilon" in run.metrics
        ]
        if curves:
            points = [
                _epsilon_at(curves, share, evidence.plan[0].steps) for share in (0.25, 0.5, 1)
            ]
            rows.append([group_title(group), *points])
    heads = ["ε of self_paced", "after a quarter", "after half", "at the end"]
    pictures = [f"![ε during training, {a}](../images/{name}.png)\n" for a, name in names.items()]
    return text + "\n".join(pictures) + "\n" + table(heads, rows)


def _epsilon_at(curves: list, share: float, total: int) -> str:
    """Mean ε over seeds at a share of the run, with Student's interval."""
    values = [
        float(np.interp(share * total, m["step"], m["epsilon"]))
        for m in curves
        if np.isfinite(m["epsilon"]).all()
    ]
    found = mean_interval(values)
    if not found.n:
        return "–"
    return f"{found.value:.2f}" + (f" ± {found.half_width:.2f}" if found.has_interval else "")


def draw_epsilon(evidence: Evidence, images: Path) -> dict[str, str]:
    """Draw ε for each learner; gives the figures' names."""
    curves = curves_of_runs(evidence.runs)
    algorithms = in_order({algorithm for algorithm, _ in curves}, ("sac", "ppo", "ddpg"))
    tasks = in_order({task for _, task in curves}, TASK_ORDER)
    methods = ordered_methods(run.method for run in evidence.runs)
    note = "SYNTHETIC DATA, not results" if evidence.synthetic else ""
    paint = Paint(looks(methods), "make results", note)
    names = {}
    for algorithm in algorithms:
        name = f"protocol-epsilon-{algorithm}"
        figure = training(curves, algorithm, tasks, "epsilon", paint)
        if figure is not None:
            save(figure, images / name)
            (images / f"{name}.svg").unlink()
            names[algorithm_label(algorithm)] = name
    return names


def _group(evidence: Evidence, group: Group) -> str:
    """One group: means by kind, ours beside the paper's, and every setting."""
    return (
        f"## {group_title(group)}\n\n"
        "Mean return over the five levels of each perturbation and over all 15 settings (M), ± "
        "half the width of Student's 95% interval over seeds; the paper's in *italics* below each "
        "of ours.\n\n"
        f"{_means(evidence, group)}\n{_best_rival(evidence, group)}\n"
        f"{_every_setting(evidence, group)}"
    )


def _means(evidence: Evidence, group: Group) -> str:
    sides = {"": evidence.results, "paper": evidence.paper}
    kinds = [*KINDS, None]
    by_side = {name: [group_means(side, kind) for kind in kinds] for name, side in sides.items()}
    rows = []
    for method in ordered_methods(evidence.results.runs[group]):
        key = (*group, method)
        ours = [mean(by_kind[key]) for by_kind in by_side[""]]
        nominal = mean(evidence.results.cell(*key, NOMINAL))
        seeds = str(evidence.seeds(group, method))
        rows.append([method_label(method), seeds, nominal, *ours])
        if key in by_side["paper"][0]:
            theirs = [f"*{by_kind[key].value:,.0f}*" for by_kind in by_side["paper"]]
            rows.append(["*the paper's*", "*5*", "–", *theirs])
    labels = [kind_label(kind) for kind in KINDS]
    return table(["method", "seeds", "unperturbed", *labels, "all 15 (M)"], rows)


def _best_rival(evidence: Evidence, group: Group) -> str:
    """The group's own gain, in a sentence for each side."""
    sentences = []
    for name, side in (("Ours", evidence.results), ("The paper's", evidence.paper)):
        found = {m: x for m, x in side.runs.get(group, {}).items() if m in SEVEN}
        if FOCUS not in found or len(found) < 2:
            continue
        made = headline_gain({group: found}, FOCUS)
        if group not in made.groups:
            sentences.append(f"{name}: no gain is defined, the best rival's M is not positive.")
            continue
        rival = made.groups[group]
        gained = percent(made.estimate)
        if made.estimate.has_interval:
            gained = with_chance(made.estimate, chance_of({group: found}, FOCUS))
        sentences.append(
            f"{name}: self_paced {rival.mean:,.0f}, best of {len(found) - 1} rivals "
            f"{method_label(rival.rival)} {rival.rival_mean:,.0f}, gain {gained}."
        )
    return "\n".join(sentences) + "\n"


def _every_setting(evidence: Evidence, group: Group) -> str:
    """The paper's table for this group, ours and its own row by row."""
    made = comparison_table(
        _only(evidence.results, group), _only(evidence.paper, group), group[0], ""
    )
    if not made.rows:
        return "The paper has no such group.\n"
    lines = to_markdown(made).splitlines()
    return "\n".join(["Every setting. " + lines[0].removeprefix("### "), *lines[1:]]) + "\n"


def _only(results: Results, group: Group) -> Results:
    cells = {key: cell for key, cell in results.cells.items() if key[:2] == group}
    return Results(results.settings, cells, {}, {})
