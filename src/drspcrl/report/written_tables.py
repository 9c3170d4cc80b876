"""Which tables a report has: all that have a row, with what the page needs to link them."""

from collections.abc import Iterator

from drspcrl.report.collected import Collected
from drspcrl.report.figures import suite_suffixes
from drspcrl.report.made import Made
from drspcrl.report.methods import method_words
from drspcrl.report.names import algorithm_label, slugs
from drspcrl.report.stress import COLUMNS, stress_table
from drspcrl.report.table import Row, Table
from drspcrl.report.tables import (
    aggregates_table,
    comparison_table,
    means_table,
    results_table,
    summary_table,
)

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
