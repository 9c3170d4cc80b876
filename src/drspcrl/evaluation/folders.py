"""Evaluate run folders: find them, leave out what is done, write every result where it belongs.

A folder's policy is its own, or one that the user or the folder names as `module:function`.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from drspcrl import named
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy
from drspcrl.evaluation.evaluator import check_numbers, evaluate_policies
from drspcrl.evaluation.parallel import (
    Progress,
    Show,
    Spread,
    in_processes,
    processes_for,
    progress,
)
from drspcrl.evaluation.random_return import random_return
from drspcrl.evaluation.suite import Suite, load_suite
from drspcrl.evaluation.table import EvaluationTable, read_info
from drspcrl.files import read_bytes, remove_asides
from drspcrl.named import import_trusted, refuse_imports
from drspcrl.perturbations.attacks import CriticDescent
from drspcrl.runfolder.critic import with_critic
from drspcrl.runfolder.runs import Run, find_runs, read_run
from drspcrl.runfolder.tables import DEFAULT_SUITE


def load_function(name: str) -> Policy:
    """Import the policy that `module:function` names; only for names that the user has typed.

    The module is looked for in the working directory, too.

    Raises:
        InputError: Another form, no such module, or nothing of that name in it.
    """
    try:
        module, attribute = named.split(name)
    except InputError:
        raise InputError(
            f"--policy is {name!r}; give module:function, where the function takes observations "
            "[n, …] and returns actions [n, …], or a file that Stable-Baselines3 saved (.zip)"
        ) from None
    found = named.attribute_of(named.module_of(name), attribute)
    if found is None:
        raise InputError(
            f"--policy {name}: module {module} has no {attribute}; give module:function"
        )
    return found


def foreign_source(run: Run) -> str | None:
    """Where a policy from elsewhere comes from; None for a run that must have a policy file."""
    told = run.info.get("foreign")
    source = told.get("policy") if run.foreign and isinstance(told, dict) else None
    return source if isinstance(source, str) else None


def named_policy(run: Run, source: str, trust: Collection[str]) -> Policy:
    """The policy that a run folder names as `module:function`.

    Raises:
        InputError: its module is not trusted, or it was a file, which is elsewhere.
    """
    if ":" not in source:
        raise InputError(
            f"its policy is {brief(source, 100)}, which is not kept here; evaluate it with "
            f"--policy and the file, --name {shown(run.method)}"
        )
    named.refuse_imports(source, trust)
    return load_function(source)


# What makes an evaluation another one; versions and the like are recorded, not compared.
_REQUEST = ("settings", "episodes", "seed", "deterministic", "clip", "policy_sha256")
_LISTED = 8


@dataclass(frozen=True)
class RunResult:
    """What became of one run folder.

    Attributes:
        path: The folder.
        status: `evaluated`; `kept`, an earlier result is there; `skipped`, it could not be done.
        reason: Why it was kept or skipped.
        table: The result, where there is one.
    """

    path: Path
    status: Literal["evaluated", "kept", "skipped"]
    reason: str = ""
    table: EvaluationTable | None = None


def evaluate_runs(
    root: str | Path | Sequence[Path],
    load: Callable[[Path], Policy],
    suite: str | Path | Suite = DEFAULT_SUITE,
    episodes: int = 100,
    seed: int = 0,
    *,
    policy_file: str = "policy.safetensors",
    overwrite: bool = False,
    deterministic: bool = True,
    threads: int = 0,
    jobs: int = 1,
    show: Show | None = "bar",
    trust: Collection[str] = (),
    spread: Spread | None = None,
) -> Iterator[RunResult]:
    """Evaluate every run at or below a folder, all runs of a task as one batch.

    The result is `evaluation.csv` (`evaluation-<suite>.csv` for suites other than `paper`) in the
    run's folder, with what it was made with in the `.json` beside it; each is written as soon as
    the run is done, so a stopped evaluation continues where it was.

    Args:
        root: A run folder, a folder with run folders at any depth, or run folders.
        load: Makes a policy of a policy file.
        suite: A name, a path of a YAML file, or a `Suite`.
        episodes: Episodes for each setting.
        seed: Where all randomness comes from; the same for every run.
        policy_file: Which of a run's policies, relative to its folder.
        overwrite: Evaluate again where a result is there already.
        deterministic: Whether policies act deterministically.
        threads: Threads to simulate on, 0 for all usable cores.
        jobs: Processes to share runs and threads among, 0 for one per core. With more than one,
            `load` must be a function that a new process can import.
        show: How progress is shown.
        trust: Environments of the form `module:Id` whose module may be imported.
        spread: What shares the runs among other machines, in place of processes here.

    Raises:
        InputError: No runs there, or arguments that do not fit.
    """
    suite = load_suite(suite, trust)
    check_numbers(episodes=episodes, seed=seed, threads=threads)
    processes_for(jobs, 1, threads)
    request = {
        "episodes": episodes, "seed": seed, "deterministic": deterministic, "clip": False,
    }  # fmt: skip
    by_task: dict[str, dict[str, _Prepared]] = {}
    found_below = _folders(Path(root)) if isinstance(root, str | Path) else root
    for folder in [folder.absolute() for folder in found_below]:  # environments may change theirs
        found = _prepare(folder, folder / policy_file, load, suite, request, overwrite, trust)
        if isinstance(found, RunResult):
            yield found
        else:
            by_task.setdefault(found.run.environment, {})[str(folder)] = found
    waiting = [one.run.path for prepared in by_task.values() for one in prepared.values()]
    processes = processes_for(jobs, len(waiting), threads)
    if spread is None and processes > 1:
        spread = partial(in_processes, processes=processes, threads=threads)
    if spread is not None:
        work = partial(
            evaluate_runs, load=load, suite=suite, episodes=episodes, seed=seed,
            policy_file=policy_file, overwrite=overwrite, deterministic=deterministic,
            show=None, trust=trust,
        )  # fmt: skip
        rows = sum(len(suite.for_task(task).rows) * len(own) for task, own in by_task.items())
        total = rows * episodes
        title = f"{len(waiting)} runs, shared out"
        with progress(total, title, show) as advance:
            yield from _evaluate_shares(spread(waiting, work=work), advance)
        return
    for task, prepared in by_task.items():
        options = {"deterministic": deterministic, "threads": threads, "show": show}
        yield from _evaluate_task(task, prepared, suite, (episodes, seed), options)


@dataclass(frozen=True)
class _Prepared:
    run: Run
    policy: Policy
    policy_file: str
    digest: str | None


def result_path(folder: Path, suite: str) -> Path:
    """Where the result of a suite is kept in a run folder."""
    return folder / ("evaluation.csv" if suite == DEFAULT_SUITE else f"evaluation-{suite}.csv")


def _folders(root: Path) -> Sequence[Path]:
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise InputError(
            f"{root} {what}; give a run folder or a folder with runs (a policy from elsewhere is "
            "given as --policy, with --env and --out)"
        )
    folders = list(find_runs(root))
    if not folders:
        names = sorted(p.name + "/" * p.is_dir() for p in root.iterdir())
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        listed = ", ".join(names[:_LISTED]) + more if names else "nothing"
        raise InputError(
            f"no run at or below {root}, which holds {listed}; a run folder has run.json, "
            "config.yaml and policy.safetensors"
        )
    return folders


def _prepare(
    folder: Path,
    file: Path,
    load: Callable[[Path], Policy],
    suite: Suite,
    request: Mapping[str, Any],
    overwrite: bool,
    trust: Collection[str],
) -> "_Prepared | RunResult":
    """A run that is ready to be evaluated, or what becomes of it instead."""
    try:
        run = read_run(folder, metrics=(), evaluations=False)
        settings = list(suite.for_task(run.environment).labels)
        refuse_imports(run.environment, trust)
        import_trusted(run.environment, trust)
        source = None if os.path.lexists(file) else foreign_source(run)
        digest = _digest(file) if source is None else run.info["foreign"].get("sha256")
        path = result_path(folder, suite.name)
        if path.exists() and not overwrite:
            asked = {**request, "settings": settings, "policy_sha256": digest}
            return kept_result(path, asked)
        policy = load(file) if source is None else named_policy(run, source, trust)
        if attacks_critics(suite.for_task(run.environment)):
            policy = with_critic(policy, folder)
    except InputError as error:
        return RunResult(folder, "skipped", str(error))
    told = file.relative_to(folder).as_posix() if source is None else source
    return _Prepared(run, policy, told, digest)


def attacks_critics(suite: Suite) -> bool:
    """Whether a suite, on any task, asks a run's critic, which its checkpoint alone has."""
    alone = [suite.for_task(task) for task in suite.tasks] or [suite]
    return any(isinstance(row.attack, CriticDescent) for one in alone for row in one.rows)


