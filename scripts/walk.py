"""List every file of src/drspcrl on the way from a command line to a saved policy.

    python scripts/walk.py

A short training with `drspcrl train`, which learns, paces and saves: the modules that it loads, and
those of whose functions at least one runs.
"""

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "drspcrl"
COMMAND = ("train", "--env", "Hopper", "--algorithm", "sac", "--methods", "self_paced")
SHORT = ("--steps", "1200", "--set", "learning_starts=400", "hidden=[32,32]")
_FUNCTION = 1  # CO_OPTIMIZED: the body of a function, not of a module or class


def walk() -> tuple[list[str], list[str]]:
    """Files that are loaded, and those of which a function runs; both below `src/drspcrl`."""
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & _FUNCTION:
            ran.add(code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    from drspcrl.cli import main

    with tempfile.TemporaryDirectory() as folder:
        if code := main([*COMMAND, *SHORT, "--out", folder]):
            raise SystemExit(code)
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    loaded = {str(getattr(module, "__file__", None)) for module in [*sys.modules.values()]}
    return _inside(loaded), _inside(ran)


def _inside(files: set[str]) -> list[str]:
    paths = [Path(file) for file in files]
    return sorted(p.relative_to(SOURCE).as_posix() for p in paths if p.is_relative_to(SOURCE))


def _print() -> None:
    loaded, ran = walk()
    print(f"drspcrl {' '.join(COMMAND)}: {len(loaded)} modules loaded, {len(ran)} run")
    for file in loaded:
        print(f"  {file}" + ("" if file in ran else "  (loaded alone)"))


if __name__ == "__main__":
    _print()
