"""The command `export`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from drspcrl.cli.say import say


@dataclass(frozen=True)
class Export:
    """Write a policy so that it runs without this library: ONNX, a C header, or NumPy arrays.

    Normaliser, network and action range are all in the file. The action is the deterministic one.
    """

    dir: Annotated[Path, tyro.conf.Positional]
    """A run folder, a policy file such as RUN/policy-best.safetensors, or zoo:NAME."""
    out: Path
    """The file to write; its ending says the format: .onnx, .h (C99) or .npz."""
    trust: tuple[str, ...] = ()
    """An environment named module:Id in the run, whose module may be imported to ask for the
    control period and for names."""

    def run(self) -> None:
        """Export, and say what the file needs."""
        from drspcrl.export import export, read_source

        source = read_source(self.dir, self.trust)
        exported = export(source, self.out)
        say(f"{exported.path}: {exported.summary}")
        for note in source.notes:
            say(f"note: {note}")
