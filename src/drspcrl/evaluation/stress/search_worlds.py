"""`stress`: the nearest world in which a policy fails, the worst in reach, parameters alone.

`Question` says when a world counts as failing, where to look, and how many episodes to spend.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from drspcrl.envs import BatchEnv, make, task_names
from drspcrl.envs.simulator import usable_cores
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import BLOCK, Actor, Policy
from drspcrl.evaluation.parallel import Progress, Show, progress
from drspcrl.evaluation.stress.ledger import Ledger
from drspcrl.evaluation.stress.play import Player
from drspcrl.evaluation.stress.result import Found, StressResult
from drspcrl.evaluation.stress.search import (
    FINALISTS,
    LEADS,
    POLISH,
    RAY,
    RUNS,
    SCAN,
    SHARE_ALONE,
    Search,
    axes_of,
    linear_guess,
    population,
)
from drspcrl.evaluation.stress.space import SHAPES, Space, select
from drspcrl.evaluation.stress.verify import COST, POINTS, Verified, Verifier, verify
from drspcrl.files import remove_asides, write_durably
from drspcrl.statistics import mean_interval
from drspcrl.versions import versions_of
from drspcrl.worlds.declare import Declared, declared, read_declared
from drspcrl.worlds.model import sensor_spread, world_model
from drspcrl.worlds.own import check_set_world, random_observations, with_own_parameters


@dataclass(frozen=True)
class Question:
    """A search for the worlds in which a policy fails.

    Attributes:
        limit: a world fails below nominal − (1 − limit)·|nominal|, so that 0.8 allows a loss of
            20% whatever the sign of the returns.
        least: the return below which a world fails, in place of `limit`.
        within: the radius of the worst world, in tolerances.
        reach: how far a failing world is looked for, in tolerances.
        shape: `ball` for the distance |x| in tolerances, `box` for the largest |xᵢ|.
        parameters: what may differ, None for all that is declared.
        budget: episodes altogether.
        episodes: episodes in each world, the same ones everywhere.
        steps: longest episode, None for the task's own.
        seed: where all randomness comes from.
    """

    limit: float = 0.8
    least: float | None = None
    within: float = 2.0
    reach: float = 5.0
    shape: str = "ball"
    parameters: Sequence[str] | None = None
    budget: int = 6000
    episodes: int = 8
    steps: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not _is_number(self.limit) or not 0 <= self.limit < 1:
            raise InputError(
                f"limit is {self.limit!r}; give the share of the nominal return that must remain, "
                "at least 0 and below 1, e.g. 0.8"
            )
        if self.least is not None and not _is_number(self.least):
            raise InputError(f"least is {self.least!r}; give a return, a finite number")
        for name in ("within", "reach"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 < value <= 100:
                raise InputError(
                    f"{name} is {value!r}; give a distance in tolerances, above 0 and at most 100"
                )
        if self.shape not in SHAPES:
            raise InputError(f"shape is {self.shape!r}; choose one of {', '.join(SHAPES)}")
        _whole("budget", self.budget, 1)
        _whole("episodes", self.episodes, 1)
        _whole("seed", self.seed, 0)
        if self.steps is not None:
            _whole("steps", self.steps, 1)

    def limit_return(self, nominal: float) -> float:
        """The return below which a world fails, where the nominal one is this."""
        return float(self.limits(np.array([nominal]))[0])

    def limits(self, nominal: np.ndarray) -> np.ndarray:
        """The same for each episode [K], with the limit of their mean as its mean."""
        if self.least is not None:
            return np.full(nominal.shape, float(self.least))
        return nominal * (1 - (1 - self.limit) * np.sign(nominal.mean()))

    def check_nominal(self, nominal: float) -> None:
        """Raise an `InputError` if the policy fails in the simulator already."""
        if self.least is None and nominal == 0:
            raise InputError(
                "the policy's nominal return is 0, of which no share can be lost; say with least "
                "which return is needed (--least)"
            )
        if not self.limit_return(nominal) < nominal:
            raise InputError(
                f"the policy fails in the simulator as it is: its nominal return is {nominal:.4g}, "
                f"not above the least return {self.least:g}; train it further or ask for less"
            )


def _whole(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= 2**32:
        raise InputError(f"{name} is {value!r}; give a whole number of at least {least}")


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


Env = str | Callable[[], gymnasium.Env]

RESULT, STATE = "stress.json", "stress-state.json"
FRESH = 100
"""Most episodes that a found world is played again with."""
_FEWEST_FRESH = 8
_CONFIRMED = 3  # nominal, worst and nearest
_REPLAYED = FINALISTS + 1 + _CONFIRMED  # finalists, the nearest one of them
SHARE_NEAREST, SHARE_RAYS = 1 / 2, 1 / 5
"""Of what is left beside the least that each part takes; the rest is the worst world's."""
_SIMULATIONS_IN_PROCESS = 32
_WARM_UP_STEPS, _WARM_UP_ENVS, _WARM_UP_SEED = 2000, 8, 0x756E6974
_SEARCHED, _FRESH, _FINAL, _VERIFIED = range(4)  # which of a search's sets of episodes
_PACKAGES = ("drspcrl", "gymnasium", "mujoco", "numpy", "cmaes")