def kept_result(path: Path, request: Mapping[str, Any]) -> RunResult:
    """An earlier result stays; where it answers another question, that is said."""
    info = read_info(path)
    differs = [name for name in _REQUEST if info.get(name) != request[name]]
    reason = f"{path.name} is there already"
    if differs:
        names = ", ".join(name.removesuffix("_sha256") for name in differs)
        reason += f", made with other {names}; --overwrite replaces it"
    return RunResult(path.parent, "kept", reason, EvaluationTable.from_csv(path))


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(file)).hexdigest()
    except OSError:
        raise InputError(f"it has no {file.name}: nothing to evaluate yet") from None


def _evaluate_shares(found_elsewhere: Iterator[Any], advance: Progress) -> Iterator[RunResult]:
    """The results of several processes."""
    for found in found_elsewhere:
        result = RunResult(found[0], "skipped", found[1]) if isinstance(found, tuple) else found
        if result.table is not None:
            info = result.table.info
            missing = info["episodes"] * len(info.get("left_out", ()))
            advance(int(result.table.length.sum()), len(result.table.length) + missing)
        yield result


def _written(folder: Path, path: Path, table: EvaluationTable) -> RunResult:
    """A result in its place; a folder that takes none does not stop the other runs."""
    try:
        remove_asides(folder)  # what a killed evaluation left
        table.to_csv(path)
    except InputError as error:
        return RunResult(folder, "skipped", str(error))
    except OSError as error:
        reason = f"{path.name} cannot be written: {error.strerror}; make room or permit it"
        return RunResult(folder, "skipped", reason)
    return RunResult(folder, "evaluated", table=table)


def _evaluate_task(
    task: str,
    prepared: Mapping[str, _Prepared],
    suite: Suite,
    episodes_and_seed: tuple[int, int],
    options: Mapping[str, Any],
) -> Iterator[RunResult]:
    waiting = dict(prepared)
    policies = {name: one.policy for name, one in prepared.items()}
    try:
        played = random_return(task, episodes_and_seed[0], options["threads"])
        floor = {} if played is None else {"random_return": played}
        for outcome in evaluate_policies(policies, task, suite, *episodes_and_seed, **options):
            one = waiting.pop(outcome.policy)
            if outcome.table is None:
                yield RunResult(one.run.path, "skipped", str(outcome.error))
                continue
            policy = {"policy_file": one.policy_file, "policy_sha256": one.digest}
            table = replace(outcome.table, info={**outcome.table.info, **policy, **floor})
            yield _written(one.run.path, result_path(one.run.path, suite.name), table)
    except InputError as error:
        # A task that is unknown here, or has no such physics: the runs of other tasks continue.
        yield from (RunResult(one.run.path, "skipped", str(error)) for one in waiting.values())
