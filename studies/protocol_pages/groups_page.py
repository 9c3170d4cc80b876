"""docs/results/groups.md: every group and every setting, ours beside the paper's."""

from drspcrl.report.names import method_label, ordered_methods
from drspcrl.report.results import NOMINAL, Group, Results
from drspcrl.report.summary import group_means
from drspcrl.report.table import to_markdown
from drspcrl.report.tables import comparison_table
from drspcrl.statistics import headline_gain
from protocol_pages.evidence import FOCUS, KINDS, SEVEN, Evidence, group_title
from protocol_pages.sums import chance_of
from protocol_pages.words import NOT_YET, SYNTHETIC, kind_label, mean, percent, table, with_chance

INTRODUCTION = (
    "# Group by group\n\n"
    "Mean return over the five levels of each perturbation and over all 15 settings (M), ± half "
    "the width of Student's 95% interval over seeds; the paper's in *italics* below each of ours. "
    "Then every setting by itself. [Results](results.md) has the answer, [Results in "
    "detail](details.md) what it means. `make results` computes this page.\n"
)


def groups_page(evidence: Evidence) -> str:
    """The page as Markdown."""
    measured = [group for group in evidence.groups if group in evidence.results.runs]
    sections = [
        INTRODUCTION,
        *([SYNTHETIC] if evidence.synthetic else []),
        *([] if measured else [f"{NOT_YET.capitalize()}.\n"]),
        *[_group(evidence, group) for group in measured],
    ]
    return "\n".join(sections)


def _group(evidence: Evidence, group: Group) -> str:
    """One group: means by kind, ours beside the paper's, and every setting."""
    return (
        f"## {group_title(group)}\n\n"
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
