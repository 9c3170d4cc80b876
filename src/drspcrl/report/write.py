"""Write a report: aside first, then renamed into place, so that no half of one is ever seen."""

import json
import os
import shutil
from pathlib import Path

from drspcrl import __version__
from drspcrl.errors import InputError
from drspcrl.files import aside_in, folder_aside, read_text
from drspcrl.reading import MOST_JSON, parse_json
from drspcrl.report.collected import Collected, Made, collect
from drspcrl.report.figures import Paint, draw_figures, suite_suffixes
from drspcrl.report.names import looks
from drspcrl.report.page import render_page
from drspcrl.report.table import cells_csv, latex_document, to_csv, to_latex, to_markdown
from drspcrl.report.tables import all_tables
from drspcrl.runfolder.runs import REPORT_MARKER, Skipped

KIND = "drspcrl report"
SYNTHETIC = "SYNTHETIC DATA, not results"


def write_report(
    source: str | Path,
    out: str | Path,
    *,
    compare: str | None = None,
    command: str | None = None,
    note: str = "",
) -> tuple[Skipped, ...]:
    """Write `index.html`, `tables/` and `figures/` for the runs at or below a folder.

    An earlier report at `out` is replaced in one step; any other folder there is refused.

    Args:
        source: Folder with run folders.
        out: Folder of the report.
        compare: "paper" sets the paper's numbers beside ours.
        command: The command shown in the report; made from the arguments unless told.
        note: What to say at the top of the page, e.g. that it is a demonstration.

    Returns:
        The folders that were damaged or half-written, each with the reason.
    """
    source, out = Path(source), Path(out)
    check_target(out)
    told = command or f"drspcrl report {source} --out {out}" + (
        f" --compare {compare}" if compare else ""
    )
    collected = collect(source, compare, told, note)
    out.parent.mkdir(parents=True, exist_ok=True)
    with folder_aside(out.parent) as aside:
        _write_all(collected, aside)
        _put_in_place(aside, out)
    return collected.found.skipped


def check_target(out: Path) -> None:
    """Refuse a target that holds anything but an earlier report, before any work is done."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out} is a file or a link; give a folder for the report")
    if out.is_dir() and any(out.iterdir()) and not _is_report(out):
        raise InputError(
            f"{out} is a folder that is no report and is not empty; give --out another name"
        )


def _is_report(folder: Path) -> bool:
    try:
        marker = parse_json(read_text(folder / REPORT_MARKER, most=MOST_JSON))
    except (OSError, ValueError):
        return False
    return isinstance(marker, dict) and marker.get("kind") == KIND


def _put_in_place(aside: Path, out: Path) -> None:
    check_target(out)
    if not out.exists():
        os.replace(aside, out)
        return
    old = aside_in(out.parent)
    os.replace(out, old)
    os.replace(aside, out)
    shutil.rmtree(old)


def _write_all(collected: Collected, folder: Path) -> None:
    (folder / "tables").mkdir()
    (folder / "figures").mkdir()
    note = SYNTHETIC if collected.synthetic else ""
    made = _write_tables(collected, folder / "tables", note)
    paint = Paint(looks(collected.methods), collected.command, note)
    made += draw_figures(
        collected.results, collected.curves, collected.aggregates, collected.tasks, paint,
        folder / "figures",
    )  # fmt: skip
    (folder / "index.html").write_text(render_page(collected, made), encoding="utf-8")
    marker = {
        "kind": KIND,
        "format_version": 1,
        "version": __version__,
        "command": collected.command,
        "runs": len(collected.distinct),
        "synthetic": collected.synthetic > 0,
        "skipped": [[str(s.path), s.reason] for s in collected.found.skipped],
    }
    (folder / REPORT_MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")


def _write_tables(collected: Collected, folder: Path, note: str) -> list[Made]:
    tables = all_tables(collected)
    for table, _ in tables:
        forms = {
            "md": to_markdown(table, note),
            "tex": to_latex(table, note),
            "csv": to_csv(table, bool(note)),
        }
        for suffix, text in forms.items():
            (folder / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
    made = [one for _, one in tables]
    for suite, suffix in suite_suffixes(list(collected.results)).items():
        text = cells_csv(collected.results[suite])
        (folder / f"cells{suffix}.csv").write_text(text, encoding="utf-8")
        title = "Every cell, for scripts"
        made.append(Made("tables", f"cells{suffix}", "cells", title, ("csv",), None, suite))
    document = latex_document([table.name for table, _ in tables])
    (folder / "all-tables.tex").write_text(document, encoding="utf-8")
    made.append(Made("tables", "all-tables", "document", "All tables in one document", ("tex",)))
    return made
