"""`drspcrl.train`: from a configuration to run folders."""

import math
import signal
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from drspcrl.display import counted, literal_console
from drspcrl.errors import InputError
from drspcrl.files import resolved
from drspcrl.policy import Policy
from drspcrl.runfolder.checkpoint import Saved
from drspcrl.training.adversaries import Adversaries, perturbations_of
from drspcrl.training.callbacks import Callback, Callbacks
from drspcrl.training.collector import Collector, TrainEvaluator
from drspcrl.training.config import TrainConfig
from drspcrl.training.curriculum import Curricula
from drspcrl.training.folder import RunFolder, check_unused, held_new, one_line_for_the_disk
from drspcrl.training.loop import ball, finite_members, make_loop, member_parts, put_back
from drspcrl.training.memory import ask_for_determinism, check_room, choose_devices, estimate
from drspcrl.training.settings import Settings
from drspcrl.training.stopping import Stop
from drspcrl.training.telemetry import Tracker, TrainProgress, member_rows
from drspcrl.training.worlds import (
    enter_worlds,
    in_worlds,
    measured,
    show_worlds,
    world_uncertainty,
)
from drspcrl.versions import environment_info
from drspcrl.worlds.episodes import PACING


def train(
    config: TrainConfig, console: Console | None = None, callbacks: Sequence[Callback] = ()
) -> tuple[Path, ...]:
    """Train a population and leave one run folder for each member.

    A SIGINT or SIGTERM ends it after the step at hand, with a checkpoint; then KeyboardInterrupt
    or SystemExit is raised. `drspcrl.resume` continues from there.

    Args:
        config: what to train.
        console: where progress is shown, standard output by default.
        callbacks: your own code after every iteration and episode; see `Callback`.

    Returns:
        The run folders, in the order of `config.members`.

    Raises:
        InputError: something in the configuration does not fit; nothing has been written then. Or
            the disk took no more; what was saved before is whole.
    """
    console, called = console or literal_console(), Callbacks(callbacks)
    config = replace(config, out=resolved(config.out))  # an environment may change directories
    check_unused(config)
    config = measured(config)
    if config.deterministic:
        ask_for_determinism()
    trainer = Trainer(config, console, callbacks=called)
    with one_line_for_the_disk(config.out), held_new(config) as folders, trainer:
        trainer.begin(folders)
        trainer.run()
    return trainer.outcome()


