"""A table as data, and as Markdown, LaTeX or CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import Literal

from drspcrl.report import escape
from drspcrl.report.results import Results
from drspcrl.statistics import Estimate, ranks


@dataclass(frozen=True)
class Number:
    """A cell: an estimate and its rank in its column's section (1 is bold, 2 underlined)."""

    estimate: Estimate
    rank: int | None = None
    kind: Literal["decimal", "percent", "count"] = "decimal"


@dataclass(frozen=True)
class Column:
    """A column of numbers: its heading, and the heading it shares with its neighbours."""

    label: str
    group: str = ""


@dataclass(frozen=True)
class Row:
    """One row: its heads (task, method, ...) and its numbers."""

    heads: tuple[str, ...]
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Table:
    """A table with a caption; rows with the same first head form a section."""

    name: str
    caption: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def ranked(estimates: Sequence[Sequence[Estimate]]) -> list[tuple[Number, ...]]:
    """Rank every column of a section: [rows][columns] of estimates to numbers with ranks."""
    by_column = [
        ranks({str(i): row[column].value for i, row in enumerate(estimates)})
        for column in range(len(estimates[0]) if estimates else 0)
    ]
    return [
        tuple(Number(e, by_column[column].get(str(i))) for column, e in enumerate(row))
        for i, row in enumerate(estimates)
    ]


def seeds_text(estimates: Sequence[Estimate]) -> str:
    """The number of seeds behind a row, a range where cells differ."""
    counts = sorted({estimate.n for estimate in estimates})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def value_text(number: Number) -> str:
    """The value alone, as it is printed; "–" where it is missing."""
    if number.estimate.value != number.estimate.value:
        return "–"
    if number.kind == "percent":
        return f"{100 * number.estimate.value:+.1f}%".replace("-", "−")
    if number.kind == "count":
        return f"{number.estimate.value:.0f} of {number.estimate.n}"
    return decimal(number.estimate.value)


def interval_text(number: Number) -> str:
    """The half-width, or both ends where the interval is not symmetric; "" where none is known."""
    estimate = number.estimate
    if not estimate.has_interval:
        return ""
    if number.kind == "percent":
        return f"{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}".replace("-", "−")
    return decimal(estimate.half_width)


def decimal(value: float) -> str:
    """One decimal as in the paper; three significant ones where the value is small."""
    text = f"{value:.1f}" if abs(value) >= 10 or value == 0 else f"{value:.3g}"
    return text.replace("-", "−")


def to_markdown(table: Table, note: str = "") -> str:
    """GitHub-flavoured Markdown: best **bold**, second underlined, interval as a subscript."""
    groups = [f"{escape.markdown(c.group)} " if c.group else "" for c in table.columns]
    labels = [escape.markdown(c.label) for c in table.columns]
    heads = [escape.markdown(head) for head in table.heads]
    header = heads + [group + label for group, label in zip(groups, labels, strict=True)]
    lines = [
        f"### {escape.markdown(table.caption)}",
        "",
        *([f"**{escape.markdown(note)}**", ""] if note else []),
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(heads)}{'---:|' * len(table.columns)}",
    ]
    for row in table.rows:
        cells = [escape.markdown(head) for head in row.heads]
        cells += [_markdown_number(number) for number in row.numbers]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _markdown_number(number: Number) -> str:
    text = value_text(number)
    if number.rank == 1:
        text = f"**{text}**"
    elif number.rank == 2:
        text = f"<u>{text}</u>"
    interval = interval_text(number)
    return f"{text} <sub>({interval})</sub>" if interval else text


def to_latex(table: Table, note: str = "") -> str:
    """A `table*` for booktabs and graphicx, in the paper's form."""
    heads, columns = len(table.heads), len(table.columns)
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape.latex(table.caption)}"
        + (rf" \textbf{{{escape.latex(note)}}}" if note else "")
        + "}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * heads}{'c' * columns}}}",
        r"\toprule",
        *_latex_groups(table),
        " & ".join(
            [rf"\textbf{{{escape.latex(head)}}}" for head in table.heads]
            + [escape.latex(column.label) for column in table.columns]
        )
        + r" \\",
    ]
    for _, section in groupby(table.rows, key=lambda row: row.heads[0]):
        lines.append(r"\midrule")
        for place, row in enumerate(section):
            names = [escape.latex(head) for head in row.heads]
            names[0] = rf"\texttt{{{names[0]}}}" if place == 0 else ""
            lines.append(" & ".join(names + [_latex_number(n) for n in row.numbers]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table*}"]) + "\n"


def _latex_groups(table: Table) -> list[str]:
    """The row of shared headings with its rules, none where no column has one."""
    if not any(column.group for column in table.columns):
        return []
    spans, rules, place = [""] * len(table.heads), [], len(table.heads) + 1
    for group, members in groupby(table.columns, key=lambda column: column.group):
        width = len(list(members))
        heading = rf"\textbf{{{escape.latex(group)}}}" if group else ""
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{heading}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
        place += width
    return [" & ".join(spans) + r" \\", " ".join(rules)]


def _latex_number(number: Number) -> str:
    text = value_text(number).replace("−", "-").replace("%", r"\%")
    if text == "–":
        return "--"
    if number.kind == "count":
        return text
    if number.rank == 1:
        text = rf"\mathbf{{{text}}}"
    elif number.rank == 2:
        text = rf"\underline{{{text}}}"
    interval = interval_text(number).replace("−", "-")
    return f"${text}_{{({interval})}}$" if interval else f"${text}$"


LATEX_DOCUMENT = r"""\documentclass[10pt]{article}
\usepackage[a4paper,landscape,margin=1.5cm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
%s
\end{document}
"""


def latex_document(names: list[str]) -> str:
    """A document that shows every table, for a look and as a model of the packages needed."""
    return LATEX_DOCUMENT % "\n\\clearpage\n".join(rf"\input{{{name}.tex}}" for name in names)


def to_csv(table: Table, synthetic: bool = False) -> str:
    """One row per number: its heads, its column, value, interval, n, rank and statistic.

    A table of words has its rows as they are.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = [head.lower() for head in table.heads]
    if not table.columns:
        writer.writerow(heads)
        writer.writerows([[*map(escape.csv_text, row.heads)] for row in table.rows])
        return text.getvalue()
    tail = ["group", "column", "value", "low", "high", "n", "rank", "statistic", "data"]
    writer.writerow([*heads, *tail])
    for row in table.rows:
        for column, number in zip(table.columns, row.numbers, strict=True):
            estimate = number.estimate
            writer.writerow(
                [
                    *map(escape.csv_text, row.heads),
                    escape.csv_text(column.group) if column.group else "",
                    escape.csv_text(column.label),
                    *(_csv_number(v) for v in (estimate.value, estimate.low, estimate.high)),
                    estimate.n,
                    number.rank or "",
                    estimate.method,
                    "synthetic" if synthetic else "measured",
                ]
            )
    return text.getvalue()


def _csv_number(value: float) -> str:
    return f"{value:.10g}" if isfinite(value) else ""


def cells_csv(results: Results) -> str:
    """Every cell under the names that scripts use: the columns of the paper's data, and n."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ["algorithm", "environment", "method", "perturbation", "level", "mean", "ci95", "n"]
    writer.writerow(names)
    for (algorithm, environment, method, (perturbation, level)), cell in sorted(
        results.cells.items(), key=lambda item: item[0]
    ):
        words = map(escape.csv_text, (algorithm, environment, method, perturbation))
        numbers = (level, cell.value, cell.half_width)
        writer.writerow([*words, *map(_csv_number, numbers), cell.n])
    return text.getvalue()
