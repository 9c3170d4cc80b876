"""`drspcrl.resume`: continue exactly where a population stopped."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from drspcrl.display import literal_console, shown
from drspcrl.errors import InputError
from drspcrl.named import import_trusted, refuse_imports
from drspcrl.runfolder.checkpoint import Saved, Store
from drspcrl.runfolder.runs import METRICS_FILE, find_runs, read_config, read_info
from drspcrl.training.callbacks import Callback, Callbacks
from drspcrl.training.config import TrainConfig
from drspcrl.training.folder import INFO_FILE, RunFolder, held, is_empty, one_line_for_the_disk
from drspcrl.training.memory import ask_for_determinism
from drspcrl.training.run import Trainer
from drspcrl.training.settings import named_parts
from drspcrl.versions import version_changes


def resume(
    folder: str | Path,
    steps: int | None = None,
    time_limit: float | str | None = None,
    console: Console | None = None,
    trust: Collection[str] = (),
    callbacks: Sequence[Callback] = (),
) -> tuple[Path, ...]:
    """Continue with what stopped, as if it never had.

    Members of a population continue together, also if the folder of one of them is given: what they
    compute is bit for bit the same only in the same population.

    Args:
        folder: a run folder, or a folder with run folders at any depth.
        steps: a new length, to make finished or unfinished runs longer.
        time_limit: when to stop again, as in `TrainConfig`; the earlier limit does not count.
        console: where progress is shown, standard output by default.
        trust: methods and environments of the form `module:Name` whose module may be imported.
        callbacks: your own code after every iteration and episode; see `drspcrl.Callback`.

    Returns:
        The run folders of every population that continued.

    Raises:
        InputError: there is nothing to continue with, or no checkpoint that is whole.
    """
    console, called = console or literal_console(), Callbacks(callbacks)
    found = populations(Path(folder), trust)
    waiting = [
        replace(c, steps=_length(c, steps), time_limit=time_limit).read_from(c.worlds_file)
        for c in found
    ]
    waiting = [config for config in waiting if not _finished(config)]
    if not waiting:
        raise InputError(
            f"every run below {folder} is finished or has diverged; --steps N above "
            f"{found[0].steps} makes finished ones longer"
        )
    return sum((_resume_population(config, console, called) for config in waiting), ())


def populations(folder: Path, trust: Collection[str] = ()) -> list[TrainConfig]:
    """The trainings that the run folders at or below a folder belong to.

    Args:
        folder: a run folder, or a folder with run folders at any depth.
        trust: names that may import a module.

    Raises:
        InputError: there are none, or one does not say what it is.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give a run folder or the folder of a training")
    found: list[TrainConfig] = []
    empty: list[Path] = []
    for run in find_runs(folder.resolve()):
        if is_empty(run):
            empty.append(run)
            continue
        try:
            described = read_config(run)
            _refuse_code(described, trust)
            config = TrainConfig.of_run(described, run.parent)
        except InputError as error:
            raise InputError(f"{run} cannot continue: {error}") from None
        if run not in map(config.folder, config.members):
            raise InputError(f"{run} has another name than its config.yaml says; rename it back")
        if config not in found:
            found.append(config)
    _check_known(empty, found)
    if not found:
        raise InputError(f"no run at or below {folder}; give the --out of an earlier training")
    return found


def _check_known(empty: Sequence[Path], found: Sequence[TrainConfig]) -> None:
    """Refuse empty run folders of which no other run says what they were made for."""
    known = {config.folder(member) for config in found for member in config.members}
    if lost := [run for run in empty if run not in known]:
        raise InputError(
            f"{lost[0]} is empty: its training ended before it began; give its train command "
            f"again, or, if other runs of it are there, drspcrl resume {lost[0].parent}"
        )


def _refuse_code(described: Mapping[str, Any], trust: Collection[str]) -> None:
    for name in named_parts(described):
        refuse_imports(name, trust)
    import_trusted(described.get("env"), trust)


def _resume_population(
    config: TrainConfig, console: Console, callbacks: Callbacks
) -> tuple[Path, ...]:
    paths = [config.folder(member) for member in config.members]
    if lost := [path for path in paths if not path.is_dir()]:
        raise InputError(
            f"{lost[0]} is missing; a population continues as a whole, with all of its "
            f"{len(paths)} runs"
        )
    if config.deterministic:
        ask_for_determinism()

    def warn(message: str) -> None:
        console.print(f"warning: {message}", highlight=False, markup=False, soft_wrap=True)

    if kept := _kept_settings(config, paths):
        config = config.as_begun(kept)
        listed = ", ".join(f"{name}={value}" for name, value in sorted(kept.items()))
        warn(f"{config.out} continues with {listed} as it began; defaults have changed since")
    with one_line_for_the_disk(config.out), held(paths) as folders:
        if _never_got_on(folders):
            trainer = Trainer(config, console, callbacks=callbacks)
            with trainer:
                trainer.begin(folders)
                trainer.run()
            return trainer.outcome()
        saved = _checkpoints(folders, console, warn)
        living = next(one for one in saved if one is not None)
        for change in version_changes(read_info(paths[0]).get("versions")):
            warn(f"{config.out} continues with {change}; results may differ from here on")
        trainer = Trainer(config, console, living.notes["total"], callbacks)
        console.print(f"going on at step {living.step:,}", highlight=False)
        with trainer:
            trainer.resume(folders, saved)
            trainer.run()
    return trainer.outcome()


