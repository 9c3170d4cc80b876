"""Numbers and tables as Markdown, the same on both pages."""

from collections.abc import Sequence
from pathlib import Path

from drspcrl.report.names import perturbation_label
from drspcrl.report.table import Number, interval_text, value_text
from drspcrl.statistics import Estimate
from protocol_pages.evidence import SEVEN, Evidence

NOT_YET = "not yet measured"
UNDEFINED = "not defined (the best rival's mean is not positive)"
FIGURE = "a figure, no numbers"
SYNTHETIC = (
    '!!! danger "Synthetic data"\n'
    "    These runs are made up to test the tools. This page shows no results.\n"
)

# The groups that the words written by hand are about, and how many seeds they had then.
SEEDS_READ = {
    **dict.fromkeys([("sac", "HalfCheetah"), ("sac", "Hopper"), ("ppo", "HalfCheetah")], 5),
    **dict.fromkeys([("ppo", "Hopper"), ("ppo", "Walker2d")], 5),
    ("ddpg", "HalfCheetah"): 4,
}


def written(evidence: Evidence, name: str) -> list[str]:
    """A file written by hand, where the runs are those that it is about."""
    methods = (*SEVEN, "nominal")
    have = {g: {evidence.seeds(g, m) for m in methods} for g in evidence.results.runs}
    meant = have == {group: {seeds} for group, seeds in SEEDS_READ.items()}
    if not meant or evidence.synthetic:
        return []
    return [Path(__file__).with_name(name).read_text(encoding="utf-8")]


def percent(estimate: Estimate, n: bool = False) -> str:
    """A share with its interval; n on request."""
    if estimate.value != estimate.value:
        return UNDEFINED if estimate.n else NOT_YET
    number = Number(estimate, kind="percent")
    interval = interval_text(number)
    text = value_text(number) + (f" [{interval}]" if interval else "")
    return f"{text}, {estimate.n} runs" if n else text


def with_chance(estimate: Estimate, chance: Estimate, n: bool = False) -> str:
    """A gain over the best rival, and what chance alone gives."""
    text = percent(estimate, n)
    return f"{text}; by chance {percent(chance)}" if chance.n else text


def points(estimate: Estimate) -> str:
    """A difference of shares, in points."""
    if estimate.value != estimate.value:
        return NOT_YET
    ends = f" [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"
    text = f"{100 * estimate.value:+.1f} points" + (ends if estimate.has_interval else "")
    return text.replace("-", "−")


def kind_label(kind: str) -> str:
    """A kind of perturbation in the middle of a sentence."""
    return perturbation_label(kind).split(",")[0].lower()


def mean(estimate: Estimate) -> str:
    """A mean and the half-width of its interval."""
    if estimate.value != estimate.value:
        return "–"
    half = f" ± {estimate.half_width:,.0f}" if estimate.has_interval else ""
    return f"{estimate.value:,.0f}{half}".replace("-", "−")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the columns after the first `left` are numbers."""
    rule = "|" + "---|" * left + "---:|" * (len(heads) - left)
    lines = [f"| {' | '.join(heads)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"
