"""The command `report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Report:
    """Write tables, figures and a page to explore for the runs below a folder."""

    dir: Annotated[Path, tyro.conf.Positional]
    """Folder with the runs, at any depth."""
    out: Path
    """Folder of the report: index.html, tables/ and figures/. An earlier report is replaced."""
    compare: Literal["paper"] | None = None
    """Set the paper's numbers beside ours, both through the same code."""

    def run(self) -> None:
        """Write the report and say what was skipped."""
        from rich.console import Console
        from rich.markup import escape

        from drspcrl.report import write_report

        skipped = write_report(self.dir, self.out, compare=self.compare)
        console = Console()
        for skip in skipped:
            console.print(f"[yellow]skipped[/] {escape(f'{skip.path}: {skip.reason}')}")
        console.print(f"wrote {escape(str(self.out / 'index.html'))}")
