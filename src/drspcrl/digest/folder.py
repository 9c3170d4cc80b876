"""Put a digest in its folder: whole or not at all, and only where it says something new."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from drspcrl import packed
from drspcrl.digest.content import POLICY
from drspcrl.errors import InputError


def put(target: Path, content: Mapping[str, bytes]) -> bool:
    """Put a digest in place, whole; one that says the same is left alone.

    Returns:
        Whether anything was written.
    """
    if target.is_dir():
        content = {**_kept_policy(target, content), **content}
        if _same(target, content):
            return False
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        aside.chmod(0o755)
        for name, data in content.items():
            (aside / name).write_bytes(data)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            os.replace(target, old)
            os.replace(aside, target)
            shutil.rmtree(old)
        else:
            os.replace(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return True


def _kept_policy(target: Path, content: Mapping[str, bytes]) -> dict[str, bytes]:
    """A policy of the same run that was kept earlier stays, asked for again or not."""
    run, policy = target / "run.json", target / POLICY
    same = run.is_file() and run.read_bytes() == content["run.json"]
    return {POLICY: policy.read_bytes()} if same and policy.is_file() else {}


def _same(target: Path, content: Mapping[str, bytes]) -> bool:
    """Whether a digest has these files.

    Packed ones are compared unpacked, so that another version of the packer changes nothing.
    """
    there = {file.name: file.read_bytes() for file in target.iterdir() if file.is_file()}
    if there.keys() != content.keys():
        return False
    return all(
        there[name] == data or (name.endswith(packed.SUFFIX) and _same_text(there[name], data))
        for name, data in content.items()
    )


def _same_text(one: bytes, other: bytes) -> bool:
    try:
        return packed.unpack(one, "") == packed.unpack(other, "")
    except InputError:
        return False
