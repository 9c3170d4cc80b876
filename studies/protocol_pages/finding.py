"""What a claim is, and what is found about it."""

from collections.abc import Callable
from dataclasses import dataclass

from protocol_pages import verdicts
from protocol_pages.evidence import Evidence
from protocol_pages.sums import Scores


@dataclass(frozen=True)
class Finding:
    """What was found about one claim, in words.

    Attributes:
        recomputed: The same statistic over the paper's tables.
        ours: Over our runs.
        verdict: By the rule.
    """

    recomputed: str
    ours: str
    verdict: str


Find = Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        says: What the paper says.
        statistic: What is computed, and what counts as no effect.
        find: Computes it.
        smaller: What smaller studies of this library say, with links; "" where there are none.
    """

    says: str
    statistic: str
    find: Find
    smaller: str = ""


def covered(evidence: Evidence, verdict: str, scores: Scores, of: int) -> str:
    """The verdict with what it rests on: how many groups, and whether seeds are still missing."""
    if verdict == verdicts.UNMEASURED:
        return verdict
    methods = {m for found in scores.values() for m in found}
    whole = evidence.complete(scores, sorted(methods))
    return f"{'' if whole else 'so far '}{verdict} ({len(scores)} of {of} groups)"
