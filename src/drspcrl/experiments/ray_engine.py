"""Pieces on a Ray cluster: one task each, placed where its cores, GPU and memory are free.

A task is a stream of messages: that it has begun, the newest checkpoints where its machine does not
see the grid's folder, and its outcome. On its machine a process of its own does the work, as here.
A task whose machine or worker is gone begins again from the newest checkpoint, so everything may
be done twice, and nothing is different then.
"""

import errno
import os
import shutil
import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from drspcrl.errors import InputError
from drspcrl.experiments.carrying import Copy, Message, Packer, progress
from drspcrl.experiments.cluster import (
    LOSSES,
    Machine,
    connected,
    fetched,
    machines,
    reason_of,
    workplace,
)
from drspcrl.experiments.cost import available_memory, needs
from drspcrl.experiments.engine import Engine, Outcome, Task
from drspcrl.experiments.local import LOGS, WORKER, Child, shared_gpu
from drspcrl.experiments.population import Population
from drspcrl.files import append, make_folder, mark
from drspcrl.training.memory import readable
from drspcrl.training.stopping import Stop
from drspcrl.versions import versions_of

_PATIENCE = 120.0  # seconds for what is asked to stop
_PAUSE = 1.0  # seconds between two questions whether to stop
_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
_PACKING = "packing"  # a thread of the desk, so that it says meanwhile whether to stop
_PACKAGES = ("drspcrl", "jax", "mujoco", "numpy")
"""Another version of these computes other numbers."""


@dataclass(frozen=True)
class Need:
    """What a piece needs of a machine.

    Attributes:
        cores: cores.
        gpus: GPUs, or a share of one.
        memory: bytes of the machine's memory.
        disk: bytes, where the grid's folder is not seen.
    """

    cores: int
    gpus: float
    memory: int
    disk: int

    def fits(self, machine: Machine) -> bool:
        """Whether a machine has that much."""
        enough = self.cores <= machine.cores and self.memory <= machine.memory
        return enough and self.gpus <= machine.gpus

    def __str__(self) -> str:
        gpus = f", {self.gpus:g} GPU" if self.gpus else ""
        return f"{self.cores} cores{gpus} and {readable(self.memory)} of memory"


@dataclass
class _Attempt:
    """A task that was handed to the cluster.

    Attributes:
        task: the task.
        stream: its messages.
        machine: where it is worked at, None before it begins.
        copy: what it is carried home to, None where its machine sees the folder.
        outcome: what has become of it; its machine is tidied up before the stream ends.
    """

    task: Task
    stream: Any
    machine: str | None = None
    copy: Copy | None = None
    outcome: Outcome | None = None


