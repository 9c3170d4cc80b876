"""The command `report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from drspcrl.cli.say import say


@dataclass(frozen=True)
class Report:
    """Write tables, figures and a page to explore for the runs below a folder."""

    dir: Annotated[Path, tyro.conf.Positional]
    """Folder with the runs, at any depth."""
    out: Path
    """Folder of the report: index.html, tables/ and figures/. An earlier report is replaced."""
    compare: Literal["paper"] | None = None
    """Set the paper's numbers beside ours, both through the same code."""
    note: str = ""
    """A sentence for the top of the page."""

    def run(self) -> None:
        """Write the report and say what was skipped."""
        from drspcrl.report import write_report

        for skip in write_report(self.dir, self.out, compare=self.compare, note=self.note):
            say(f"skipped {skip.path}: {skip.reason}")
        say(f"wrote {self.out / 'index.html'}")
