"""docs/results/results.md: the answer on one screen; the pages behind it have the rest."""

from collections import Counter

from drspcrl.report.results import Group, restricted
from protocol_pages.evidence import FOCUS, SEVEN, Evidence, group_title
from protocol_pages.provenance import made_with
from protocol_pages.readme_table import readme_table
from protocol_pages.sums import chance_of, gain, part
from protocol_pages.words import NOT_YET, SYNTHETIC, percent, table, written

TABLE = (
    "The paper's protocol (`--uncertainty transitions`): 1M steps, five seeds, the final policy "
    "for 100 episodes in each of 15 perturbed settings (five levels of action, observation and "
    "physics noise). A cell is M, the mean return over these settings, ± half of a 95% interval "
    "over seeds. `nominal` has the same nominal noise at ε = 0.\n"
)

BEHIND = (
    "| question | page |\n|---|---|\n"
    "| by kind of noise, in words, without sensor noise, unperturbed, ε during training | "
    "[Results in detail](details.md) |\n"
    "| every group, method and setting, beside the paper's | [Group by group](groups.md) |\n"
    "| does each claim of the paper hold? | [The paper's claims](claims.md) |\n"
    "| are the plain learners good ones? | [Nominal quality](nominal_quality.md) |\n"
    "| what was tried to do better? | [Defaults](../studies/defaults.md) |\n"
    "| how is a gain, an interval, the range of chance computed? | "
    "[Statistics](../concepts/statistics.md) |\n"
)

STATE = (
    "`make results` computes the tables and figures of these pages from the digests of runs in "
    "`studies/results/protocol`, and a test compares. What is said in words is left out "
    "where the runs are others than those they are about. [Grids](../guides/grids.md) says how "
    "the runs are made.\n"
)

# What the numbers mean, written by hand: a headline, then the findings.
ANSWER = "answer.md"


def results_page(evidence: Evidence) -> str:
    """The page as Markdown."""
    headline, *findings = "".join(written(evidence, ANSWER)).split("\n\n", 1)
    parts = [
        "# Results\n",
        *([SYNTHETIC] if evidence.synthetic else []),
        *([f"{headline}\n"] if headline else []),
        _answer(evidence),
        TABLE,
        readme_table(evidence),
        *findings,
        "## Behind this page\n",
        BEHIND,
        _state(evidence),
    ]
    return "\n".join(parts)


def _answer(evidence: Evidence) -> str:
    """How self_paced stands against the plain learner and against the best rival."""
    measured = part(evidence.results, SEVEN)
    ours, plain = gain(measured, FOCUS), gain(part(evidence.results, (FOCUS, "vanilla")), FOCUS)
    shared = gain(part(restricted(evidence.paper, evidence.results), SEVEN), FOCUS)
    rows = [
        ["over the plain learner, `vanilla`", percent(plain), "–", "–"],
        [
            "over the best of the paper's six other methods",
            percent(ours),
            percent(chance_of(measured, FOCUS)) if ours.n else "–",
            percent(shared) if shared.n else "–",
        ],
    ]
    heads = ["mean gain of `self_paced`", "ours", "of one of six equal methods", "the paper's"]
    return table(heads, rows)


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
    text = f"## What has been run\n\n{STATE}\n" + table(heads, rows, left=len(heads))
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
