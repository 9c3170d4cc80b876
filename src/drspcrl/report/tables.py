"""The report's tables: the paper's, ours beside it, means, the summary, what `stress` found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.files import read_bytes
from drspcrl.reading import parse_json
from drspcrl.report.collected import Collected, Made
from drspcrl.report.escape import plain
from drspcrl.report.figures import suite_suffixes
from drspcrl.report.names import (
    algorithm_label,
    method_label,
    method_words,
    ordered_methods,
    perturbation_label,
    slugs,
)
from drspcrl.report.results import NOMINAL, Results, Setting
from drspcrl.report.summary import Aggregates, Headline, group_means
from drspcrl.report.table import Column, Number, Row, Table, ranked, seeds_text
from drspcrl.runfolder.runs import Run
from drspcrl.statistics import Estimate, Gain, missing

FILE, KIND, FORMAT_VERSION = "stress.json", "drspcrl stress", 1
COLUMNS = (
    *("run", "nominal return", "fails below", "nearest failing world (tolerances)"),
    *("what it consists of", "return there", "worst world within", "return there"),
)
_PARTS = 3
_LARGEST = 1 << 24  # bytes


@dataclass(frozen=True)
class StressTable:
    """The rows, as texts, and what could not be read.

    Attributes:
        rows: one for each run that was stressed, its cells in the order of `COLUMNS`.
        notes: one line for each damaged file.
    """

    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def stress_table(runs: Sequence[Run]) -> StressTable:
    """Read what stands beside the runs."""
    rows, notes = [], []
    order = ordered_methods(run.method for run in runs)
    for run in sorted(runs, key=lambda r: (r.environment, r.algorithm, order.index(r.method))):
        path = run.path / FILE
        if not path.is_file():
            continue
        try:
            rows.append(_row(run, _read(path)))
        except InputError as error:
            notes.append(plain(f"{path}: {error}"))
    return StressTable(tuple(rows), tuple(notes))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = parse_json(read_bytes(path, most=_LARGEST))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {brief(error)}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError("is no result of drspcrl stress")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(f"has format_version {version!r}, and this version reads {FORMAT_VERSION}")
    return content


def _row(run: Run, found: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        nearest, worst, question = found["nearest"], found["worst"], found["question"]
        reach, within = float(question["reach"]), float(question["within"])
        near = f"none within {reach:g}" if nearest is None else _distance(nearest)
        cells = (
            ", ".join((run.environment, algorithm_label(run.algorithm), method_label(run.method)))
            + f", seed {run.seed}",
            _estimate(found["nominal"]),
            f"{float(found['limit_return']):.4g}",
            near,
            "–" if nearest is None else _parts(nearest["values"]),
            "–" if nearest is None else _estimate(nearest["return"]),
            f"{within:g}: {_parts(worst['values'])}",
            _estimate(worst["return"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise InputError("is damaged: something that stress writes is missing") from None
    return tuple(plain(cell) for cell in cells)


def _distance(nearest: Mapping[str, Any]) -> str:
    doubt = " (but holds with fresh episodes)" if nearest.get("verdict") == "holds" else ""
    return f"{float(nearest['distance']):.3g}{doubt}"


def _parts(values: Sequence[Mapping[str, Any]]) -> str:
    """The coordinates that differ most, in the user's units."""
    largest = sorted(values, key=lambda v: -abs(float(v["tolerances"])))[:_PARTS]
    told = [
        f"{v['name']} {float(v['value']):.3g}{' ×' if v['unit'] == '× nominal' else ''}"
        for v in largest
        if float(v["tolerances"]) != 0
    ]
    return ", ".join(told) or "the simulator itself"


def _estimate(estimate: Mapping[str, Any]) -> str:
    mean = float(estimate["mean"])
    ends = [float("nan") if estimate[k] is None else float(estimate[k]) for k in ("low", "high")]
    interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]" if all(map(isfinite, ends)) else ""
    return f"{mean:.4g}{interval}"


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
        "95% bootstrap intervals over seeds, the best rival chosen again in each replicate. "
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


ENDINGS = ("csv", "md", "tex")
METHODS_CAPTION = "What each method is."
STRESS_CAPTION = (
    "Where policies break, found by drspcrl stress: the nearest failing world, and the worst one "
    "within a radius, in units of the declared tolerances."
)


def all_tables(collected: Collected) -> list[tuple[Table, Made]]:
    """Every table that has a row, and where it goes."""
    suites = [found for suite in collected.results for found in _of_suite(collected, suite)]
    return [(table, made) for table, made in (*suites, *_of_runs(collected)) if table.rows]


def _of_suite(collected: Collected, suite: str) -> Iterator[tuple[Table, Made]]:
    results, suffix = collected.results[suite], suite_suffixes(list(collected.results))[suite]

    def placed(table: Table, kind: str, title: str, algorithm: str | None = None):
        if algorithm is not None:
            title = f"{title}, {algorithm_label(algorithm)}"
        return table, Made("tables", table.name, kind, title, ENDINGS, algorithm, suite)

    for algorithm, file in slugs(results.algorithms).items():
        table = results_table(results, algorithm, f"results-{file}{suffix}")
        yield placed(table, "results", "Return in every setting", algorithm)
        if collected.paper is not None:
            table = comparison_table(results, collected.paper, algorithm, f"paper-{file}{suffix}")
            yield placed(table, "paper", "Beside the paper", algorithm)
    yield placed(means_table(results, f"means{suffix}"), "means", "Means over settings")
    table = aggregates_table(collected.aggregates[suite], f"aggregates{suffix}")
    yield placed(table, "aggregates", "Interquartile means of pooled scores")
    if collected.headlines[suite]:
        table = summary_table(collected.headlines[suite], f"summary{suffix}")
        yield placed(table, "summary", "Gains and wins")


def _of_runs(collected: Collected) -> Iterator[tuple[Table, Made]]:
    """Tables of words: what the methods are, and what stress found."""
    words = [Row((one.label, one.words), ()) for one in method_words(collected.found.runs)]
    table = Table("methods", METHODS_CAPTION, ("Method", "What it is"), (), tuple(words))
    yield table, Made("tables", "methods", "methods", "What each method is", ENDINGS)
    rows = tuple(Row(row, ()) for row in stress_table(collected.distinct).rows)
    table = Table("stress", STRESS_CAPTION, COLUMNS, (), rows)
    yield table, Made("tables", "stress", "stress", "Where policies break", ENDINGS)
