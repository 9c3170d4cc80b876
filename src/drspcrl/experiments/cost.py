"""What a population takes: time, memory, disk; from tables and formulas, without starting it."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from drspcrl.display import counted, shown
from drspcrl.errors import InputError
from drspcrl.experiments.population import Population
from drspcrl.reading import parse_yaml
from drspcrl.training.config import TrainConfig
from drspcrl.training.memory import MemoryEstimate, estimate

if TYPE_CHECKING:
    from drspcrl.envs.batch import BatchEnv
    from drspcrl.physics.components import Components

SIZES = {"Hopper": (11, 3), "HalfCheetah": (17, 6), "Walker2d": (17, 6), "Humanoid": (348, 17)}
"""Numbers in an observation and in an action of the tasks that everybody uses."""

SAFE_SHARE = 0.8
"""How much of the memory is planned with: the estimate knows no temporary arrays of XLA."""

_MOST_NODES = 100_000
_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")


@dataclass(frozen=True)
class Rate:
    """How fast a population trains, steps of all members together.

    Attributes:
        steps_per_second: the rate.
        source: where it comes from, in words.
    """

    steps_per_second: float
    source: str


@dataclass(frozen=True)
class Timing:
    """How long a training took here.

    Attributes:
        env: task.
        algorithm: learner.
        steps: of all members together.
        seconds: from start to end, with compilation and evaluation.
    """

    env: str
    algorithm: str
    steps: int
    seconds: float


@dataclass(frozen=True)
class Nodes:
    """Machines of one kind that rates were measured on.

    Attributes:
        count: how many.
        table: the part of the table that has their rates.
        machine: what each is, in words.
        memory: bytes for one population, None for as many as there are here.
    """

    count: int
    table: Literal["gpu", "cpu"]
    machine: str
    memory: float | None


def nodes_of(text: str) -> Nodes:
    """Machines from a text such as 8xH200.

    Raises:
        InputError: it is none, or nothing was measured on such a machine.
    """
    known = {entry["node"].lower(): name for name, entry in _table().items()}
    count, _, kind = text.partition("x")
    if not count.isdecimal() or not 1 <= int(count) <= _MOST_NODES or kind.lower() not in known:
        kinds = ", ".join(entry["node"] for entry in _table().values())
        raise InputError(
            f"nodes is {shown(text)}; give a number and a kind of machine, as 8xH200, of a kind "
            f"that rates were measured on: {kinds} (for others --rate)"
        )
    name = known[kind.lower()]
    entry = _table()[name]
    memory = bytes_of(entry["memory"]) if "memory" in entry else None
    return Nodes(int(count), "gpu" if name == "gpu" else "cpu", entry["machine"], memory)


def needs(population: Population) -> MemoryEstimate:
    """Bytes of memory and disk.

    Raises:
        InputError: an unknown task.
    """
    config = population.config(Path())
    return estimate(config, *task_sizes(population.env), _coordinates(config))


def _coordinates(config: TrainConfig) -> int:
    """How many numbers describe a world of a population; 0 without worlds."""
    if config.declared is None or all(member.plain for member in config.members):
        return 0
    from drspcrl.worlds.model import world_model

    sizes = task_sizes(str(config.env))
    return world_model(config.declared, _components(str(config.env)), *sizes).size


@cache
def _components(env: str) -> "Components | None":
    """The physics components of a task; None where it has no MuJoCo model.

    Raises:
        InputError: an unknown task.
    """
    with _made(env) as made:
        physics = made.simulation.physics
        return None if physics is None else physics.components


@cache
def task_sizes(env: str) -> tuple[int, int]:
    """Numbers in an observation and in an action.

    Raises:
        InputError: an unknown task.
    """
    if env.removesuffix("-v5") in SIZES:
        return SIZES[env.removesuffix("-v5")]
    with _made(env) as made:
        observation, action = made.observation_space.shape, made.action_space.shape
    return observation[-1], action[-1]


@contextmanager
def _made(env: str) -> "Iterator[BatchEnv]":
    """One environment of a task, for as long as it is looked at."""
    from drspcrl.envs import make

    with chdir("."):  # whatever a user's environment does
        made = make(env)
        try:
            yield made
        finally:
            made.close()


def members_that_fit(population: Population, memory: float | None, most: int | None) -> int:
    """How many members one population may have, at least one.

    Args:
        population: all members.
        memory: bytes that there are, None where nobody knows.
        most: members that the user allows, None for any number.
    """
    limit = sys.maxsize if most is None else most
    if memory is not None:
        total = needs(population)
        there = total.learning
        if population.training.get("replay_memory", "device") == "device":
            there += total.replay
        limit = min(limit, int(SAFE_SHARE * memory / (there / population.size)))
    return max(1, limit)


def available_memory(device: str) -> float | None:
    """Free bytes where populations will learn, or None if unknown. Does not load JAX."""
    if on_gpu(device):
        return _gpu_memory()
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        found = dict(line.split(":", 1) for line in lines)
        return float(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return None


def on_gpu(device: str) -> bool:
    """Whether populations will learn on a GPU, as far as can be told without JAX."""
    if device != "auto":
        return device == "gpu"
    return any(find_spec(name) for name in _PLUGINS) and _gpu_memory() is not None


@cache
def _gpu_memory() -> float | None:
    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    if shutil.which(command[0]) is None:
        return None
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return float(told.stdout.split()[0]) * 2**20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def rate_of(
    population: Population, given: float | None, timings: Iterable[Timing], gpu: bool
) -> Rate:
    """How fast it will train: as the user says, as was measured here, or as a table says.

    Args:
        population: what is trained.
        given: the user's rate.
        timings: of populations that this grid has trained already.
        gpu: whether it learns on a GPU.
    """
    if given is not None:
        return Rate(given, "given by --rate")
    same = [t for t in timings if t.algorithm == population.algorithm and t.seconds > 0]
    if own := [t for t in same if t.env == population.env] or same:
        rate = sum(t.steps for t in own) / sum(t.seconds for t in own)
        return Rate(rate, f"measured here on {', '.join(sorted({t.env for t in own}))}")
    return _tabled(population, _table()["gpu" if gpu else "cpu"])


def _tabled(population: Population, table: Mapping) -> Rate:
    """The rate of the same learner on the same task; else of the task, whose physics sets the pace.

    For a task that the table does not have, a guess: the slowest of the same learner, or of all
    where nobody measured that learner either.
    """
    env, learner = population.env.removesuffix("-v5"), population.algorithm
    of_task = [row for row in table["rates"] if row["env"] == env]
    of_learner = [row for row in table["rates"] if row["algorithm"] == learner]
    exact = [row for row in of_task if row["algorithm"] == learner]
    row = min(exact or of_task or of_learner or table["rates"], key=lambda row: row["rate"])
    members = counted(row["members"], f"{row['kind']} member")
    source = f"{members} with {row['algorithm'].upper()} on {row['env']}, {table['machine']}"
    guess = "" if exact else "a guess, give --rate if you know better: "
    return Rate(float(row["rate"]), guess + source)


@cache
def _table() -> Mapping:
    return parse_yaml(files("drspcrl.config.presets").joinpath("rates.yaml").read_text("utf-8"))


def bytes_of(text: str) -> float:
    """A number of bytes from a text such as 500M, 80G or 1.5T (binary units).

    Raises:
        InputError: it is none.
    """
    units = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    number, unit = (plain[:-1], plain[-1]) if plain and plain[-1] in "KMGT" else (plain, "")
    try:
        found = float(number) * units[unit]
    except ValueError:
        found = float("nan")
    if not 0 < found < float("inf"):
        raise InputError(f"memory is {shown(text)}; give bytes such as 500M or 80G")
    return found
