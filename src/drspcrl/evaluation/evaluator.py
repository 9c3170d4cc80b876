"""`evaluate`: one policy or many, every setting of a suite, many episodes each, as one batch.

With each result comes a record of everything that decides it except the policy.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from drspcrl.display import shown
from drspcrl.envs import BatchEnv, make, task_names
from drspcrl.envs.simulator import usable_cores
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import BLOCK, Actor, Policy
from drspcrl.evaluation.attacking import check_observations, scale_of
from drspcrl.evaluation.parallel import Progress, Show, progress
from drspcrl.evaluation.rollout import Episode, Failure, Queue, Rollout
from drspcrl.evaluation.suite import Row, Suite, load_suite
from drspcrl.evaluation.table import EvaluationTable
from drspcrl.perturbations.kernel import NotInTaskError
from drspcrl.physics.components import DEFAULT_PARAMETERS
from drspcrl.versions import versions_of

_SIMULATIONS_IN_PROCESS = 32


@dataclass(frozen=True)
class PolicyResult:
    """What became of one policy among several: a table, or the reason why there is none."""

    policy: str
    table: EvaluationTable | None
    error: InputError | None = None


def evaluate(
    policy: Policy,
    env: str | Callable[[], gymnasium.Env],
    suite: str | Path | Suite = "paper",
    episodes: int = 100,
    seed: int = 0,
    *,
    deterministic: bool = True,
    clip: bool = False,
    simulations: int | None = None,
    threads: int = 0,
    show: Show | None = "bar",
) -> EvaluationTable:
    """Evaluate a policy, from any library, under the perturbations of a suite.

    Settings of what the task has not (perturbed physics without a MuJoCo model) are left out, and
    the table says so.

    The result depends on policy, environment, suite, episodes and seed alone: every episode draws
    from a seed of its own, and the policy is always called with the same number of observations.

    Args:
        policy: A function that takes observations [n, …] and returns actions [n, …] as arrays, or
            an object with Stable-Baselines3's `predict`.
        env: `Hopper`, `HalfCheetah`, `Walker2d`, `Humanoid`, any Gymnasium id with Box spaces, or
            a function that makes such an environment.
        suite: A name (see `SUITES`), a path of a YAML file, or a `Suite`.
        episodes: Episodes for each setting.
        seed: Where all randomness comes from.
        deterministic: Passed on to `predict`.
        clip: Put actions that are out of range back into it instead of refusing them.
        simulations: How many episodes are played at once; chosen by the number of cores if None.
        threads: Threads to simulate on, 0 for all usable cores.
        show: `bar` on a terminal, `lines` to have lines elsewhere too, None for nothing.

    Raises:
        InputError: Arguments that do not fit, or actions that do not: the message names setting,
            episode and step.
    """
    (outcome,) = evaluate_policies(
        {"policy": policy}, env, suite, episodes, seed,
        deterministic=deterministic, clip=clip, simulations=simulations, threads=threads, show=show,
    )  # fmt: skip
    if outcome.error is not None:
        raise outcome.error
    assert outcome.table is not None
    return outcome.table


def evaluate_policies(
    policies: Mapping[str, Policy],
    env: str | Callable[[], gymnasium.Env],
    suite: str | Path | Suite = "paper",
    episodes: int = 100,
    seed: int = 0,
    *,
    deterministic: bool = True,
    clip: bool = False,
    simulations: int | None = None,
    threads: int = 0,
    show: Show | None = "bar",
) -> Iterator[PolicyResult]:
    """Evaluate several policies of one task as one batch.

    A policy that is refused, or whose actions are, does not stop the others.

    Args:
        policies: Policies by name.
        env: See `evaluate`, as for all further arguments.
        suite: A name, a path of a YAML file, or a `Suite`.
        episodes: Episodes for each policy and setting.
        seed: Where all randomness comes from; the same for each policy.
        deterministic: Passed on to `predict`.
        clip: Put actions that are out of range back into it instead of refusing them.
        simulations: How many episodes are played at once.
        threads: Threads to simulate on.
        show: How progress is shown.

    Yields:
        An outcome as soon as the last episode of its policy is over.
    """
    suite = load_suite(suite).for_task(env)
    check_numbers(episodes=episodes, seed=seed, simulations=simulations, threads=threads)
    if not policies:
        raise InputError("there are no policies; give at least one, by name")
    playable, left_out = _playable(env, suite)
    scale = partial(scale_of, env=env, seed=int(seed), clip=clip, threads=threads)
    plans: dict[str, _Plan] = {}
    for name, policy in policies.items():
        try:
            plans[name] = _plan(name, Actor(policy, deterministic), playable, scale)
        except InputError as error:
            yield PolicyResult(name, None, error)
    if not plans:
        return
    total = sum(len(plan.rows) for plan in plans.values()) * episodes
    batch = make(env, num_envs=_simulations(env, total, simulations, threads), threads=threads)
    try:
        request = {"episodes": int(episodes), "seed": int(seed), "deterministic": deterministic}
        info = record(batch, env, suite, left_out, **request, clip=clip)
        actors = {name: plan.actor for name, plan in plans.items()}
        scales = {name: plan.scale for name, plan in plans.items() if plan.scale is not None}
        # One policy after another, so that few of them share a step and each ends early.
        queue = Queue({name: plan.rows for name, plan in plans.items()}, int(episodes))
        played = Rollout(batch, actors, int(seed), clip, scales).play(queue)
        infos = {name: _info_of(info, plan) for name, plan in plans.items()}
        with progress(total, str(info["env"]), show) as advance:
            yield from _outcomes(played, plans, int(episodes), infos, advance)
    finally:
        batch.close()


@dataclass(frozen=True)
class _Plan:
    """What is played of a suite with one policy."""

    actor: Actor
    rows: tuple[Row, ...]
    left_out: Mapping[str, str]
    info: Mapping[str, Any]
    scale: np.ndarray | None = None


def _plan(
    name: str, actor: Actor, suite: Suite, scale_of: Callable[[Policy], tuple[np.ndarray, str]]
) -> _Plan:
    """Leave out the attacks that need what a policy has not, and measure what the others need.

    Raises:
        InputError: nothing is left, or the policy's actions are refused.
    """
    rows, left_out = [], {}
    for row in suite.rows:
        missing = "" if row.attack is None else row.attack.missing(actor.policy)
        if missing:
            left_out[row.label] = missing
        else:
            rows.append(row)
    if not rows:
        why = next(iter(left_out.values()))
        raise InputError(f"suite {suite.name!r} has no setting for {name}: {why}")
    if all(row.attack is None for row in suite.rows):
        return _Plan(actor, tuple(rows), left_out, {})
    scale, source = scale_of(actor.policy)
    info = {"attack_scale": {"from": source, "scale": scale.tolist()}}
    return _Plan(actor, tuple(rows), left_out, info, scale)


def _info_of(info: Mapping[str, Any], plan: _Plan) -> dict[str, Any]:
    left_out = {**info.get("left_out", {}), **plan.left_out}
    return {**info, **({"left_out": left_out} if left_out else {}), **plan.info}


MOST = 2**32
"""Beyond this an evaluation would not end in anybody's lifetime."""


