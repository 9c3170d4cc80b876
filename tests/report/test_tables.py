"""Tables as Markdown, LaTeX and CSV: form, escapes, and LaTeX that really compiles."""

import csv
import math
import re
import shutil
import subprocess

import pytest

from drspcrl.report import escape
from drspcrl.report.names import slugs
from drspcrl.report.results import results_of_paper
from drspcrl.report.table import (
    Column,
    Number,
    Row,
    Table,
    decimal,
    ranked,
    to_csv,
    to_latex,
    to_markdown,
)
from drspcrl.report.tables import comparison_table, results_table
from drspcrl.statistics import Estimate, missing

PDFLATEX = shutil.which("pdflatex")
needs_latex = pytest.mark.skipif(
    PDFLATEX is None, reason="no pdflatex; Debian: texlive-latex-recommended"
)


def small_table() -> Table:
    estimates = [
        [Estimate(10.0, 8.0, 12.0, 5, "t"), missing("t")],
        [Estimate(30.0, 29.0, 31.0, 5, "t"), Estimate(-2.0, math.nan, math.nan, 1, "t")],
        [Estimate(20.0, 19.0, 21.0, 5, "t"), Estimate(-3.0, -4.0, -2.0, 2, "t")],
    ]
    rows = [
        Row(("Hopper", name), numbers)
        for name, numbers in zip("abc", ranked(estimates), strict=True)
    ]
    return Table(
        "t", "A caption", ("Task", "Method"), (Column("0.1", "Act"), Column("x")), tuple(rows)
    )


def test_markdown_by_hand():
    lines = to_markdown(small_table(), "note").splitlines()
    assert lines[2] == "**note**"
    assert lines[4] == "| Task | Method | Act 0.1 | x |"
    assert lines[6] == "| Hopper | a | 10.0 <sub>(2)</sub> | – |"
    assert lines[7] == "| Hopper | b | **30.0** <sub>(1)</sub> | **−2** |"
    assert lines[8] == "| Hopper | c | <u>20.0</u> <sub>(1)</sub> | <u>−3</u> <sub>(1)</sub> |"


def test_latex_by_hand():
    text = to_latex(small_table())
    assert r" & b & $\mathbf{30.0}_{(1)}$ & $\mathbf{-2}$ \\" in text
    assert r"\texttt{Hopper} & a & $10.0_{(2)}$ & -- \\" in text
    assert r" &  & \multicolumn{1}{c}{\textbf{Act}} & \multicolumn{1}{c}{} \\" in text
    assert r"\cmidrule(lr){3-3}" in text


def test_csv_keeps_every_digit_and_leaves_missing_empty():
    rows = list(csv.DictReader(to_csv(small_table(), synthetic=True).splitlines()))
    assert len(rows) == 6
    assert (rows[1]["value"], rows[1]["n"], rows[1]["rank"]) == ("", "0", "")
    assert (rows[2]["value"], rows[2]["low"], rows[2]["rank"]) == ("30", "29", "1")
    assert {row["data"] for row in rows} == {"synthetic"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.56, "1234.6"), (-0.05678, "−0.0568"), (0, "0.0"), (9.994, "9.99"), (-12.34, "−12.3")],
)
def test_decimals(value, text):
    assert decimal(value) == text


def test_the_papers_table_comes_out_as_it_was_printed():
    table = to_latex(results_table(results_of_paper(), "ppo", "ppo"))
    # first row of the paper's PPO table, Self-Paced's last cells, and a second place
    assert r"$1168.0_{(271.2)}$ & $\underline{869.3}_{(163.7)}$" in table
    assert r"$\mathbf{935.4}_{(146.1)}$ \\" in table


def test_ours_stands_beside_the_papers():
    paper = results_of_paper()
    table = comparison_table(paper, paper, "sac", "x")
    assert {len(row.numbers) for row in table.rows} == {15}
    assert [row.heads[2] for row in table.rows[:4]] == ["ours", "paper", "ours", "paper"]
    # given the same results on both sides, the same code says the same of both
    assert all(
        a.numbers == b.numbers for a, b in zip(table.rows[::2], table.rows[1::2], strict=True)
    )


@pytest.mark.parametrize("name", ["$x_1$ & 50% #1 ~^\\{}", "学习 é", "[x]|<y>`\"'", "\x00\n"])
@needs_latex
def test_any_name_compiles(name, tmp_path):
    table = Table(
        "t", name, (name,), (Column(name, name),), (Row((name,), (Number(missing(""), 1),)),)
    )
    (tmp_path / "t.tex").write_text(to_latex(table, name))
    compile_latex(
        tmp_path,
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}\input{t.tex}"
        r"\end{document}",
    )


@needs_latex
def test_all_tables_compile(small_report, tmp_path):
    folder = shutil.copytree(small_report / "tables", tmp_path / "tables")
    compile_latex(folder, (folder / "all-tables.tex").read_text())


@needs_latex
def test_hostile_tables_compile(hostile_report, tmp_path):
    folder = shutil.copytree(hostile_report / "tables", tmp_path / "tables")
    compile_latex(folder, (folder / "all-tables.tex").read_text())


def compile_latex(folder, document):
    (folder / "document.tex").write_text(document)
    assert PDFLATEX is not None
    made = subprocess.run(
        [PDFLATEX, "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = made.stdout.decode(errors="replace")
    assert made.returncode == 0, log[-2000:]
    assert (folder / "document.pdf").stat().st_size > 1000
    assert "Missing character" not in log


def test_markdown_escapes_markup():
    text = escape.markdown("a|b <img> *x* [y](z) `c` & http://w @me\n| next")
    assert "<" not in text
    assert re.search(r"(?<!\\)[|*`\[\]]", text) is None
    assert "://" not in text
    assert "\n" not in text


def test_csv_fields_are_no_formulas():
    assert escape.csv_text("=1+1") == "'=1+1"
    assert escape.csv_text("plain") == "plain"


def test_slugs_are_safe_and_distinct():
    names = ["../../etc/passwd", "a b", "A_B", "", "学", "x" * 300]
    made = slugs(names)
    assert len(set(made.values())) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]{1,45}", slug) for slug in made.values())
