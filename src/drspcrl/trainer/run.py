"""`drspcrl.train`: from a configuration to run folders."""

import math
import os
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from drspcrl.policy import Policy
from drspcrl.trainer.algorithms import as_policy, make_loop, policy_parts
from drspcrl.trainer.collector import Collector
from drspcrl.trainer.config import TrainConfig
from drspcrl.trainer.estimate import check_room, choose_devices, estimate
from drspcrl.trainer.facts import facts
from drspcrl.trainer.folder import RunFolder, check_unused
from drspcrl.trainer.judge import Judge
from drspcrl.trainer.progress import Progress
from drspcrl.trainer.tracking import Tracker
from drspcrl.trainer.world import World, perturbations_of


def train(config: TrainConfig, console: Console | None = None) -> tuple[Path, ...]:
    """Train a population and leave one run folder for each member.

    Args:
        config: what to train.
        console: where progress is shown, standard output by default.

    Returns:
        The run folders, in the order of `config.members`.

    Raises:
        InputError: something in the configuration does not fit; nothing has been written then.
    """
    console = console or Console()
    check_unused(config)
    if config.deterministic:
        _ask_for_determinism()
    with Trainer(config, console) as trainer:
        trainer.run()
    return tuple(folder.path for folder in trainer.folders)


class Trainer:
    """A training in progress; as a context it leaves every folder with its last policy and status.

    Args:
        config: what to train.
        console: where progress is shown.
    """

    def __init__(self, config: TrainConfig, console: Console):
        self.config = config
        members, settings = config.members, config.resolved
        seeds = [member.seed for member in members]
        device, memory = choose_devices(config)
        collector = Collector(
            config.env,
            seeds,
            settings["envs_per_member"],
            config.threads,
            perturbations=perturbations_of(config),
        )
        self.world = World(config)
        needed = estimate(config, collector.observation_size, collector.action_size)
        check_room(needed, config, device, memory)
        judged = config.evaluate_every > 0
        episodes = config.evaluate_episodes
        self.judge = Judge(config.env, seeds, episodes, config.threads) if judged else None
        self.tracker = Tracker(config.track, f"drspcrl-{config.env}", config.describe(members[0]))
        console.print(
            f"{len(members)} runs of {config.steps:,} steps on {device.device_kind}: {needed}",
            highlight=False,
        )
        self.loop = make_loop(
            config.algorithm, settings, collector, seeds, config.steps, device, memory
        )
        known = facts(device)
        self.folders = [RunFolder(config, member, known) for member in members]
        self.progress = Progress([member.method for member in members], config.steps, console)
        self._begun = time.monotonic()
        self._last_row = (self._begun, 0)

    def run(self) -> None:
        """Train to the end, or to the time limit."""
        config, loop = self.config, self.loop
        with self.progress:
            while loop.steps < config.steps and not self.out_of_time:
                before = loop.steps
                loop.iterate()
                self.world.advance(loop)
                scores = None
                if _passed(before, loop.steps, config.evaluate_every):
                    scores = self._evaluate()
                due = _passed(before, loop.steps, config.log_every) or scores is not None
                if due or loop.steps >= config.steps:
                    self._log(scores)

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is reached."""
        limit = self.config.time_limit
        return limit is not None and time.monotonic() - self._begun >= limit

    def policies(self) -> list[Policy | None]:
        """The members' present policies; None for one that is not finite any more."""
        parts = jax.tree.map(np.asarray, policy_parts(self.config.algorithm, self.loop.state))
        return [self._policy(jax.tree.map(itemgetter(k), parts)) for k in range(len(self.folders))]

    def _policy(self, parts: Any) -> Policy | None:
        collector, config = self.loop.collector, self.config
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(parts)):
            return None
        return as_policy(config.algorithm, parts, config.resolved, collector.low, collector.high)

    def _evaluate(self) -> np.ndarray:
        assert self.judge is not None
        scores = self.judge.returns(self.loop.deterministic_actions).mean(axis=1)
        for folder, policy, score in zip(self.folders, self.policies(), scores, strict=True):
            if policy is not None:
                folder.offer_best(policy, self.loop.steps, float(score))
        return scores

    def _log(self, scores: np.ndarray | None) -> None:
        rows = self._rows(scores)
        for folder, row in zip(self.folders, rows, strict=True):
            folder.add_row(row)
            self.tracker.log(folder.path.name, self.loop.steps, row)
        self.progress.show(rows)

    def _rows(self, scores: np.ndarray | None) -> list[dict[str, float]]:
        """One row of numbers for each member; nan where nothing was measured."""
        loop, now = self.loop, time.monotonic()
        speed = (loop.steps - self._last_row[1]) / (now - self._last_row[0])
        self._last_row = (now, loop.steps)
        count, returns, lengths = loop.collector.episodes.take()
        learned = {name: np.asarray(values) for name, values in loop.metrics.items()}
        rows = []
        for k in range(len(self.folders)):
            row: dict[str, float] = {
                "step": loop.steps,
                "episode_return": float(returns[k]),
                "episode_length": float(lengths[k]),
                "epsilon": 0.0,
                "steps_per_second": speed,
                "episodes": int(count[k]),
            }
            if self.judge is not None:
                row["evaluation_return"] = math.nan if scores is None else float(scores[k])
            row |= {name: float(values[k]) for name, values in learned.items()}
            rows.append(row | self.world.metrics(k))
        return rows

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, kind: type | None, *rest: Any) -> None:
        status = {None: "stopped", KeyboardInterrupt: "interrupted"}.get(kind, "failed")
        if self.loop.steps >= self.config.steps:
            status = "finished"
        for folder, policy in zip(self.folders, self.policies(), strict=True):
            if policy is not None:
                folder.save_policy(policy)
            folder.close("diverged" if policy is None else status, self.loop.steps)
        self.tracker.close()
        self.loop.collector.close()
        self.world.close()
        if self.judge is not None:
            self.judge.close()


def _passed(before: int, after: int, every: int) -> bool:
    return every > 0 and before // every != after // every


def _ask_for_determinism() -> None:
    """Read when JAX first finds its devices, so a process that has already computed is too late."""
    flag = "--xla_gpu_deterministic_ops=true"
    flags = os.environ.get("XLA_FLAGS", "")
    if flag not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()