def check_numbers(
    episodes: int, seed: int, simulations: int | None = None, threads: int = 0
) -> None:
    """Raise an `InputError` unless these are whole numbers that make sense."""
    for name, value, least in (
        ("episodes", episodes, 1),
        ("seed", seed, 0),
        ("simulations", 1 if simulations is None else simulations, 1),
        ("threads", threads, 0),
    ):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} is {shown(value)}; give a whole number, at least {least}")
        if value > MOST:
            raise InputError(f"{name} is {shown(value)}; give at most {MOST}")


def _simulations(env: Any, total: int, wanted: int | None, threads: int) -> int:
    """How many simulations, such that the last round of the queue is as full as the others."""
    on_threads = isinstance(env, str) and env.removesuffix("-v5") in task_names()
    # A block for each core keeps the threads busy between two calls of a policy; more only wastes
    # steps at the end, when the queue is empty and the last episodes are finished.
    default = BLOCK * (threads or usable_cores()) if on_threads else _SIMULATIONS_IN_PROCESS
    rounds = ceil(total / (wanted or default))
    return ceil(total / rounds)


def _playable(env: str | Callable[[], gymnasium.Env], suite: Suite) -> tuple[Suite, dict[str, str]]:
    """Try every setting on one simulation, before any work could be lost to a wrong one.

    Returns:
        The settings that the task has something for, and the others' labels with the reason.
    """
    batch = make(env, threads=1)
    try:
        if any(row.attack is not None for row in suite.rows):
            check_observations(batch.observation_space)
        missing = {row.label: _missing(batch, suite, row) for row in suite.rows}
    finally:
        batch.close()
    left_out = {label: error.why for label, error in missing.items() if error is not None}
    kept = [row.parts for row in suite.rows if row.label not in left_out]
    if not kept:
        error = next(iter(missing.values()))
        raise InputError(f"suite {suite.name!r} has no setting for this task: {error}")
    return (replace(suite, settings=kept) if left_out else suite), left_out


