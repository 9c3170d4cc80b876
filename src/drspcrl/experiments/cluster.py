"""A Ray cluster: how it is reached, what its machines have, and work at a folder on one of them.

Nothing of Ray is imported before a cluster is asked for. A machine that sees a folder works in it;
one that does not works at a copy on a disk of its own, and what it writes is carried back.
"""

import os
import shutil
import signal
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.experiments.carrying import Copy, Packer
from drspcrl.experiments.local import usable_cores
from drspcrl.files import mark
from drspcrl.training.stopping import SIGNALS

if TYPE_CHECKING:
    from drspcrl.evaluation.parallel import Spread, Work

SCRATCH = "DRSPCRL_SCRATCH"
"""The environment variable of a machine that names where its scratch folder is, which it then uses
for every piece."""

LOSSES = 10
"""How often work begins again because the machine or process it was on is gone."""

_ANSWER = 5.0  # seconds for a cluster to answer
_ABANDONED = 60.0  # seconds after which a scratch folder without an owner is removed
_PREFIX, _MARKER = "drspcrl-work-", ".drspcrl-work"  # of a folder that was made here


@dataclass(frozen=True)
class Machine:
    """What one machine of a cluster has.

    Attributes:
        name: Ray's name of it.
        cores: cores.
        gpus: GPUs.
        memory: bytes that Ray gives to tasks.
    """

    name: str
    cores: float
    gpus: float
    memory: float


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The module `ray`, connected to a cluster, which is left at the end.

    Args:
        address: `host:port` of the head, or `auto` for the cluster that this machine is part of;
            unless given the environment's RAY_ADDRESS, or this machine alone.

    Raises:
        InputError: Ray is missing, or no cluster answers.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_address(address)
    ray = _imported(alone=address == "local")
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
    if address == "local":
        options |= {"include_dashboard": False, "num_cpus": usable_cores()}
    try:
        with _signals_kept():
            ray.init(**options)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = brief(" ".join(str(error).split()), 300)
        raise InputError(
            f"the Ray cluster at {shown(address)} cannot be joined: {reason}; start one on this "
            "machine with ray start, or leave --address out to use this machine alone"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Have signals do afterwards what they did before; Ray ends a process by SIGTERM at once."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def _imported(alone: bool) -> Any:
    """Ray, which tells nobody anything; a cluster of this machine alone listens to it alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if alone:
        os.environ.setdefault("RAY_enable_metrics_collection", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # as without Ray, whatever else runs here
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # 127.0.0.1 as its address
    # The choice of what a task without a GPU sees; unset, every worker warns about it.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module("ray")
    except ImportError:
        raise InputError(
            "--engine ray needs Ray, which is not installed here; pip install 'drspcrl[ray]', or "
            "use --engine local"
        ) from None


def _check_address(address: str) -> None:
    """Refuse what is no address, and one where nobody answers, which Ray would wait for.

    Raises:
        InputError: saying so.
    """
    if address in ("auto", "local"):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or "/" in address:
        raise InputError(
            f"address is {shown(address)}; give host:port of the cluster's head, e.g. "
            "10.0.0.1:6379, or auto, on a machine that is part of the cluster"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(
            f"no Ray cluster answers at {shown(address)}: {error}; start its head with ray start "
            "--head, or leave --address out to use this machine alone"
        ) from None


def machines(ray: Any) -> list[Machine]:
    """The machines of the cluster that have cores for tasks."""
    found = []
    for node in ray.nodes():
        has = node["Resources"]
        if node["Alive"] and has.get("CPU", 0) >= 1:
            memory = has.get("memory", float("inf"))
            found.append(Machine(node["NodeID"], has["CPU"], has.get("GPU", 0.0), memory))
    return found


@contextmanager
def workplace(out: Path, sign: str) -> Iterator[tuple[Path, bool]]:
    """Where a machine works, and whether that is the folder itself.

    Args:
        out: the folder.
        sign: a file in it, by which it is recognised.

    Raises:
        InputError: the scratch folder is not this user's alone.
        OSError: the disk takes no folder.
    """
    if not os.environ.get(SCRATCH) and os.path.lexists(sign):
        yield out, True
        return
    from drspcrl.runfolder.checkpoint import FolderLock

    base = _own_folder(Path(os.environ.get(SCRATCH) or tempfile.gettempdir()))
    _remove_abandoned(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    (folder / _MARKER).touch()
    lock = FolderLock(folder)
    try:
        yield folder, False
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _own_folder(scratch: Path) -> Path:
    """A folder of this user alone, which is made unless it is there."""
    base = scratch / f"drspcrl-{os.getuid()}"
    scratch.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        base.mkdir(mode=0o700)
    found = base.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(
            f"{base} is not a folder of user {os.getuid()}; remove it, or set {SCRATCH} to "
            "another folder"
        )
    if found.st_mode & 0o077:
        raise InputError(f"{base} is open to other users; chmod 700 {base}")
    return base


def _remove_abandoned(base: Path) -> None:
    """Remove what killed workers left, whose processes are gone."""
    from drspcrl.runfolder.checkpoint import FolderLock

    for folder in base.glob(f"{_PREFIX}*"):
        with ExitStack() as stack:
            try:
                found, marker = folder.lstat(), (folder / _MARKER).lstat()
                ours = stat.S_ISDIR(found.st_mode) and stat.S_ISREG(marker.st_mode)
                if not ours or time.time() - found.st_mtime < _ABANDONED:
                    continue
                for held in [folder, *(file.parent for file in folder.rglob(".lock"))]:
                    stack.callback(FolderLock(held).release)
            except (InputError, OSError):
                continue  # somebody is there, or it was not made here
            shutil.rmtree(folder, ignore_errors=True)


def at_folders(
    ray: Any,
    folders: Sequence[Path],
    function: Callable[[Path, int], Any],
    threads: int = 0,
    checkpoints: bool = False,
) -> Iterator[tuple[Path, Any]]:
    """Apply a function to folders on the cluster, one task each.

    Args:
        ray: the module, connected.
        folders: where the function reads, and where what it writes belongs.
        function: of the folder, or a copy of it, and a number of threads.
        threads: cores for each; 0 for a fair share of all.
        checkpoints: whether a copy has the run's checkpoints.

    Yields:
        Each folder with what the function gave, or the exception that it raised, as they come.
    """
    there = machines(ray)
    least = int(min((machine.cores for machine in there), default=1))
    share = int(sum(machine.cores for machine in there)) // max(1, len(folders))
    cores = min(threads or max(1, share), least)
    remote = ray.remote(max_retries=LOSSES, num_cpus=cores)(_at_folder)
    common = Path(os.path.commonpath(folders)) if folders else Path()
    with mark(common) as sign:
        waiting = {}
        for folder in folders:
            packer = Packer(folder.parent, [folder.name], checkpoints, written=checkpoints)
            offer = [ray.put(message) for message in packer.pack()]
            waiting[remote.remote(function, str(folder), str(sign), offer, cores)] = folder
        try:
            while waiting:
                (ready,), _ = ray.wait(list(waiting))
                yield waiting[ready], _result(ray, ready, waiting.pop(ready))
        finally:
            for left in waiting:
                ray.cancel(left)


@contextmanager
def spread_over(address: str | None, threads: int, checkpoints: bool = False) -> "Iterator[Spread]":
    """What shares runs that are evaluated among the machines of a cluster; see `at_folders`.

    Raises:
        InputError: see `connected`.
    """
    with connected(address) as ray:
        yield partial(_evaluated, ray, threads, checkpoints)


def _evaluated(
    ray: Any, threads: int, checkpoints: bool, folders: Sequence[Path], work: "Work"
) -> Iterator[Any]:
    for folder, found in at_folders(ray, folders, partial(_only_one, work), threads, checkpoints):
        failed = isinstance(found, BaseException)
        yield (folder, reason_of(found)) if failed else replace(found, path=folder)


def _only_one(work: "Work", folder: Path, threads: int) -> Any:
    (result,) = work([folder], threads=threads)
    return result


def _result(ray: Any, ready: Any, folder: Path) -> Any:
    try:
        result, written = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        return error.cause
    except ray.exceptions.RayError as error:
        return InputError(f"its machine was lost {LOSSES} times: {reason_of(error)}")
    for message in written:
        Copy(folder.parent, [folder.name]).take(message)
    return result


def _at_folder(
    function: Callable[[Path, int], Any], folder: str, sign: str, offer: list[Any], cores: int
) -> tuple[Any, list[Mapping[str, Any]]]:
    """On a machine of the cluster: what a function gives, and what it wrote into a copy."""
    with workplace(Path(folder), sign) as (place, shared):
        if shared:
            return function(place, cores), []
        name = Path(folder).name
        for message in fetched(offer):
            Copy(place, [name]).take(message)
        (place / name).mkdir(exist_ok=True)
        packer = Packer(place, [name], checkpoints=False)
        packer.skip()  # what is there already need not be carried back
        return function(place / name, cores), list(packer.pack())


def fetched(references: Sequence[Any], timeout: float | None = None) -> Iterator[Any]:
    """What references stand for, within a task.

    A task whose main thread waits for an object lends its cores to another one, which then keeps
    them; so another thread waits.
    """
    ray: Any = import_module("ray")
    with ThreadPoolExecutor(1) as pool:
        for reference in references:
            yield pool.submit(ray.get, reference, timeout=timeout).result()


def reason_of(error: BaseException) -> str:
    """A line about what went wrong; of what Ray says its first sentence."""
    if isinstance(error, InputError):
        return str(error)
    return brief(" ".join(str(error).split()).split(". ")[0], 200)