class RayEngine(Engine):
    """Hands each task to a Ray cluster.

    Args:
        stop: tells when to stop.
        jobs: pieces that share a machine at a time.
        address: of the cluster, see `connected`.
        device: where to learn, as in `TrainConfig`.
        threads: cores of one piece; 0 for a machine's, shared among its pieces.
        program: what the processes run, a task's JSON on its input.

    Attributes:
        failed_on: the machines that each piece has failed on, which its next attempts avoid.
    """

    def __init__(
        self,
        stop: Stop,
        jobs: int = 1,
        address: str | None = None,
        device: str = "auto",
        threads: int = 0,
        program: Sequence[str] | None = None,
    ):
        self._stop, self._jobs, self._address = stop, jobs, address
        self._device, self._given, self._program = device, threads, program
        self._attempts = dict[Any, _Attempt]()
        self._losses, self._unfit, self._seen = Counter[str](), dict[str, str](), set[Machine]()
        self.failed_on = defaultdict[str, set[str]](set)
        self._asked_to_stop: float | None = None

    def __enter__(self) -> "RayEngine":
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(self._address))
            self._desk = _desk(self._ray)
            there = machines(self._ray)
            gpus = [machine for machine in there if machine.gpus >= 1]
            self._gpu = bool(gpus) and self._device != "cpu"
            if not there or (self._device == "gpu" and not gpus):
                what = "GPU" if there else "core"
                raise InputError(f"no machine of the Ray cluster has a {what}; add one to it")
            fitting = gpus if self._gpu else there
            least = int(min(machine.cores for machine in fitting))
            self.threads = self._given or max(1, least // self._jobs)
            self._least = min(machine.memory for machine in fitting)
            self._remote = self._ray.remote(max_retries=0, num_returns="streaming")(_anywhere())
            self._context = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the cluster."""
        self._context.close()

    def memory(self, device: str) -> float | None:
        """See `Engine`."""
        if not self._gpu:
            return self._least / self._jobs
        ask = self._ray.remote(num_gpus=1, num_cpus=0)(available_memory)
        asked = ask.remote("gpu")
        try:
            found = self._ray.get(asked, timeout=_PATIENCE)
        except self._ray.exceptions.RayError as error:
            self._ray.cancel(asked)
            busy = isinstance(error, self._ray.exceptions.GetTimeoutError)
            why = f"none was free for {_PATIENCE:.0f}s" if busy else reason_of(error)
            raise InputError(
                f"no GPU of the Ray cluster tells its memory: {why}; free one, or give --memory"
            ) from None
        return None if found is None else found / self._jobs

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """See `Engine`."""
        queue = deque(tasks)
        with ExitStack() as stack:
            signs = {out: stack.enter_context(mark(Path(out))) for out in {t.out for t in tasks}}
            stack.callback(self._leave)
            while queue or self._attempts:
                if self._stop.now:
                    queue.clear()
                    yield from self._end_all()
                there = machines(self._ray) if queue else []
                while queue and not self._stop.now:
                    yield from self._submit(queue.popleft(), signs, there)
                for attempt in self._ready():
                    for heard in self._hear(attempt):
                        queue.extend([attempt.task] if heard.status == "lost" else [])
                        yield heard

    def _submit(
        self, task: Task, signs: Mapping[str, Path], there: Sequence[Machine]
    ) -> Iterator[Outcome]:
        """Hand a task to the cluster; it fails where no machine is large enough.

        Where one was and is gone, it waits for another.
        """
        need = self._need(task)
        self._seen.update(machine for machine in there if need.fits(machine))
        large = [machine.name for machine in there if need.fits(machine)]
        usable = [name for name in large if name not in self._unfit]
        if not usable and (large or not any(map(need.fits, self._seen))):
            reasons = "; ".join(self._unfit[name] for name in large)
            words = f"no machine of the cluster that is fit has {need}"
            yield Outcome(task.piece, "failed", f"{words} ({reasons})" if reasons else words)
            return
        failed = self.failed_on[task.piece]
        avoided = {*self._unfit, *(failed if set(usable) - failed else ())}
        selector = {"ray.io/node-id": f"!in({','.join(sorted(avoided))})"} if avoided else None
        runs = list(Population.of(task.population).folders())
        job = {
            "task": asdict(task), "runs": runs, "sign": str(signs[task.out]),
            "program": self._program, "disk": need.disk, "jobs": self._jobs, "cores": need.cores,
            "versions": versions_of(_PACKAGES),
        }  # fmt: skip
        stream = self._remote.options(
            num_cpus=need.cores, num_gpus=need.gpus, memory=need.memory or None,
            label_selector=selector, name=task.piece,
        ).remote(job, self._desk)  # fmt: skip
        self._attempts[stream] = _Attempt(task, stream)

    def _need(self, task: Task) -> Need:
        population = Population.of(task.population)
        all_of_it = needs(population)
        on_device = population.training.get("replay_memory", "device") == "device"
        learning = 0 if self._gpu else all_of_it.learning
        replay = 0 if self._gpu and on_device else all_of_it.replay
        gpus = 1 / self._jobs if self._gpu else 0.0
        return Need(self.threads, gpus, learning + replay, all_of_it.disk)

    def _ready(self) -> list[_Attempt]:
        """The attempts that have something to say; waits a moment for one."""
        streams = list(self._attempts)
        if not streams:
            return []
        wait = self._ray.wait
        ready, _ = wait(streams, num_returns=len(streams), timeout=0, fetch_local=False)
        if not ready:
            ready, _ = wait(streams, timeout=0.1, fetch_local=False)
        return [self._attempts[stream] for stream in ready]

    def _hear(self, attempt: _Attempt) -> Iterator[Outcome]:
        """What the next message of an attempt means."""
        errors, piece = self._ray.exceptions, attempt.task.piece
        try:
            message = self._ray.get(next(attempt.stream))
            yield from self._take(attempt, message)
        except StopIteration:
            yield self._ended(attempt, "its worker ended without a word")
        except (errors.RayTaskError, errors.OutOfMemoryError) as error:
            cause = getattr(error, "cause", None) or error
            yield self._over(attempt, Outcome(piece, "failed", reason_of(cause)))
        except errors.RayError as error:
            yield self._ended(attempt, reason_of(error))
        except (InputError, OSError) as error:  # of our own disk
            yield self._over(attempt, Outcome(piece, "failed", str(error)))

    def _take(self, attempt: _Attempt, message: Message) -> Iterator[Outcome]:
        task = attempt.task
        if "running" in message:
            attempt.machine = message["machine"]
            if not message["shared"]:
                runs = Population.of(task.population).folders()
                attempt.copy = Copy(Path(task.out), runs, patience=0.0).__enter__()
            yield Outcome(task.piece, "running")
        elif "unfit" in message:
            self._unfit[message["machine"]] = message["unfit"]
            attempt.outcome = Outcome(task.piece, "lost", message["unfit"])
        elif "log" in message:
            log = Path(task.out) / LOGS / f"{task.piece}.log"
            make_folder(log.parent)
            append(log, message["log"])
        elif "outcome" in message:
            attempt.outcome = Outcome(**message["outcome"])
            if attempt.outcome.status == "failed":
                self.failed_on[task.piece].add(message["machine"])
        elif attempt.copy is not None:
            attempt.copy.take(message)

    def _ended(self, attempt: _Attempt, reason: str) -> Outcome:
        """What a stream that has ended, or was lost, means."""
        piece = attempt.task.piece
        if attempt.outcome is not None:
            return self._over(attempt, attempt.outcome)
        self._losses[piece] += 1
        if self._stop.now:
            return self._over(attempt, Outcome(piece, "interrupted", reason))
        if self._losses[piece] > LOSSES:
            words = f"its machine or worker was lost {self._losses[piece]} times: {reason}"
            return self._over(attempt, Outcome(piece, "failed", words))
        return self._over(attempt, Outcome(piece, "lost", reason))

    def _over(self, attempt: _Attempt, outcome: Outcome) -> Outcome:
        """Forget an attempt; whatever is left of it on the cluster is ended."""
        del self._attempts[attempt.stream]
        if attempt.copy is not None:
            attempt.copy.__exit__()
        if outcome.status != "done":
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(attempt.stream, force=outcome.status == "lost")
        return outcome

    def _end_all(self) -> Iterator[Outcome]:
        """Ask what is running to stop with a checkpoint, and give up what has not begun."""
        if self._asked_to_stop is None:
            self._asked_to_stop = time.monotonic()
            self._desk.stop.remote()
        patient = time.monotonic() - self._asked_to_stop < _PATIENCE
        for attempt in list(self._attempts.values()):
            if attempt.machine is None:
                self._over(attempt, Outcome(attempt.task.piece, "interrupted"))
            elif not patient:
                yield self._over(attempt, Outcome(attempt.task.piece, "interrupted", "no answer"))

    def _leave(self) -> None:
        """End what is still there when nobody wants any more outcomes."""
        ends = [stream.completed() for stream in self._attempts]
        for attempt in list(self._attempts.values()):
            self._over(attempt, Outcome(attempt.task.piece, "interrupted"))
        if ends:  # each saves a checkpoint first
            self._ray.wait(ends, num_returns=len(ends), timeout=_PATIENCE, fetch_local=False)


def _desk(ray: Any) -> Any:
    """An actor beside this process that tasks ask whether to stop."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "scheduling_strategy": here, "concurrency_groups": {_PACKING: 1}}
    return ray.remote(**options)(_Desk).remote()


class _Desk:
    def __init__(self):
        self._stopping = False

    def offer(self, job: Mapping[str, Any]) -> list[Any] | None:
        """References to what the grid's folder has of a piece; None when told to stop meanwhile.

        A machine that does not see the folder asks for it when it begins, so that no more is packed
        than what is worked at.
        """
        ray: Any = import_module("ray")
        if not os.path.lexists(job["sign"]):
            raise InputError("the Ray of the machine of this command does not see it")
        task, runs = Task(**job["task"]), job["runs"]
        out, storage = Path(task.out), task.storage
        if not any((out / run).is_dir() for run in runs):
            return []
        further = storage is None or progress(Path(storage), runs) < progress(out, runs)
        offer = []
        for message in Packer(out, runs, further).pack():
            if self._stopping:
                return None
            offer.append(ray.put(message))
        return offer

    def stop(self) -> None:
        self._stopping = True

    def stopping(self) -> bool:
        return self._stopping


def carry_out(job: Mapping[str, Any], desk: Any) -> Iterator[Message]:
    """Work at a task on a machine of the cluster.

    Args:
        job: the task, and how it is worked at.
        desk: offers what the grid's folder has of the piece, and tells whether to stop.

    Yields:
        `running` or `unfit` with the machine; what a `Copy` takes; `log`; at last the `outcome`.
    """
    ray: Any = import_module("ray")
    task, host = Task(**job["task"]), socket.gethostname()
    about = {"machine": ray.get_runtime_context().get_node_id()}
    try:
        with ExitStack() as stack:
            try:
                there = workplace(Path(task.out), job["sign"])
                place, shared = stack.enter_context(there)
            except InputError as error:
                yield {"unfit": f"{host} cannot be worked on: {error}", **about}
                return
            if reason := unfit(job, None if shared else place):
                yield {"unfit": f"{host} {reason}", **about}
                return
            yield {"running": host, "shared": shared, **about}
            if not shared and not _take_offer(job, place, desk):
                yield {"outcome": asdict(Outcome(task.piece, "interrupted")), **about}
                return
            for message in _attend(job, replace(task, out=str(place)), shared, desk):
                yield {**message, **about}
    except OSError as error:
        yield {"unfit": f"{host} cannot be worked on: {error}", **about}


def _take_offer(job: Mapping[str, Any], place: Path, desk: Any) -> bool:
    """Take what the grid's folder has of a piece; False where the grid stops meanwhile.

    Raises:
        InputError: the folder cannot be read.
    """
    ray: Any = import_module("ray")
    try:
        asked = desk.offer.options(concurrency_group=_PACKING).remote(job)
        offer = next(fetched([asked]))
    except ray.exceptions.RayTaskError as error:  # which is an OSError as well where its cause is
        reason = reason_of(error.cause)
        raise InputError(f"{job['task']['out']} cannot be read: {reason}") from None
    if offer is None:
        return False
    for message in fetched(offer):
        Copy(place, job["runs"]).take(message)
    return True


def _anywhere() -> Callable[..., Iterator[Message]]:
    """`carry_out` for machines that may lack drspcrl: a function within a function is sent whole.

    A function of a module is sent by name, and a machine that lacks it would fail every piece.
    """

    def carry(job: Any, desk: Any) -> Any:
        try:
            from drspcrl.experiments.ray_engine import carry_out as work
        except ImportError as error:
            from socket import gethostname

            from ray import get_runtime_context

            node = get_runtime_context().get_node_id()
            yield {"unfit": f"{gethostname()} cannot load drspcrl: {error}", "machine": node}
            return
        yield from work(job, desk)

    return carry


def unfit(job: Mapping[str, Any], place: Path | None) -> str:
    """Why a task cannot be worked at here; nothing if it can."""
    own = versions_of(_PACKAGES)
    for name, version in job["versions"].items():
        if own[name] != version:
            return f"has {name} {own[name]}, and the grid is run with {version}"
    storage = job["task"]["storage"]
    if storage is not None and not Path(storage).is_dir():
        return f"does not see the storage {storage}; make that folder, and let every machine see it"
    if place is not None and (free := shutil.disk_usage(place).free) < job["disk"]:
        return f"has {readable(free)} free in {place.parent}, of {readable(job['disk'])} needed"
    return ""


def _attend(job: Mapping[str, Any], task: Task, shared: bool, desk: Any) -> Iterator[Message]:
    """Start a process for a task, and carry home what it writes."""
    runs = Population.of(task.population).folders()
    out, asked = Path(task.out), time.monotonic()
    with ExitStack() as stack:
        storage = None
        if task.storage is not None and not shared:
            storage = stack.enter_context(Copy(Path(task.storage), runs))
        packer = Packer(out, runs, checkpoints=not shared, written=True)
        if storage is None:
            packer.skip()  # it came from where it would be carried to
        child = Child.start(task, job["program"] or WORKER, _environment(job))
        stack.callback(child.end)
        while not child.ended:
            if not child.asked and time.monotonic() - asked > _PAUSE:
                asked = time.monotonic()
                if _stopping(desk):
                    child.stop()
            if packer.due:
                yield from _carried(packer, storage)
            time.sleep(0.05)
        outcome = child.outcome()
        if not shared:
            yield from _carried(packer, storage)
            if storage is not None:
                yield from Packer(out, runs, checkpoints=False).pack()
            yield {"log": child.log.read_bytes()}
    if outcome.status == "failed" and not shared and any(word in outcome.error for word in _FULL):
        yield {"unfit": f"{socket.gethostname()}: {outcome.error}"}
    else:
        yield {"outcome": asdict(outcome)}


def _carried(packer: Packer, storage: Copy | None) -> Iterator[Message]:
    """What is new, for the grid's folder, or put into the storage."""
    for message in packer.pack():
        if storage is None:
            yield message
        else:
            storage.take(message)


def _environment(job: Mapping[str, Any]) -> dict[str, str]:
    environment = shared_gpu(job["jobs"])
    if environment.get("OMP_NUM_THREADS") == str(job["cores"]):  # Ray's word, and not the user's
        del environment["OMP_NUM_THREADS"]
    return environment


def _stopping(desk: Any) -> bool:
    ray: Any = import_module("ray")
    try:
        return next(fetched([desk.stopping.remote()], timeout=10.0))
    except ray.exceptions.GetTimeoutError:
        return False
    except ray.exceptions.RayError:  # whoever began the grid is gone
        return True