def _missing(batch: BatchEnv, suite: Suite, row: Row) -> NotInTaskError | None:
    """What the task has not that a setting needs, None where it has all."""
    try:
        batch.perturb([0], [row.simulated])
    except NotInTaskError as error:
        return error
    except InputError as error:
        raise InputError(f"suite {suite.name!r}, setting {row.label}: {error}") from None
    return None


def _outcomes(
    played: Iterator[Episode | Failure],
    plans: Mapping[str, _Plan],
    episodes: int,
    infos: Mapping[str, Mapping[str, Any]],
    advance: Progress,
) -> Iterator[PolicyResult]:
    """Gather episodes, which end in any order, into tables in the order of the suite."""
    positions = {
        name: {row.label: k for k, row in enumerate(plan.rows)} for name, plan in plans.items()
    }
    open_tables: dict[str, dict[int, Episode]] = {}
    for item in played:
        policy = item.policy if isinstance(item, Failure) else item.job.policy
        whole = len(positions[policy]) * episodes
        if isinstance(item, Failure):
            lost = whole - len(open_tables.pop(item.policy, {}))
            advance(0, lost)
            yield PolicyResult(item.policy, None, item.error)
            continue
        own = open_tables.setdefault(policy, {})
        own[positions[policy][item.job.row.label] * episodes + item.job.episode] = item
        advance(item.length)
        if len(own) == whole:
            finished = open_tables.pop(policy)
            table = _table([finished[k] for k in range(whole)], infos[policy])
            yield PolicyResult(policy, table)


def _table(episodes: list[Episode], info: Mapping[str, Any]) -> EvaluationTable:
    returns = np.array([episode.returns for episode in episodes])
    lost: dict[str, int] = {}
    for episode in episodes:
        if np.isnan(episode.returns):
            lost[episode.job.row.label] = lost.get(episode.job.row.label, 0) + 1
    faults = any(episode.job.row.onset is not None for episode in episodes)
    return EvaluationTable(
        perturbation=np.array([episode.job.row.perturbation for episode in episodes]),
        level=np.array([episode.job.row.level for episode in episodes]),
        episode=np.array([episode.job.episode for episode in episodes]),
        returns=returns,
        length=np.array([episode.length for episode in episodes]),
        info={**info, "diverged": lost},
        recovery=np.array([episode.recovery for episode in episodes]) if faults else None,
    )


FORMAT_VERSION = 1
# MuJoCo's version changes trajectories; the others may.
_PACKAGES = ("drspcrl", "gymnasium", "mujoco", "numpy")


def record(
    env: BatchEnv,
    name: str | Callable[[], gymnasium.Env],
    suite: Suite,
    left_out: Mapping[str, str],
    **request: Any,
) -> dict[str, Any]:
    """Everything that decides a table except the policy, as plain data."""
    return {
        "format_version": FORMAT_VERSION,
        "env": name if isinstance(name, str) else _name_of(name),
        "suite": suite.name,
        **({"statistic": suite.statistic} if suite.statistic != "mean" else {}),
        "settings": list(suite.labels),
        **({"left_out": dict(left_out)} if left_out else {}),
        **request,
        "versions": versions_of(_PACKAGES),
        "physics": _physics(env),
    }


def _name_of(factory: Callable[[], gymnasium.Env]) -> str:
    return getattr(factory, "__qualname__", type(factory).__qualname__)


def _physics(env: BatchEnv) -> dict[str, Any] | None:
    """The components of the model, and which of them the perturbation `environment` scales."""
    physics = env.simulation.physics
    if physics is None:
        return None
    families = {name.split(":")[0] for name in physics.names}
    return {
        "environment_parameters": [name for name in DEFAULT_PARAMETERS if name in families],
        "nominal": dict(zip(physics.names, physics.nominal.tolist(), strict=True)),
    }