def stress(
    policy: Policy,
    env: Env,
    worlds: Declared | Mapping[str, Any] | str | Path | None = None,
    *,
    limit: float = 0.8,
    least: float | None = None,
    within: float = 2.0,
    reach: float = 5.0,
    shape: str = "ball",
    parameters: Sequence[str] | None = None,
    budget: int = 6000,
    episodes: int = 8,
    steps: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    plot: bool = False,
    threads: int = 0,
    clip: bool = False,
    overwrite: bool = False,
    show: Show | None = "bar",
    source: Mapping[str, Any] | None = None,
) -> StressResult:
    """Find out where a policy, from any library, breaks.

    The result depends on policy, environment, worlds and the numbers below alone, not on threads.

    Args:
        policy: A function that takes observations [n, …] and returns actions [n, …] as arrays, or
            an object with Stable-Baselines3's `predict`.
        env: A task, any Gymnasium id, `module:Id`, or a function that makes an environment.
        worlds: What may differ from the simulator and by how much: a declaration, the same as plain
            data, or a YAML file; the default declaration if None.
        limit: The share of the nominal return that must remain.
        least: The return that must remain, in place of a share.
        within: The radius of the worst world, in tolerances.
        reach: How far a failing world is looked for, in tolerances.
        shape: `ball` for the distance |x| in tolerances, `box` for the largest |xᵢ|.
        parameters: What may differ, e.g. `["mass", "friction:foot_geom", "sensor"]`; all that is
            declared if None.
        budget: Episodes altogether.
        episodes: Episodes in each world, the same ones everywhere.
        steps: Longest episode, the task's own if None.
        seed: Where all randomness comes from.
        out: Folder for stress.json and for the state from which the same call continues.
        plot: Also write stress.png and stress.svg there.
        threads: Threads to simulate on, 0 for all usable cores.
        clip: Put actions that are out of range back into it instead of refusing them.
        overwrite: Begin again where another search's state is there.
        show: `bar` on a terminal, `lines` to have lines elsewhere too, None for nothing.
        source: What to note about the policy, as plain data, such as its file's hash.

    Raises:
        InputError: Arguments that do not fit, a policy that fails in the simulator already, a
            budget that is too small, or a state of another search in `out`.
    """
    question = Question(
        limit, least, within, reach, shape, parameters, budget, episodes, steps, seed
    )
    actor = Actor(policy)
    if plot and out is None:
        raise InputError("a figure needs a folder to be in; give out")
    space, what = _space(env, worlds, question)
    _check_budget(question, space)
    info = {
        "env": env if isinstance(env, str) else _name_of(env),
        "policy": dict(source or {"name": _name_of(policy)}),
        "question": asdict(question) | {"parameters": list(space.names)},
        "worlds": what,
    }
    folder = None if out is None else _folder(Path(out), overwrite)
    width, rows = _batch_size(env, question, space, threads)
    batch = make(env, rows, threads=threads)
    try:
        player = Player(batch, actor, space, width, steps, clip)
        file = None if folder is None else folder / STATE
        with progress(budget, f"stress {info['env']}", show) as advance:
            ledger = Ledger(player.play, budget, {**info, "clip": clip}, file, advance)
            result = _search(question, space, ledger, info)
            _close_progress(ledger, advance)
    finally:
        batch.close()
    if folder is not None:
        write_result(result, folder, plot)
    return result


def write_result(result: StressResult, folder: Path, plot: bool) -> None:
    """Write stress.json, and the figure if it is wanted; the figure first."""
    if plot:
        from drspcrl.evaluation.stress.figure import draw

        draw(result, folder)
    text = json.dumps(result.record(), indent=2, allow_nan=False, ensure_ascii=False)
    write_durably(folder / RESULT, (text + "\n").encode())


