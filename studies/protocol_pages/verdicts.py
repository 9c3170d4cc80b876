"""A verdict is computed by a rule that the page prints, never written by hand."""

from drspcrl.statistics import Estimate

HOLDS = "holds"
SMALLER = "holds in direction, not in size"
FAILS = "does not hold"
OPEN = "undecided"
UNMEASURED = "not yet measured"

RULES = {
    HOLDS: "the 95% interval lies above the level of no effect, and our estimate is at least the "
    "paper's number where it gives one; where no effect is a range: our estimate is above the "
    "range and its interval above 0",
    SMALLER: "the same, but our estimate is below the paper's number",
    FAILS: "the interval lies below the level of no effect, or our estimate below its range; or "
    "neither this nor the above, and the interval lies below the paper's number",
    OPEN: "anything else: no effect and the paper's number, if it gives one, are both possible; or "
    "there are too few seeds for an interval, or the number is not defined",
    UNMEASURED: "no run that would tell has been kept",
}


def above(estimate: Estimate, paper: float | None = None, nothing: float = 0.0) -> str:
    """The verdict on a claim that something is larger than `nothing`, and as large as `paper`."""
    if estimate.n == 0:
        return UNMEASURED
    if not estimate.has_interval:
        return OPEN
    if estimate.low > nothing:
        return HOLDS if paper is None or estimate.value >= paper else SMALLER
    return FAILS if estimate.high < nothing or _excludes(estimate, paper) else OPEN


def beyond(estimate: Estimate, chance: Estimate, paper: float | None = None) -> str:
    """The same where no effect is a range, that of the estimate when runs are exchanged."""
    if estimate.n == 0:
        return UNMEASURED
    if not (estimate.has_interval and chance.has_interval):
        return OPEN
    # Better than one of several equal methods is not yet better than the best of them.
    if estimate.value > chance.high and estimate.low > 0:
        return HOLDS if paper is None or estimate.value >= paper else SMALLER
    return FAILS if estimate.value < chance.low or _excludes(estimate, paper) else OPEN


def _excludes(estimate: Estimate, paper: float | None) -> bool:
    """Whether the interval lies below the paper's number."""
    return paper is not None and estimate.high < paper


def below(estimate: Estimate, limit: float) -> str:
    """The verdict on a claim that something stays below a limit."""
    if estimate.n == 0:
        return UNMEASURED
    if not estimate.has_interval or estimate.low <= limit <= estimate.high:
        return OPEN
    return HOLDS if estimate.high < limit else FAILS


def together(verdicts: list[str]) -> str:
    """The verdict on a claim that needs all of its parts."""
    for verdict in (UNMEASURED, FAILS, OPEN, SMALLER):
        if verdict in verdicts:
            return verdict
    return HOLDS


def share_of_runs(meeting: int, runs: int) -> str:
    """The verdict on a claim about every run: 95% must meet it, fewer than half fail it."""
    if runs == 0:
        return UNMEASURED
    if meeting >= 0.95 * runs:
        return HOLDS
    return FAILS if meeting < 0.5 * runs else OPEN
