"""docs/results/details.md: the gains by kind, in words, without sensor noise, unperturbed, ε."""

from pathlib import Path

import numpy as np

from drspcrl.data import cleanrl_returns
from drspcrl.report.curves import curves_of_runs
from drspcrl.report.figures.style import Paint, save
from drspcrl.report.figures.training import training
from drspcrl.report.names import TASK_ORDER, algorithm_label, in_order, looks, ordered_methods
from drspcrl.report.results import NOMINAL, Group, restricted
from drspcrl.statistics import mean_interval
from protocol_pages.evidence import FOCUS, KINDS, SEVEN, Evidence, group_title
from protocol_pages.sums import chance_of, gain, part
from protocol_pages.words import NOT_YET, SYNTHETIC, kind_label, mean, percent, table, written

INTRODUCTION = (
    "# Results in detail\n\n"
    "What is behind [the answer](results.md): the gain by kind of noise and by opponent, each "
    "group in words, `self_paced` without sensor noise, unperturbed returns, and how ε moved. "
    "Every single setting is in [Group by group](groups.md). `make results` computes all of it; "
    "only *In words* is written by hand.\n"
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
READING = "reading.md"


def details_page(evidence: Evidence, images: Path) -> str:
    """The page as Markdown; its figures go to `images`."""
    sections = [
        INTRODUCTION,
        *([SYNTHETIC] if evidence.synthetic else []),
        _gains(evidence),
        *written(evidence, READING),
        *_sensor_off(evidence),
        _nominal(evidence),
        _epsilon(evidence, images),
    ]
    return "\n".join(sections)


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
