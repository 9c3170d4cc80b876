"""From a policy to a file: the ending of its name says which format."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drspcrl.errors import InputError
from drspcrl.export import c_header, npz, onnx
from drspcrl.export.source import Source
from drspcrl.files import remove_asides, write_durably


@dataclass(frozen=True)
class Exported:
    """A file that was written, and what it needs, in words."""

    path: Path
    summary: str


# Ending → what makes the file's content and says in words what it needs.
FORMATS: dict[str, Callable[[Source], tuple[bytes, str]]] = {
    ".onnx": onnx.encode,
    ".h": c_header.encode,
    ".npz": npz.encode,
}


def export(source: Source, out: str | Path) -> Exported:
    """Write a policy in the format that the ending of `out` names.

    Args:
        source: The policy, see `read_source`.
        out: `policy.onnx`, `policy.h` or `policy.npz`. A file of that name is replaced.

    Raises:
        InputError: Another ending, a folder, or a package that is not installed.
    """
    out = Path(out)
    if out.suffix not in FORMATS:
        raise InputError(f"--out is {out}; its name must end in {', '.join(FORMATS)}")
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the name of a file in it")
    content, summary = FORMATS[out.suffix](source)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        remove_asides(out.parent)
        write_durably(out, content)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    return Exported(out, summary)
