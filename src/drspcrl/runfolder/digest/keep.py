"""Which runs are kept, and where; everything is checked before anything is written."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.policy import POLICY_FILE, load_policy
from drspcrl.runfolder.digest.content import digest
from drspcrl.runfolder.digest.folder import check_target, put
from drspcrl.runfolder.runs import Run, find_runs, read_info, read_run

OVER = ("finished", "diverged")
"""What a run must say of itself; one that diverged is evidence too."""

_WANTED = re.compile(r"(?P<method>.+):(?P<seed>[0-9]{1,20})")


@dataclass(frozen=True)
class Kept:
    """What became of one run: where its digest is, and whether that changed anything."""

    path: Path
    status: Literal["kept", "unchanged", "left out"]
    reason: str = ""


def keep_runs(
    root: str | Path,
    out: str | Path,
    *,
    policies: Collection[str] = (),
    skip_unfinished: bool = False,
    overwrite: bool = False,
) -> list[Kept]:
    """Write a digest of every run at or below a folder to `out/<env>-<algorithm>[-settings]/<run>`.

    All runs are checked before the first is written. Each digest is written aside and renamed
    into place; one that is there already with the same content is left alone.

    Args:
        root: A run folder, or a folder with run folders at any depth.
        out: Folder of the digests; those of other runs in it stay.
        policies: Runs whose policy is kept too, as `method:seed`.
        skip_unfinished: Leave out runs that are not trained or not evaluated, instead of refusing.
        overwrite: Replace the digest of another training of the same name, instead of refusing.

    Raises:
        InputError: no runs, a damaged or unfinished one, or two that would meet in one folder; a
            link in a run or in a digest that is there, or a policy that is none.
    """
    root, out = Path(root), Path(out)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder; give the folder that holds the runs")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; give a folder for the digests")
    wanted = _wanted(policies)
    runs, left_out = _whole_runs(root, skip_unfinished)
    targets = _targets(runs, out)
    for target in targets:
        check_target(target)
    _check_policies(wanted, runs)
    if not overwrite:
        _check_same_training(targets)
    contents = {
        target: digest(run, (run.method, run.seed) in wanted) for target, run in targets.items()
    }
    done = [
        Kept(target, "kept" if put(target, content) else "unchanged")
        for target, content in contents.items()
    ]
    return left_out + done


def _whole_runs(root: Path, skip_unfinished: bool) -> tuple[list[Run], list[Kept]]:
    """The runs that can be kept, and those left out."""
    runs, left_out = [], []
    folders = list(find_runs(root))
    if not folders:
        raise InputError(f"no run at or below {root}; give the folder that holds the runs")
    for folder in folders:
        run = _read(folder)
        reason = _unfinished(run)
        if not reason:
            runs.append(run)
        elif skip_unfinished:
            left_out.append(Kept(folder, "left out", reason))
        else:
            raise InputError(
                f"{folder} is not done: {reason}; or leave out what is not done with "
                "--skip-unfinished"
            )
    return runs, left_out


def _read(folder: Path) -> Run:
    try:
        return read_run(folder)
    except InputError as error:
        raise InputError(f"{folder} cannot be kept: {error}") from None


def _unfinished(run: Run) -> str:
    """Why a run cannot be kept yet; "" where it can."""
    if run.status not in OVER:
        return f"its status is {shown(run.status)}; finish it with drspcrl resume"
    if run.status == "finished" and not run.evaluations:
        return "it has no evaluation; make one with drspcrl evaluate"
    return ""


def _targets(runs: list[Run], out: Path) -> dict[Path, Run]:
    """Where each run goes; a place for each."""
    targets: dict[Path, Run] = {}
    for run in runs:
        target = out / _group(run) / run.path.resolve().name
        if target in targets:
            raise InputError(
                f"{targets[target].path} and {run.path} would both go to {target}; keep them one "
                "by one, each with an --out of its own"
            )
        if target.resolve() == run.path.resolve():
            raise InputError(f"{run.path} is in --out itself; give another --out")
        targets[target] = run
    return targets


def _group(run: Run) -> str:
    """Task and learner; with the settings that a grid tells populations of these two apart by."""
    group = re.sub(r"[^\w.-]", "_", f"{run.environment}-{run.algorithm}")
    own = run.path.resolve().parent.name
    return own if own.startswith(f"{group}-") else group


def _check_same_training(targets: Mapping[Path, Run]) -> None:
    """A digest may be renewed; that of another training with the same name is not lost unasked."""
    for target, run in targets.items():
        if not os.path.lexists(target / "run.json"):
            continue
        there, here = (read_info(folder).get("started") for folder in (target, run.path))
        if there != here:
            raise InputError(
                f"{target} is a digest of another training (begun {brief(there, 60)}) than "
                f"{run.path} (begun {brief(here, 60)}); give another --out, or --overwrite"
            )


def _wanted(policies: Collection[str]) -> set[tuple[str, int]]:
    wanted = set()
    for text in policies:
        match = _WANTED.fullmatch(text)
        if match is None:
            raise InputError(f"policies has {shown(text)}; give method:seed, such as self_paced:0")
        wanted.add((match["method"], int(match["seed"])))
    return wanted


def _check_policies(wanted: set[tuple[str, int]], runs: list[Run]) -> None:
    """Every policy asked for is there and is one: a run folder may come from elsewhere."""
    for method, seed in sorted(wanted):
        asked = [run for run in runs if (run.method, run.seed) == (method, seed)]
        if not asked:
            there = ", ".join(sorted({f"{run.method}:{run.seed}" for run in runs})) or "none"
            raise InputError(f"policies has {method}:{seed}; the runs are {brief(there)}")
        for run in asked:
            if not os.path.lexists(run.path / POLICY_FILE):
                raise InputError(f"{run.path} has no {POLICY_FILE}, which --policies asks for")
            load_policy(run.path)
