"""The report's tables: the paper's, ours beside the paper's, means over settings, the summary."""

from collections.abc import Mapping, Sequence
from math import nan

from drspcrl.report.names import algorithm_label, method_label, perturbation_label
from drspcrl.report.results import NOMINAL, Results, Setting
from drspcrl.report.summary import Aggregates, Headline, group_means
from drspcrl.report.table import Column, Number, Row, Table, ranked, seeds_text
from drspcrl.statistics import Estimate, Gain, missing

FORM = "Best bold, second underlined, half-width of the 95% interval (Student t) in brackets."


def results_table(results: Results, algorithm: str, name: str) -> Table:
    """Return in every setting, tasks by methods: the paper's table for one algorithm."""
    settings = _columns_of(results)
    rows = []
    for task in results.environments(algorithm):
        methods = results.methods(algorithm, task)
        cells = [[results.cell(algorithm, task, m, s) for s in settings] for m in methods]
        for method, estimates, numbers in zip(methods, cells, ranked(cells), strict=True):
            rows.append(Row((task, method_label(method), seeds_text(estimates)), numbers))
    caption = f"{algorithm_label(algorithm)}: mean return over seeds in every setting. {FORM}"
    caption += _left_out(results)
    return Table(name, caption, ("Task", "Method", "Seeds"), _headings(settings), tuple(rows))


def comparison_table(ours: Results, paper: Results, algorithm: str, name: str) -> Table:
    """Our return and the paper's in its settings, ranked on each side among the same methods."""
    rows = []
    for task in _shared(ours.environments(algorithm), paper.environments(algorithm)):
        methods = _shared(paper.methods(algorithm, task), ours.methods(algorithm, task))
        sides = {}
        for label, side in (("ours", ours), ("paper", paper)):
            cells = [[side.cell(algorithm, task, m, s) for s in paper.settings] for m in methods]
            sides[label] = list(zip(cells, ranked(cells), strict=True))
        for i, method in enumerate(methods):
            for label, side in sides.items():
                estimates, numbers = side[i]
                heads = (task, method_label(method), label, seeds_text(estimates))
                rows.append(Row(heads, numbers))
    caption = (
        f"{algorithm_label(algorithm)}: ours beside the paper's. {FORM} The paper does not name "
        "its physics parameters, so physics noise is not like for like."
    )
    heads = ("Task", "Method", "Source", "Seeds")
    return Table(name, caption, heads, _headings(paper.settings), tuple(rows))


def means_table(results: Results, name: str = "means") -> Table:
    """M, the mean over settings, in total and by perturbation, beside the nominal return."""
    perturbations = list(dict.fromkeys(setting[0] for setting in results.settings))
    by_part = [group_means(results, perturbation) for perturbation in [*perturbations, None]]
    rows = []
    for algorithm in results.algorithms:
        for task in results.environments(algorithm):
            methods = results.methods(algorithm, task)
            keys = [(algorithm, task, method) for method in methods]
            cells = [
                [results.cell(*key, NOMINAL), *(p.get(key, missing("mean")) for p in by_part)]
                for key in keys
            ]
            title = f"{task}, {algorithm_label(algorithm)}"
            for method, estimates, numbers in zip(methods, cells, ranked(cells), strict=True):
                rows.append(Row((title, method_label(method), seeds_text(estimates)), numbers))
    labels = ["Nominal", *map(perturbation_label, perturbations), "All settings (M)"]
    caption = f"Mean return over the levels of each perturbation and over all settings. {FORM}"
    caption += _left_out(results)
    columns = tuple(Column(label) for label in labels)
    return Table(name, caption, ("Task", "Method", "Seeds"), columns, tuple(rows))


def aggregates_table(by_algorithm: Mapping[str, Aggregates], name: str = "aggregates") -> Table:
    """Interquartile mean of the pooled scores, by algorithm and method."""
    rows = []
    for algorithm, aggregate in by_algorithm.items():
        methods = list(aggregate.interquartile)
        numbers = ranked([[aggregate.interquartile[m]] for m in methods])
        for method, number in zip(methods, numbers, strict=True):
            tasks = str(len(aggregate.tasks[method]))
            runs = str(aggregate.interquartile[method].n)
            heads = (algorithm_label(algorithm), method_label(method), tasks, runs)
            rows.append(Row(heads, number))
    caption = (
        "Interquartile mean of the scores pooled over tasks and settings; half-width of the "
        "stratified bootstrap interval (95%, seeds drawn again within tasks) in brackets. Scale: "
        + "; ".join(sorted({a.scale for a in by_algorithm.values()}))
        + "."
    )
    heads = ("Algorithm", "Method", "Tasks", "Runs")
    return Table(name, caption, heads, (Column("Interquartile mean"),), tuple(rows))


def summary_table(headlines: Mapping[str, Headline], name: str = "summary") -> Table:
    """Gains and wins, a column for each source (ours, the paper's), the same code over both."""
    columns = tuple(Column(source) for source in headlines)
    rows = [
        _gain_row(label, [getattr(h, part) for h in headlines.values()])
        for label, part in (
            ("Headline gain G over the best rival", "gain"),
            ("Pooled ratio to the best rival", "pooled"),
            ("Normalised difference to the best rival", "normalised"),
        )
    ]
    chances = tuple(Number(h.chance, kind="percent") for h in headlines.values())
    rows.insert(1, Row(("G by chance, were the curricula the same",), chances))
    algorithms = list(dict.fromkeys(a for h in headlines.values() for a in h.wins))
    for algorithm in algorithms:
        for label, part in (("best", "best"), ("in the top two", "top_two")):
            counts = [_share(h, algorithm, part) for h in headlines.values()]
            heads = (f"Cells {label}, {algorithm_label(algorithm)}",)
            rows.append(Row(heads, tuple(Number(c, kind="count") for c in counts)))
    first = next(iter(headlines.values()))
    caption = (
        f"{method_label(first.method)} against {', '.join(map(method_label, first.rivals))}; "
        "95% bootstrap intervals over seeds, the best rival chosen anew in each replicate. "
        "By chance: mean and middle 95% of G when runs are exchanged among the methods with a "
        "nominal model; the best of several is ahead of an equal one. Published means carry no "
        "seeds, hence no interval."
    )
    return Table(name, caption, ("Figure",), columns, tuple(rows))


def _gain_row(label: str, gains: Sequence[Gain]) -> Row:
    return Row((label,), tuple(Number(gain.estimate, kind="percent") for gain in gains))


def _share(headline: Headline, algorithm: str, part: str) -> Estimate:
    wins = headline.wins.get(algorithm)
    if wins is None:
        return missing("cells counted")
    return Estimate(getattr(wins, part), nan, nan, wins.n, f"cells counted, of {wins.n}")


def _columns_of(results: Results) -> tuple[Setting, ...]:
    return ((NOMINAL,) if results.has_nominal() else ()) + results.settings


def _headings(settings: Sequence[Setting]) -> tuple[Column, ...]:
    return tuple(
        Column("Nominal")
        if (name, level) == NOMINAL
        else Column(f"{level:g}", perturbation_label(name))
        for name, level in settings
    )


def _left_out(results: Results) -> str:
    """What the suite has and a task has nothing for, as the end of a caption."""
    return f" Not evaluated: {'; '.join(results.left_out)}." if results.left_out else ""


def _shared(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return [name for name in names if name in set(others)]
