"""Work at a grid for some minutes, then pack digests of what is done into one file.

    python studies/piece.py studies/grids/controls.yaml --out runs/controls --minutes 9 \
        --tar controls.tar.xz --only env=Hopper

The same command continues: what fits into the time is trained and evaluated, everything else stops
with a checkpoint. What follows the options goes to `drspcrl grid`. Exit code as there: 3 means that
the same command has more to do.
"""

import argparse
import os
import tarfile
import time
from pathlib import Path

from drspcrl.cli import main as drspcrl

PACKING = 60.0
"""Seconds of the time that are left for stopping, digests and the file."""
MOST = 50 * 2**20
"""Bytes that the file may have; a digest has about 15 KB."""
UNFINISHED = 3


def command(*words: object) -> int:
    """The exit code of a `drspcrl` command."""
    try:
        return drspcrl([str(word) for word in words])
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1


def pack(digests: Path, tar: Path) -> None:
    """All digests in one file, which is whole or not there."""
    aside = tar.with_name(f".{tar.name}.{os.getpid()}")
    try:
        with tarfile.open(aside, "w:xz") as file:
            file.add(digests, digests.name)
        if (size := aside.stat().st_size) > MOST:
            raise SystemExit(f"{tar} would have {size:,} bytes; pack parts of it, see --only")
        aside.replace(tar)
    finally:
        aside.unlink(missing_ok=True)
    print(f"{size:,} bytes in {tar}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    begun = time.monotonic()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("grid", help="a grid file, or the name of one")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tar", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0)
    given, more = parser.parse_known_args(arguments)
    limit = max(1.0, 60 * given.minutes - PACKING)
    grid = ("grid", given.grid, "--out", given.out, "--time-limit", f"{limit}s", "--no-report")
    code = command(*grid, *more)
    digests = given.out.with_name(f"{given.out.name}-digests")
    kept = code != 2 and command("keep", given.out, "--out", digests, "--skip-unfinished") == 0
    if kept and digests.is_dir():
        pack(digests, given.tar)
    print(f"{time.monotonic() - begun:.0f} s; " + ("run it again" if code == UNFINISHED else
          "done" if code == 0 else "see above"), flush=True)  # fmt: skip
    return code


if __name__ == "__main__":
    raise SystemExit(main())
