"""The table of results in the README, between two marks."""

from collections.abc import Mapping

import numpy as np

from drspcrl.report.names import method_label
from drspcrl.report.results import Group
from drspcrl.report.summary import group_means
from drspcrl.statistics import headline_gain
from protocol_pages.evidence import FOCUS, RIVALS, SEVEN, Evidence, group_title
from protocol_pages.words import mean, table

BEGIN, END = "<!-- made by make results -->\n", "<!-- end -->\n"


def readme_table(evidence: Evidence) -> str:
    """M of the methods that matter most, group by group, and observation noise apart."""
    heads = [
        *("group", "`vanilla`", "`nominal`", "`self_paced`"),
        *("best of six rivals", "the paper's `self_paced`", "observation noise alone"),
    ]
    rows = [_row(evidence, g) for g in evidence.groups if set(SEVEN) <= set(_runs(evidence, g))]
    return table(heads, rows)


def _row(evidence: Evidence, group: Group) -> list[str]:
    everything, observed = (group_means(evidence.results, k) for k in (None, "observation"))
    paper = group_means(evidence.paper)
    seeds = evidence.seeds(group, FOCUS)
    found = {m: x for m, x in _runs(evidence, group).items() if m in SEVEN}
    rival = headline_gain({group: found}, FOCUS, rivals=RIVALS).groups.get(group)
    kept = [f"{observed[*group, m].value:,.0f}" for m in ("vanilla", FOCUS)]
    return [
        group_title(group) + (f" ({seeds} seeds)" if seeds < len(evidence.plan[0].seeds) else ""),
        *(mean(everything[*group, m]) if (*group, m) in everything else "–" for m in
          ("vanilla", "nominal", FOCUS)),
        f"{method_label(rival.rival)} {rival.rival_mean:,.0f}" if rival else "–",
        f"{paper[*group, FOCUS].value:,.0f}" if (*group, FOCUS) in paper else "–",
        " → ".join(kept),
    ]  # fmt: skip


def _runs(evidence: Evidence, group: Group) -> Mapping[str, np.ndarray]:
    return evidence.results.runs.get(group, {})


def renewed(readme: str, evidence: Evidence) -> str:
    """The README's text with its table made again; as it is where it has no place for one."""
    before, mark, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{mark}{readme_table(evidence)}{end}{after}" if end else readme
