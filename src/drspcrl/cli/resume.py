"""`drspcrl resume`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from drspcrl.cli.durations import Duration


@dataclass(frozen=True)
class Resume:
    """Continue exactly where a training stopped, or make it longer.

    The runs of a population continue together, also if the folder of one of them is given.
    """

    dir: Annotated[Path, tyro.conf.Positional]
    """The OUT of a training, or a run folder in it."""
    steps: int | None = None
    """A new length of each run, above the old one."""
    time_limit: Duration = None
    """Stop again after this time: seconds, or a text such as 9m or 1h30m."""

    trust: tuple[str, ...] = ()
    """Methods and environments of the runs whose module may be imported, as my_module:My-v0."""

    def run(self) -> None:
        """Continue; exit with code 1 if a run diverged."""
        from drspcrl.cli.say import console, show
        from drspcrl.training.resuming import resume

        show(resume(self.dir, self.steps, self.time_limit, console(), self.trust))
