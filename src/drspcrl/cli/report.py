"""`drspcrl report` and `drspcrl keep`: pages from runs, and runs small enough to commit."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from drspcrl.cli.say import say
from drspcrl.display import counted
from drspcrl.errors import InputError


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


@dataclass(frozen=True)
class Keep:
    """Copy runs to digests: small run folders that every table and figure can be made from.

    About 12 KB a run. run.json and config.yaml stay as they are but for the place of the run's
    folder, metrics are thinned, every evaluated episode is kept. drspcrl report reads digests like
    any other runs.
    """

    dir: Annotated[Path, tyro.conf.Positional]
    """A run folder, or a folder with runs at any depth."""
    out: Path
    """Folder of the digests; those of other runs in it stay."""
    policies: tuple[str, ...] = ()
    """Runs whose policy is kept too, e.g. --policies self_paced:0 vanilla:0."""
    skip_unfinished: bool = False
    """Leave out runs that are not trained or not evaluated yet, instead of refusing all."""

    overwrite: bool = False
    """Replace the digest of another training of the same name, instead of refusing."""

    def run(self) -> None:
        """Keep the runs and say what became of each."""
        from drspcrl.runfolder.digest import keep_runs

        if Path(os.path.realpath(self.out)).is_relative_to(os.path.realpath(self.dir)):
            raise InputError(
                f"--out {self.out} is in {self.dir}, whose runs are kept; give a folder outside it"
            )
        kept = keep_runs(
            self.dir, self.out, policies=self.policies, skip_unfinished=self.skip_unfinished,
            overwrite=self.overwrite,
        )  # fmt: skip
        for one in kept:
            say(f"{one.status} {one.path}" + (f": {one.reason}" if one.reason else ""))
        done = [one for one in kept if one.status != "left out"]
        size = sum(f.stat().st_size for one in done for f in one.path.iterdir() if f.is_file())
        say(f"{counted(len(done), 'run')} in {self.out}, {size / 1000:,.0f} kB")