def _search(
    question: Question, space: Space, ledger: Ledger, info: Mapping[str, Any]
) -> StressResult:
    """Nominal, alone, nearest, worst; each played again with episodes that chose none of them."""
    seeds = _seeds(question.seed, _SEARCHED, question.episodes)
    nominal = float(ledger.play(np.zeros((1, space.size)), seeds)[0].mean())
    try:
        question.check_nominal(nominal)
    except InputError:
        ledger.forget()
        raise
    limit = question.limit_return(nominal)
    search = Search(space, ledger, seeds, nominal, limit, question.reach, question.seed)
    search.points, search.means = [np.zeros(space.size)], [nominal]
    again = _seeds(question.seed, _VERIFIED, _again(question))
    kept = _REPLAYED * _fresh(question.budget) + POINTS * len(again)
    most = question.budget - _least_rest(question, space)
    sides = search.alone(min(int(SHARE_ALONE * question.budget), most))
    spare = ledger.left - kept - (1 + COST) * len(again)
    first = search.nearest(sides, int(SHARE_NEAREST * spare))
    lead = linear_guess(sides, space.size) if first is None else first
    verifier = Verifier.begin(space, ledger, again, question.limits)
    verified = verify(
        verifier, first, sides, question.reach, COST * len(again) + int(SHARE_RAYS * spare)
    )
    finalists = search.worst(question.within, lead, ledger.left - kept)
    worst, verified = _worst_of(question, finalists, verified, verifier)
    seen = None if first is None else float(space.distance(first))
    return _confirmed(question, space, ledger, info, verified, worst, seen)


def _worst_of(
    question: Question, finalists: np.ndarray, verified: Verified, verifier: Verifier
) -> tuple[np.ndarray, Verified]:
    """The worst of the finalists and the nearest failing world; it may be nearer than that."""
    space, ledger, nearest = verifier.space, verifier.ledger, verified.nearest
    if nearest is not None and space.distance(nearest) <= question.within:
        finalists = np.vstack([finalists, nearest])
    seeds = _seeds(question.seed, _FINAL, _fresh(question.budget))
    worst = finalists[np.argmin(ledger.play(finalists, seeds)[0].mean(axis=1))]
    near = question.reach if nearest is None else float(space.distance(nearest))
    if space.distance(worst) < near:
        last = question.budget - _CONFIRMED * len(seeds)
        closer = verifier.inwards(worst, last)
        verified = verified if closer is None else replace(verified, nearest=closer)
    return worst, verified


def _confirmed(
    question: Question,
    space: Space,
    ledger: Ledger,
    info: Mapping[str, Any],
    verified: Verified,
    worst: np.ndarray,
    seen: float | None,
) -> StressResult:
    """What was found, played with episodes that chose nothing."""
    nearest = verified.nearest
    points = [np.zeros(space.size), worst, *(() if nearest is None else (nearest,))]
    seeds = _seeds(question.seed, _FRESH, _fresh(question.budget))
    returns, lost = ledger.play(np.array(points), seeds)
    nominal, limits = mean_interval(returns[0]), question.limits(returns[0])

    def found(k: int) -> Found:
        fresh, distance = mean_interval(returns[k]), float(space.distance(points[k]))
        share = 1 - (nominal.value - fresh.value) / abs(nominal.value) if nominal.value else 0.0
        above = mean_interval(returns[k] - limits)
        return Found(points[k], distance, fresh, above, share, int(lost[k].sum()))

    bad, near = found(1), None if nearest is None else found(2)
    return StressResult(
        space,
        {**info, "versions": versions_of(_PACKAGES)},
        nominal,
        float(limits.mean()),
        _nearer(bad, near, question.reach),
        bad,
        verified.sides,
        ledger.played,
        seen,
        verified.complete,
    )


def _nearer(worst: Found, nearest: Found | None, reach: float) -> Found | None:
    """The nearest failing world; the worst one if it fails nearer, whatever verification said."""
    inside = worst.distance <= reach * (1 + 1e-9)  # it may lie on the boundary, but for rounding
    nearer = inside if nearest is None else worst.distance < nearest.distance
    return worst if nearer and worst.verdict == "fails" else nearest


def _close_progress(ledger: Ledger, advance: Progress) -> None:
    if ledger.left > 0:  # what was not needed
        advance(0, ledger.left)