class Trainer:
    """A training in progress; as a context it leaves every folder with its status.

    Args:
        config: what to train.
        console: where progress is shown.
        total: the length that the run was made for before, where it is made longer.
        callbacks: what is called after every iteration and episode.

    Attributes:
        alive: members that still train, [M].
    """

    def __init__(
        self,
        config: TrainConfig,
        console: Console,
        total: int | None = None,
        callbacks: Callbacks | None = None,
    ):
        self.config, self.console = config, console
        self._callbacks = callbacks or Callbacks(())
        members, settings = config.members, config.resolved
        seeds = [member.seed for member in members]
        device, memory = choose_devices(config)
        length = total or config.steps
        # Before any environment is made, which may change the directory that paths are relative to.
        self.curricula = Curricula(config, length, ball(settings))
        collector = Collector(
            str(config.env),
            seeds,
            settings.learner.envs_per_member,
            config.threads,
            perturbations=perturbations_of(config),
        )
        self.adversaries = Adversaries(config)
        worlds = None
        if in_worlds(config):
            model = enter_worlds(config, collector, self.curricula.epsilon, self.warn)
            worlds = world_uncertainty(config, model, self.curricula.epsilon)
        # Observations carry their world into the replay.
        sizes = collector.observation_size, collector.action_size, collector.coordinates
        needed = estimate(config, *sizes)
        check_room(needed, config, device, memory)
        judged = config.evaluate_every > 0
        episodes = config.evaluate_episodes
        self.evaluator = (
            TrainEvaluator(str(config.env), seeds, episodes, config.threads) if judged else None
        )
        self.tracker = Tracker(config.track, f"drspcrl-{config.env}", config.describe(members[0]))
        console.print(
            f"{counted(len(members), 'run')} of {config.steps:,} steps on {device.device_kind}: "
            f"{needed}",
            highlight=False,
            markup=False,
        )
        self.stop = Stop(config.time_limit)
        each = [config.settings_of(member) for member in members]
        plain = [member.plain for member in members]
        self._paced = not all(plain)
        against = None
        if worlds is not None:
            show_worlds(worlds[0].model, float(worlds[1].budget.max()), console)
        elif self._paced:
            from drspcrl.training.transitions import member_uncertainty

            against = member_uncertainty(each, self.curricula.epsilon, plain)
            self._warn_if_unwise(each, plain)
        self.loop = make_loop(
            *(config.algorithm, settings, collector, seeds, length, device, memory),
            *(against, each, worlds),
        )
        self.alive = np.ones(len(members), bool)
        self.folders: Sequence[RunFolder] = ()
        resumable = {"resume": "exact" if collector.exact else "episode"}
        self._facts = {**environment_info(device.device_kind), **resumable}
        self._saved_at = -1

    def begin(self, folders: Sequence[RunFolder]) -> None:
        """Begin every member's run in its folder."""
        self.folders = folders
        for folder, member in zip(folders, self.config.members, strict=True):
            folder.begin(self.config, member, self._facts)
        self.save()  # so that a run that is killed early can be resumed
        self._start_clock()

    def resume(self, folders: Sequence[RunFolder], saved: Sequence[Saved | None]) -> None:
        """Continue from a checkpoint of each member; one without a checkpoint has diverged.

        It keeps its place in the population, filled with another member, and is not looked at.
        """
        self.folders = folders
        self.alive = np.array([one is not None for one in saved])
        living = next(one for one in saved if one is not None)
        self._restore_extra(put_back(self.loop, saved, self._extra()))
        self.loop.extend(self.config.steps)
        self.loop.collector.steps = self.loop.steps
        for folder, member, one in zip(folders, self.config.members, saved, strict=True):
            if one is not None:
                for lost in folder.resume(self.config, member, self._facts, one):
                    self.warn(lost)
        self._saved_at = living.step
        self._start_clock()

    def run(self) -> None:
        """Train to the end, to the time limit or until a signal comes."""
        config, loop = self.config, self.loop
        if self._callbacks:
            loop.collector.ended = []
        with self.progress, self.stop:
            while loop.steps < config.steps and self.alive.any():
                before = loop.steps
                loop.iterate()
                self.adversaries.advance(loop)
                self._stop_faulty(~loop.collector.faulty, "actions or observations", loop.collector)
                paced = self._paced and _passed(before, loop.steps, self.curricula.every)
                signals = loop.signal() if paced else {}
                scores = None
                if _passed(before, loop.steps, config.evaluate_every):
                    scores = self._evaluate()
                due = _passed(before, loop.steps, config.log_every) or scores is not None
                if due or loop.steps >= config.steps:
                    self._log(scores)
                if paced:  # only now, so that a row tells the radius that was used
                    self._pace(signals)
                self._call_back()
                if _passed(before, loop.steps, config.checkpoint_every):
                    self.save()
                if self.stop.now:  # after an iteration, so that the shortest piece gets on
                    break
            self.save()

    def _call_back(self) -> None:
        """Call the callbacks; one of them may end the training."""
        if not self._callbacks:
            return
        ended = [one for one in self.loop.collector.ended or () if self.alive[one.member]]
        self.loop.collector.ended = []
        if not self._callbacks.after_iteration(self, ended):
            self.stop.asked = True

    def save(self) -> None:
        """Write a checkpoint of every member that still trains."""
        step = self.loop.steps
        if self._saved_at == step:
            return
        policies = self.policies()
        self._check_members()
        parts = member_parts(self.loop, self._extra())
        for k in _where(self.alive):
            policy = policies[k]
            assert policy is not None, "a member with finite parameters has a policy"
            self.folders[k].save(step, parts[k], policy, self.config.steps)
        for k in _where(self.alive):  # only now: until here the one before is the newest
            self.folders[k].store.keep()
        self._saved_at = step

    def _pace(self, signals: Mapping[str, np.ndarray]) -> None:
        """Let every member's curriculum choose the radius of the coming iteration."""
        _, returns, _ = self.loop.collector.episodes.take(PACING)
        self.loop.set_epsilon(self.curricula.update(signals if self.loop.learned else {}, returns))

    def _extra(self) -> list[dict[str, Any]]:
        """What decides the future besides the loop: one plain tree for each member."""
        pairs = zip(self.adversaries.trees(len(self.alive)), self.curricula.trees(), strict=True)
        return [{"world": world, "curriculum": curriculum} for world, curriculum in pairs]

    def _restore_extra(self, trees: Sequence[dict[str, Any]]) -> None:
        """Continue from what `_extra` gave."""
        self.adversaries.restore([tree["world"] for tree in trees])
        self.curricula.restore([tree["curriculum"] for tree in trees])

    def policies(self) -> list[Policy | None]:
        """The members' present policies; None for one that is not finite any more."""
        parts = jax.tree.map(np.asarray, self.loop.learner.policy_parts(self.loop.state))
        each = (jax.tree.map(itemgetter(k), parts) for k in range(len(self.alive)))
        pairs = zip(self.config.members, each, strict=True)
        return [self._policy(self.config.settings_of(member), own) for member, own in pairs]

    def outcome(self) -> tuple[Path, ...]:
        """The run folders, once it is over.

        Raises:
            KeyboardInterrupt, SystemExit: a signal ended it.
        """
        if self.stop.signal is not None:
            self.console.print(
                f"{self.stop.signal.name} at step {self.loop.steps:,}, saved; continue with "
                f"drspcrl resume {self.config.out}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            if self.stop.signal == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + self.stop.signal)
        if self.stop.asked and self.loop.steps < self.config.steps:
            self.console.print(
                f"ended by a callback at step {self.loop.steps:,}, saved; continue with "
                f"drspcrl resume {self.config.out}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
        return tuple(folder.path for folder in self.folders)

    def warn(self, message: str) -> None:
        """Say something that does not stop the training."""
        self.console.print(f"warning: {message}", highlight=False, markup=False, soft_wrap=True)

    def _warn_if_unwise(self, each: Sequence[Settings], plain: Sequence[bool]) -> None:
        from drspcrl.training.transitions import warn_if_unwise

        pairs = zip(each, plain, strict=True)
        budgets = [own.curriculum.epsilon_budget for own, off in pairs if not off]
        shared = each[0].transitions
        assert shared is not None
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warn_if_unwise(shared, max(budgets, default=0.0))
        for warning in found:
            self.warn(str(warning.message))

    def _start_clock(self) -> None:
        methods = [member.method for member in self.config.members]
        self.progress = TrainProgress(methods, self.config.steps, self.console)
        self._last_row = (time.monotonic(), self.loop.steps)

    def _policy(self, settings: Settings, parts: Any) -> Policy | None:
        collector = self.loop.collector
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(parts)):
            return None
        learner = self.loop.learner
        return learner.policy(parts, settings.learner, collector.low, collector.high)

    def _check_members(self) -> None:
        self._stop_faulty(np.asarray(finite_members(self.loop.state)), "parameters")
        losses = [v for name, v in self.loop.metrics.items() if name.endswith("loss")]
        if losses:
            # A loss that was not measured is nan; one that is nan has spoilt the parameters.
            self._stop_faulty(~np.any(np.isinf(losses), axis=0), "losses")

    def _stop_faulty(
        self, sound: np.ndarray, what: str, collector: Collector | None = None
    ) -> None:
        """Stop the members that are not sound; where one's own environment was it, name it."""
        blamed = {} if collector is None else collector.faults
        for k in _where(self.alive & ~sound):
            self.alive[k] = False
            folder = self.folders[k]
            steps = folder.store.steps()
            fault = blamed.get(k, f"its {what} are not finite")
            folder.close("diverged", self.loop.steps, fault=fault)
            last = f"its last good checkpoint is of step {steps[-1]:,}" if steps else "it has none"
            when = "" if k in blamed else f" at step {self.loop.steps:,}"
            self.warn(
                f"{folder.path.name} diverged: {fault}{when}; {last}; the other runs continue"
            )

    def _evaluate(self) -> np.ndarray:
        assert self.evaluator is not None
        scores = self.evaluator.returns(self.loop.deterministic_actions).mean(axis=1)
        judged = self.evaluator.collector
        blameless = np.array([k not in judged.faults for k in range(len(scores))])
        self._stop_faulty(blameless, "observations", judged)
        policies = self.policies()
        for k in _where(self.alive):
            policy = policies[k]
            if policy is not None:
                self.folders[k].offer_best(policy, self.loop.steps, float(scores[k]))
        return scores

    def _log(self, scores: np.ndarray | None) -> None:
        self._check_members()
        rows = self._rows(scores)
        for k, (folder, row) in enumerate(zip(self.folders, rows, strict=True)):
            if self.alive[k]:
                folder.add_row(row)
                self.tracker.log(folder.path.name, self.loop.steps, row)
            else:
                row.update({name: math.nan for name in row if name != "step"})
        self.progress.show(rows)

    def _rows(self, scores: np.ndarray | None) -> list[dict[str, float]]:
        """One row of numbers for each member; nan where nothing was measured."""
        now, steps = time.monotonic(), self.loop.steps
        speed = (steps - self._last_row[1]) / (now - self._last_row[0])
        self._last_row = (now, steps)
        if self.evaluator is not None and scores is None:
            scores = np.full(len(self.folders), math.nan)
        rows = member_rows(self.loop, speed, scores)
        return [row | self.adversaries.metrics(k) for k, row in enumerate(rows)]

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, kind: type | None, *rest: Any) -> None:
        refused = self._close_folders(self._status(kind))
        self.tracker.close()
        # Nor may an environment that cannot be closed hide an error.
        with suppress(*(() if kind is None else (InputError,))):
            self.loop.collector.close()
            self.adversaries.close()
            if self.evaluator is not None:
                self.evaluator.close()
        if refused and kind is None:  # after an error, that is what matters
            raise refused[0]

    def _close_folders(self, status: str) -> list[OSError]:
        """Give every folder its status; returns what the disk said where it took none."""
        refused = []
        for folder in self.folders:
            try:
                if folder.begun:
                    folder.close(status, self.loop.steps)
            except OSError as error:
                refused.append(error)
        return refused

    def _status(self, kind: type | None) -> str:
        if kind is not None:
            return "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
        if self.loop.steps >= self.config.steps:
            return "finished"
        return "stopped" if self.stop.signal is None else "interrupted"


def _where(mask: np.ndarray) -> list[int]:
    return [k for k, is_so in enumerate(mask) if is_so]


def _passed(before: int, after: int, every: int) -> bool:
    return every > 0 and before // every != after // every