def _kept_settings(config: TrainConfig, paths: Sequence[Path]) -> dict[str, Any]:
    """What the population began with and would not have by the present defaults.

    Raises:
        InputError: its members do not agree.
    """
    began: dict[str, Any] = {}
    for member, path in zip(config.members, paths, strict=True):
        for name, value in _settings_in(path).items():
            if name in member.variant.changes or began.setdefault(name, value) == value:
                continue
            raise InputError(
                f"{path} cannot continue: it began with {name}={value}, other runs of its "
                f"population with {began[name]}; put its config.yaml right"
            )
    now = config.resolved.flat()
    return {name: began[name] for name in now.keys() & began.keys() if began[name] != now[name]}


def _settings_in(run: Path) -> Mapping[str, Any]:
    """What a run's config.yaml says; nothing if a kill left none, for it is rewritten."""
    try:
        settings = read_config(run).get("settings")
    except InputError:
        return {}
    return settings if isinstance(settings, Mapping) else {}


def _checkpoints(folders: list[RunFolder], console: Console, warn) -> list[Saved | None]:
    """The checkpoints to continue from, None for members that have diverged."""
    diverged = [read_info(folder.path).get("status") == "diverged" for folder in folders]
    alive = [folder for folder, gone in zip(folders, diverged, strict=True) if not gone]
    if not alive:
        raise InputError(f"every run in {folders[0].path.parent} has diverged; train again")
    found = iter(newest_common(alive, warn))
    return [None if gone else next(found) for gone in diverged]


def _never_got_on(folders: list[RunFolder]) -> bool:
    """Whether a population was killed before its first checkpoint was whole, so nothing is lost."""
    begun = any(folder.store.steps() in ([], [0]) for folder in folders)
    whole = all(folder.store.steps() for folder in folders)
    rows = any((folder.path / METRICS_FILE).exists() for folder in folders)
    over = any(_status(folder.path) in ("finished", "diverged") for folder in folders)
    return begun and not whole and not rows and not over


def _status(run: Path) -> str | None:
    """The status of a run, None of one that was killed before its run.json was there."""
    if not (run / INFO_FILE).exists() and not Store(run).steps():
        return None
    return str(read_info(run).get("status"))


def _length(config: TrainConfig, steps: int | None) -> int:
    if steps is None:
        return config.steps
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < config.steps:
        raise InputError(
            f"steps is {shown(steps)}; {config.out} is made for {config.steps}, give at least that"
        )
    return steps


def _finished(config: TrainConfig) -> bool:
    """Whether every member is done; one that was killed says that it is running."""
    return all(_done(config.folder(member), config.steps) for member in config.members)


def _done(run: Path, steps: int) -> bool:
    try:
        if _status(run) is None:
            return False
        info = read_info(run)
    except InputError as error:
        raise InputError(f"{run} cannot continue: {error}") from None
    reached = info.get("steps")
    long_enough = isinstance(reached, int) and reached >= steps
    return info.get("status") == "diverged" or (info.get("status") == "finished" and long_enough)


def newest_common(folders: Sequence[RunFolder], warn: Callable[[str], None]) -> list[Saved]:
    """The newest whole checkpoint that all of the members have, of each of them.

    Raises:
        InputError: there is none.
    """
    common = set.intersection(*(set(folder.store.steps()) for folder in folders))
    for step in sorted(common, reverse=True):
        try:
            return [_checked(folder.store.read(step)) for folder in folders]
        except InputError as error:
            warn(f"{error}; falling back to the checkpoint before")
    kept = ", ".join(sorted({str(s) for folder in folders for s in folder.store.steps()}))
    raise InputError(
        f"{folders[0].path.parent} has no checkpoint that is whole for all of its "
        f"{len(folders)} runs (steps found: {kept or 'none'}); train again into another folder"
    )


def _checked(saved: Saved) -> Saved:
    """A checkpoint whose notes are what a training writes; a folder may come from elsewhere."""
    notes = saved.notes if isinstance(saved.notes, Mapping) else {}
    best = notes.get("best")
    sound = best is None or (
        isinstance(best, Mapping) and isinstance(best.get("return"), int | float)
    )
    for name, least in (("total", 1), ("metrics_bytes", 0)):
        value = notes.get(name)
        sound = sound and isinstance(value, int) and least <= value < 2**63
    if not sound:
        raise InputError(f"{saved.path} is damaged: its notes are not what a training writes")
    return saved
