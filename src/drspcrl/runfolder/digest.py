"""Digests of run folders: small enough to commit, whole enough for every table and figure.

A digest of a run is a run folder itself, read by `drspcrl.runfolder.runs` like any other:

    run.json, config.yaml            as they are, but for the place of the folder
    metrics.csv.xz                   at most 60 rows of step, episode return, ε and β
    evaluation.csv.xz                every episode, returns to a hundredth
    evaluation.json                  what the evaluation was made with
    policy.safetensors               where it is asked for
"""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.files import (
    aside_in,
    check_folder,
    is_aside,
    make_folder,
    read_bytes,
    refuse_links,
    remove_own,
    resolved,
    write_and_sync,
)
from drspcrl.policy import POLICY_FILE, load_policy
from drspcrl.runfolder import tables
from drspcrl.runfolder.checkpoint.lock import FolderLock
from drspcrl.runfolder.runs import Run, find_runs, read_info, read_run
from drspcrl.runfolder.thinning import digest

_OWN = re.compile(
    r"run\.json|config\.yaml|metrics\.csv\.xz|evaluation(-.+)?\.(csv\.xz|json)"
    rf"|{re.escape(POLICY_FILE)}"
)


def check_target(target: Path) -> None:
    """Refuse a place where a digest cannot be put without touching what is somebody else's.

    Raises:
        InputError: it, its group or something in it is a link, or it holds more than a digest.
    """
    check_folder(target.parent)
    check_folder(target)
    if not target.is_dir():
        return
    refuse_links(target)
    if foreign := sorted(file.name for file in target.iterdir() if not _is_own(file)):
        raise InputError(
            f"{target} holds {foreign[0]}, which is no part of a digest; move it away, or give "
            "another --out"
        )


def put(target: Path, content: Mapping[str, bytes]) -> bool:
    """Put a digest in place, whole; one that says the same is left alone.

    Returns:
        Whether anything was written.

    Raises:
        InputError: see `check_target`; or another process writes into the same group.
    """
    check_target(target)
    if target.is_dir():
        content = {**_kept_policy(target, content), **content}
        if _same(target, content):
            return False
    make_folder(target.parent)
    lock = FolderLock(target.parent)
    try:
        _tidy(target.parent)
        _write(target, content)
    finally:
        lock.release()
    return True


def _tidy(group: Path) -> None:
    """Remove what killed processes left aside; who asks holds the group."""
    for left in list(group.iterdir()):
        if is_aside(left.name):
            _remove(left)


def _write(target: Path, content: Mapping[str, bytes]) -> None:
    aside = aside_in(target.parent)
    aside.mkdir()
    try:
        for name, data in content.items():
            write_and_sync(aside / name, data)
        _swap(aside, target)
    except BaseException:
        _remove(aside)
        raise


def _swap(aside: Path, target: Path) -> None:
    old = aside_in(target.parent)
    there = target.is_dir()
    if there:
        os.replace(target, old)
    os.replace(aside, target)
    if there:
        # Hidden files are a desktop's or a version control's, and stay.
        for file in [file for file in old.iterdir() if file.name.startswith(".")]:
            os.replace(file, target / file.name)
        _remove(old)


def _is_own(file: Path) -> bool:
    return file.is_file() and (_OWN.fullmatch(file.name) is not None or file.name.startswith("."))


def _remove(folder: Path) -> None:
    """Remove a folder of ours; where something foreign is in it, that and the folder stay."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for file in list(folder.iterdir()):
        if _OWN.fullmatch(file.name):
            remove_own(file)
    if not any(folder.iterdir()):
        folder.rmdir()


def _kept_policy(target: Path, content: Mapping[str, bytes]) -> dict[str, bytes]:
    """A policy of the same run that was kept earlier stays, asked for again or not."""
    run, policy = target / "run.json", target / POLICY_FILE
    same = run.is_file() and read_bytes(run) == content["run.json"]
    return {POLICY_FILE: read_bytes(policy)} if same and policy.is_file() else {}


def _same(target: Path, content: Mapping[str, bytes]) -> bool:
    """Whether a digest has these files.

    Packed ones are compared unpacked, so that another version of the packer changes nothing.
    """
    there = {f.name: read_bytes(f) for f in target.iterdir() if not f.name.startswith(".")}
    if there.keys() != content.keys():
        return False
    return all(
        there[name] == data or (name.endswith(tables.SUFFIX) and _same_text(there[name], data))
        for name, data in content.items()
    )


def _same_text(one: bytes, other: bytes) -> bool:
    try:
        return tables.unpack(one, "") == tables.unpack(other, "")
    except InputError:
        return False


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
        if resolved(target) == resolved(run.path):
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
