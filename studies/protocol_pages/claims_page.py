"""docs/results/claims.md."""

from protocol_pages import verdicts
from protocol_pages.claim_list import CLAIMS
from protocol_pages.evidence import Evidence
from protocol_pages.words import SYNTHETIC, table

INTRODUCTION = (
    "# The paper's claims\n\n"
    "What the paper says, what its own tables give when our code reads them, what our runs give, "
    "and a verdict that is computed and not written. Our numbers come from the runs kept in "
    "`studies/results/protocol` ([Results](results.md)); `make results` makes this page, and a "
    "test compares it with them.\n"
)

NOTES = (
    "The paper prints tables of means with intervals but no single runs, so its own numbers carry "
    "no interval here; where it shows a figure only, there is nothing to recompute. Its counts of "
    "cells and its 24.1% do not follow from its tables ([Statistics](../concepts/statistics.md)); "
    "24.1% is what G gives over action noise alone. The physics parameters it perturbs are not "
    "named, so "
    "environment noise is not like for like. Observation noise is in the family that our nominal "
    "model trains against, though its levels are not: [Results in detail](details.md) gives every "
    "gain without it too.\n"
)


def claims_page(evidence: Evidence) -> str:
    """The page as Markdown."""
    findings = [claim.find(evidence) for claim in CLAIMS]
    rows = [
        [str(i), claim.says, found.recomputed, found.ours, f"**{found.verdict}**"]
        for i, (claim, found) in enumerate(zip(CLAIMS, findings, strict=True), start=1)
    ]
    heads = ["", "the paper says", "its tables, recomputed", "ours", "verdict"]
    parts = [
        INTRODUCTION,
        *([SYNTHETIC] if evidence.synthetic else []),
        *([_nothing_yet()] if not evidence.results.runs else []),
        table(heads, rows, left=len(heads)),
        NOTES,
        "## What is computed\n",
        "\n".join(f"{i}. {claim.statistic}." for i, claim in enumerate(CLAIMS, start=1)) + "\n",
        _rules(),
        "## What smaller studies say\n",
        "Short runs with few seeds: leads, not verdicts, and no part of the table.\n",
        "\n".join(f"- Claim {i}. {c.smaller}" for i, c in enumerate(CLAIMS, 1) if c.smaller) + "\n",
        "Claims 13 and 14 are measured once runs of `drspcrl grid ablation-alpha` and "
        "`ablation-lambda` are kept in `studies/results/protocol` too, claim 15 with those of "
        "`drspcrl grid wr2l --only methods=wr2l` ([Grids](../guides/grids.md)), claim 16 with "
        "those of `drspcrl train --uncertainty transitions --env Hopper --algorithm ppo --seeds "
        "0 1 2 3 4 --out runs "
        "--methods fixed:epsilon_budget=0.03 fixed:epsilon_budget=0.1 fixed:epsilon_budget=0.3 "
        "fixed:epsilon_budget=2`.\n",
    ]
    return "\n".join(parts)


def _nothing_yet() -> str:
    return (
        "No run of the protocol has been kept yet, so that nothing below is measured. The column "
        "of the paper's tables is computed all the same.\n"
    )


def _rules() -> str:
    rules = "\n".join(f"| {name} | {rule} |" for name, rule in verdicts.RULES.items())
    return (
        "## How a verdict is made\n\n"
        "Unless the list above says otherwise. Intervals are 95% bootstraps over seeds, within "
        "each group and method; where the best rival is chosen, it is chosen again in each "
        "replicate. A verdict names the groups it rests on, and says “so far” while a method in "
        "one of them has fewer than five seeds.\n\n"
        f"| verdict | where |\n|---|---|\n{rules}\n\n"
        "Ranges of chance, and the part of the rules about the paper's number, came in when five "
        "groups had been seen, where no effect of a gain over the best rival had been 0: claims 2, "
        "3 and 4 went from undecided to does not hold by it, claims 6, 9 and 10 the other way.\n"
    )