def _fresh(budget: int) -> int:
    return max(_FEWEST_FRESH, min(FRESH, budget // 50))


def _again(question: Question) -> int:
    """Episodes of the worlds on a ray that is played again."""
    return max(_FEWEST_FRESH, _fresh(question.budget) // 3, question.episodes)


def _seeds(seed: int, which: int, count: int) -> list[int]:
    """Ordinary Gymnasium seeds, one for each episode."""
    digests = [hashlib.sha256(f"stress/{seed}/{which}/{k}".encode()).digest() for k in range(count)]
    return [int.from_bytes(digest[:4], "little") >> 1 for digest in digests]


def _check_budget(question: Question, space: Space) -> None:
    """Refuse a budget that does not reach for one generation of everything."""
    generation = population(space.size)
    axes = len(axes_of(space, question.reach))
    needed = 1
    while needed < (least := _least_budget(replace(question, budget=needed), space, axes)):
        needed = least
    if question.budget < needed:
        raise InputError(
            f"a budget of {question.budget} episodes is too small for one generation of "
            f"{generation} worlds with {question.episodes} episodes each and for {axes} single "
            f"directions; give at least {needed}, fewer episodes for each world (episodes), or "
            "fewer parameters"
        )


def _least_budget(question: Question, space: Space, axes: int) -> int:
    """Episodes for one generation of everything, where this many decide how often is replayed."""
    # Scan and one halving of each parameter may take no more than their share.
    alone = question.episodes * axes * (len(SCAN) + 1)
    return max(alone + _least_rest(question, space), math.ceil(alone / SHARE_ALONE))


def _least_rest(question: Question, space: Space) -> int:
    """Episodes for one generation of everything but the parameters alone."""
    generation = population(space.size)
    nearest = 2 + 2 * len(RAY) + generation + POLISH * len(RAY) + space.size
    worst = LEADS + generation + RUNS
    spare = max(nearest / SHARE_NEAREST, worst / (1 - SHARE_NEAREST - SHARE_RAYS))
    again = (1 + COST + POINTS) * _again(question) + _REPLAYED * _fresh(question.budget)
    return again + math.ceil(question.episodes * (1 + spare))


def _batch_size(env: Env, question: Question, space: Space, threads: int) -> tuple[int, int]:
    """Rows of a block that are used, which decide results, and simulations, which do not."""
    generation = population(space.size) * question.episodes
    on_threads = isinstance(env, str) and env.removesuffix("-v5") in task_names()
    width = min(BLOCK if on_threads else _SIMULATIONS_IN_PROCESS, generation)
    blocks = min(threads or usable_cores(), -(-generation // width)) if on_threads else 1
    return width, width * blocks


def _folder(folder: Path, overwrite: bool) -> Path:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder for the result")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_asides(folder)
        if overwrite:
            (folder / STATE).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    return folder


def _name_of(given: Any) -> str:
    return getattr(given, "__qualname__", type(given).__qualname__)


def _space(env: Env, worlds: Any, question: Question) -> tuple[Space, dict[str, Any]]:
    """What is searched, and the declaration it comes from as plain data."""
    says = read_declared(worlds)[0] if isinstance(worlds, str | Path) else worlds
    says = Declared() if says is None else declared(says)
    one = make(env, 1, threads=1)
    try:
        says = with_own_parameters(says, one)
        physics = one.simulation.physics
        unit, relative = _sensor_unit(says, env, one)
        readings = int(np.prod(one.observation_space.shape))
        actions = int(np.prod(one.action_space.shape))
        components = None if physics is None else physics.components
        model = world_model(says, components, readings, actions, unit)
        names = () if physics is None else physics.names
        columns = select(model, question.parameters, {name.split(":")[0] for name in names})
        if model.parameters:
            check_set_world(one, model.parameters)
    finally:
        one.close()
    what = says.record() | ({} if unit is None else {"sensor_unit": unit.tolist()})
    values: list[float] = [] if physics is None else physics.nominal.tolist()
    nominal = dict(zip(names, values, strict=True))
    return Space(model, columns, nominal, relative, question.shape), what


def _sensor_unit(says: Declared, env: Env, one: BatchEnv) -> tuple[np.ndarray | None, bool]:
    """What one unit of sensor noise is, [O], None for 1; and whether it is relative."""
    readings = int(np.prod(one.observation_space.shape))
    if not isinstance(says.sensor_unit, str):
        unit = np.array(says.sensor_unit)
        if unit.shape != (readings,):
            raise InputError(
                f"worlds: sensor_unit has {unit.size} numbers, and the task has {readings} "
                "readings; give one for each"
            )
        return unit, True
    known = isinstance(env, str) and env.removesuffix("-v5") in task_names()
    absolute = says.sensor_unit == "absolute" or not (says.sensor or says.bias)
    if absolute or (says.sensor_unit == "auto" and known):
        return None, False
    spread = sensor_spread(random_observations(env))
    return np.array([float(f"{size:.6g}") for size in spread]), True
