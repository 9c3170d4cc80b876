"""What is done for one piece: train it or continue with it, then evaluate what is finished."""

import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drspcrl.display import brief
from drspcrl.errors import InputError
from drspcrl.experiments.carrying import bring, patient_lock
from drspcrl.experiments.engine import Outcome
from drspcrl.experiments.population import Population
from drspcrl.experiments.states import OVER, check_origin, run_state
from drspcrl.files import refuse_links

# What commands write into a run folder; hidden files are locks and what systems leave anywhere.
_WRITTEN = re.compile(
    r"run\.json|config\.yaml|metrics\.csv|policy(-best)?\.safetensors|checkpoint|\..+"
    r"|evaluation(-.+)?\.(csv|json)|stress\.(json|png|svg)|events\.out\.tfevents\..+"
)


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Bring one piece as far as its time allows.

    Args:
        task: a `Task` as a dictionary.

    Returns:
        An `Outcome` as a dictionary.

    Raises:
        KeyboardInterrupt, SystemExit: a signal ended it; its runs are saved.
    """
    begun = time.monotonic()
    try:
        error = _train_and_evaluate(task, begun)
    except InputError as mistake:
        error = str(mistake)
    except Exception as fault:
        traceback.print_exc()
        error = f"{type(fault).__name__}: {fault}"
    seconds = time.monotonic() - begun
    status = "done" if error == "" else "interrupted" if error is None else "failed"
    return asdict(Outcome(task["piece"], status, " ".join((error or "").split()), seconds))


def _train_and_evaluate(task: Mapping[str, Any], begun: float) -> str | None:
    """Gives "" when all is done, None when time was up, or a line about what could not be done."""
    out, population = Path(task["out"]), Population.of(task["population"])
    limit = task["time_limit"]

    def left() -> float | None:
        return None if limit is None else limit - (time.monotonic() - begun)

    if task.get("storage") is not None:
        _bring_from(Path(task["storage"]), out, population)
    folders = [out / run for run in population.folders()]
    if any(run_state(folder, "") not in OVER for folder in folders):
        if (seconds := left()) is not None and seconds <= 0:
            return None
        _train(population, out, task["machine"], seconds)
    if any(run_state(folder, "") not in OVER for folder in folders):
        return None
    if task["evaluation"] is None:
        return ""
    finished = [folder for folder in folders if run_state(folder, "") == "finished"]
    threads = int(task["machine"].get("threads", 0))
    return _evaluate(finished, task["evaluation"], threads, left, (population.env,))


def _bring_from(storage: Path, out: Path, population: Population) -> None:
    """Take up what is further in the storage than here.

    Raises:
        InputError: the storage cannot be seen, or holds a run of another training.
    """
    if not storage.is_dir():
        raise InputError(
            f"storage {storage} is no folder on {socket.gethostname()}; give one that every "
            "machine sees"
        )
    for run in population.folders():
        check_origin(storage / run, population)
    bring(storage, out, population.folders())


def _train(
    population: Population, out: Path, machine: Mapping[str, Any], seconds: float | None
) -> None:
    from drspcrl.training import resume, train

    config = population.config(out, **machine, time_limit=seconds)
    folders = [config.folder(member) for member in config.members]
    if _can_resume(folders):
        # The grid's own file names these, and its author typed it.
        trust = (population.env, *(member.variant.method for member in config.members))
        resume(folders[0], time_limit=seconds, trust=trust)
    else:
        train(config)


def _can_resume(folders: list[Path]) -> bool:
    """Whether there is a checkpoint that all runs have; if not, what is left of them is removed.

    A run without a checkpoint can only start over, and what it has written so far would be in the
    way.

    Raises:
        InputError: another process is at work on a run and does not end, or a run folder has a
            link in it.
    """
    from drspcrl.runfolder.checkpoint import Store

    there = [folder for folder in folders if folder.is_dir()]
    for folder in there:
        refuse_links(folder)
    with ExitStack() as stack:
        for folder in there:
            stack.callback(patient_lock(folder).release)
        alive = [f for f in folders if run_state(f, "") != "diverged"]
        steps = [set(Store(folder).steps()) for folder in alive]
        if len(there) == len(folders) and steps and set.intersection(*steps):
            return True
        if done := [f for f in there if run_state(f, "") == "finished"]:
            raise InputError(
                f"{done[0]} is finished, but other runs of its population are not and have no "
                "checkpoint in common with it; move the folders of this population away"
            )
    ours = list(filter(_is_ours, there))
    for folder in ours:
        _refuse_foreign(folder)
    for folder in ours:
        shutil.rmtree(folder)
    return False


def _is_ours(folder: Path) -> bool:
    """Whether it holds what is left of a run, or nothing; anything else is not ours to remove."""
    started = any((folder / name).exists() for name in ("run.json", "config.yaml"))
    return started or not any(folder.iterdir())


def _refuse_foreign(folder: Path) -> None:
    """Raise an `InputError` if a run folder holds what no command writes there."""
    foreign = [entry.name for entry in folder.iterdir() if not _WRITTEN.fullmatch(entry.name)]
    if foreign:
        raise InputError(
            f"{folder} has no usable checkpoint and would be begun again, but holds "
            f"{brief(sorted(foreign)[0])}, which is no part of a run; move that away"
        )


def _evaluate(
    folders: list[Path], evaluation: Mapping[str, Any], threads: int, left, trust: tuple[str, ...]
) -> str | None:
    from drspcrl.evaluation import evaluate_runs
    from drspcrl.policy import load_policy

    suite, episodes = evaluation["suite"], evaluation["episodes"]
    results = evaluate_runs(
        folders, load_policy, suite, episodes, threads=threads, jobs=0, show=None, trust=trust
    )
    skipped = []
    for result in results:
        print(f"{result.status} {result.path} {result.reason}", file=sys.stderr, flush=True)
        if result.status == "skipped":
            skipped.append(f"{result.path.name} was not evaluated: {result.reason}")
        if (seconds := left()) is not None and seconds <= 0:
            return None
    return skipped[0] if skipped else ""


def main() -> None:
    """Work at the task on standard input, and tell the outcome on standard output."""
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_follow_the_grid, daemon=True).start()
    # What anybody prints goes to the log; the outcome alone to whoever started this.
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        outcome = work(task)
    except (KeyboardInterrupt, SystemExit) as stop:
        line = f"stopped ({type(stop).__name__}: {stop})"
        outcome = asdict(Outcome(task["piece"], "interrupted", line))
    report.write(json.dumps(outcome))
    report.close()


def _follow_the_grid() -> None:
    """End when the grid does: standard input ends with it."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
