"""What a training is asked to do, checked before anything starts."""

import os
import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from drspcrl import named, variants
from drspcrl.baselines import training_perturbations
from drspcrl.curricula.registry import BASELINES, METHODS, maker_of
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.learners.registry import LEARNERS, settings_class
from drspcrl.training.settings import UNCERTAINTIES, Settings, is_shared, resolve
from drspcrl.training.stopping import seconds
from drspcrl.variants import Variant
from drspcrl.worlds.declare import Declared, declared, read_declared

if TYPE_CHECKING:
    from drspcrl.perturbations import Perturbation

DEVICES = ("auto", "cpu", "gpu")
MEMORIES = ("device", "host")
# What more than so many would be asked for by mistake; the episodes are kept in memory.
_MOST = {"evaluate_episodes": 1_000_000}
TRACKERS = ("none", "trackio", "wandb")


@dataclass(frozen=True)
class Member:
    """One run of a population.

    Attributes:
        method: its method's label, e.g. `self_paced` or `self_paced:pacing=0.1`.
        seed: its seed.
    """

    method: str
    seed: int

    @property
    def variant(self) -> Variant:
        """The method by name, and what it changes in the settings."""
        return variants.parse_variant(self.method)

    @property
    def leader(self) -> str | None:
        """The label of the members whose mean radius a `yoked` one replays; none for others."""
        if self.variant.method != "yoked":
            return None
        return variants.variant_label(Variant("self_paced", self.variant.changes))

    @property
    def plain(self) -> bool:
        """Whether it takes the simulator at its word: no nominal model, radius 0."""
        return self.variant.method in ("vanilla", *BASELINES)


@dataclass(frozen=True)
class TrainConfig:
    """Train every (method, seed) as one population and leave a run folder for each."""

    env: str | Callable[[], Any]
    """Task: Hopper, HalfCheetah, Walker2d, Humanoid, any Gymnasium id with Box spaces, your own as
    my_module:My-v0 (an id that my_module registers) or my_module:make (a function or class in it);
    in Python also the function or class itself."""
    algorithm: str
    """Learner: ppo, sac, ddpg, td3, or your own as module:Class."""
    out: Path
    """Folder that the run folders are made in."""
    methods: tuple[str, ...] = ("vanilla",)
    """Methods to train, each with every seed; a method may change settings of its own, e.g.
    self_paced:pacing=0.1 beside self_paced, or be a user's own curriculum as module:Class."""
    seeds: tuple[int, ...] = (0,)
    """Seeds; everything random in a run follows from its seed alone."""
    steps: int = 1_000_000
    """Environment steps of each run."""
    uncertainty: Literal["worlds", "transitions"] = "worlds"
    """What robust methods are trained against: worlds that are drawn once an episode, or the
    paper's ball around every transition."""
    worlds: Path | Mapping[str, Any] | Declared | None = None
    """Tolerances of one's own: a YAML file, or what it holds; see docs/concepts/worlds.md."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Hyper-parameters that differ from the algorithm's preset, by name."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to learn; auto takes a GPU if JAX finds one."""
    replay_memory: Literal["device", "host"] = "device"
    """Where replay buffers live; host spares the GPU's memory and is slower."""
    deterministic: bool = False
    """Bit-equal repetition on a GPU too, at some cost; a CPU always repeats itself."""
    threads: int = 0
    """Threads for the physics, 0 for all cores; results do not depend on it."""
    log_every: int = 1000
    """Steps between rows of metrics.csv."""
    evaluate_every: int = 0
    """Steps between evaluations without exploration, whose best policy is kept; 0 for none."""
    evaluate_episodes: int = 10
    """Episodes of each evaluation and run."""
    checkpoint_every: int = 50_000
    """Steps between checkpoints; 0 for one at the end or at a stop alone."""
    time_limit: float | None = None
    """Stop cleanly with a checkpoint after this time: seconds, or a text such as 9m or 1h30m."""
    tensorboard: bool = True
    """Write TensorBoard events into each run folder."""
    track: Literal["none", "trackio", "wandb"] = "none"
    """Also log to this tracker; needs the extra `tracking`."""

    # Defaults of the day when it began, where a resumed training has them: no field, because they
    # are not what was asked for.
    _began: ClassVar[Mapping[str, Any]] = {}
    _declared: ClassVar[Declared | None] = None
    _worlds_file: ClassVar[Mapping[str, str] | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "env", _env_name(self.env))
        out = self.out
        if not isinstance(out, str | os.PathLike):
            raise InputError(f"out is {shown(out)}; give a folder")
        object.__setattr__(self, "out", Path(out))
        if not str(out).strip():
            raise InputError("out is empty; give a folder, or . for the one you are in")
        if "\0" in str(self.out):
            raise InputError(f"out is {shown(str(self.out))}; a folder's name has no null byte")
        if not isinstance(self.settings, Mapping):
            raise InputError(f"settings are {shown(self.settings)}; give names with values")
        object.__setattr__(self, "methods", _labels(self.methods))
        object.__setattr__(self, "seeds", _several("seeds", self.seeds))
        for name, allowed in (
            ("device", DEVICES),
            ("replay_memory", MEMORIES),
            ("track", TRACKERS),
            ("uncertainty", UNCERTAINTIES),
        ):
            _one_of(name, getattr(self, name), allowed)
        LEARNERS.check(self.algorithm)
        object.__setattr__(self, "time_limit", seconds("time_limit", self.time_limit))
        _check_numbers(self)
        self._declare()
        resolve(self.algorithm, self.settings, self.steps, self.uncertainty)
        for method in self.methods:
            _check_method(self, Member(method, 0))

    def _declare(self) -> None:
        """Read what worlds are declared; None where robustness is about transitions."""
        found, sha = None, None
        if self.uncertainty == "transitions":
            if self.worlds is not None:
                raise InputError(
                    "worlds are declared, and uncertainty is transitions, which has none; leave "
                    "out one of the two"
                )
        elif isinstance(self.worlds, str | Path):
            found, sha = read_declared(self.worlds)
        else:
            found = declared({} if self.worlds is None else self.worlds)
        if found is not None:
            found = found.with_law(settings_class(self.algorithm).worlds_law)
        object.__setattr__(self, "_declared", found)
        if sha is not None and Path(str(self.worlds)).is_file():
            # Absolute, so that the run is not measured by another file elsewhere.
            noted = {"path": str(Path(str(self.worlds)).resolve()), "sha256": sha}
            object.__setattr__(self, "_worlds_file", noted)

    @property
    def worlds_file(self) -> Mapping[str, str] | None:
        """The file that its worlds were read from, with its hash; None where there was none."""
        return self._worlds_file

    @property
    def began(self) -> Mapping[str, Any]:
        """Settings that a resumed training began with and the present defaults would change."""
        return self._began

    @property
    def declared(self) -> Declared | None:
        """The worlds that robust methods are trained in; None with transitions."""
        return self._declared

    @property
    def members(self) -> tuple[Member, ...]:
        """The population, seed by seed within method by method."""
        return tuple(Member(method, seed) for method in self.methods for seed in self.seeds)

    @property
    def resolved(self) -> Settings:
        """The numbers of the population."""
        given = {**self._began, **self.settings}
        return resolve(self.algorithm, given, self.steps, self.uncertainty)

    def as_begun(self, began: Mapping[str, Any]) -> "TrainConfig":
        """The same with these settings in place of the present defaults."""
        kept = copy(self)
        object.__setattr__(kept, "_began", dict(began))
        return kept

    def settings_of(self, member: Member) -> Settings:
        """The numbers of one member: the population's, with its method's own.

        Raises:
            InputError: the method changes what all members of one program must share.
        """
        changes = member.variant.changes
        if shared := [name for name in changes if self.shares(name)]:
            raise InputError(
                f"method {shown(member.method)} changes {shared[0]}, which all members of a "
                f"population share; give it to all of them as --set {shared[0]}=…, or "
                "train them apart"
            )
        given = {**self._began, **self.settings, **changes}
        return resolve(self.algorithm, given, self.steps, self.uncertainty)

    def shares(self, name: str) -> bool:
        """Whether all members of the population have a setting in common."""
        return is_shared(self.algorithm, name)

    def perturbations_of(self, member: Member) -> "tuple[Perturbation, ...]":
        """What a member's simulators are perturbed with while it trains."""
        settings = self.settings_of(member)
        gusts = 0.0 if settings.transitions is None else settings.transitions.rollout_gusts
        return training_perturbations(member.variant.method, settings.baselines, gusts)

    def folder(self, member: Member) -> Path:
        """The run folder of a member."""
        # An id such as "ALE/Pong" or a hostile one must not leave the output folder or hide in it.
        task = re.sub(r"[^\w.-]", "_", f"{self.env}-{self.algorithm}").lstrip(".")
        method = variants.folder_name(member.variant)
        return self.out / f"{task}-{method}-s{member.seed}"

    def describe(self, member: Member) -> dict[str, Any]:
        """Everything about one member's run as plain data, for its config.yaml."""
        shared = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("methods", "seeds", "settings")
        }
        shared["out"] = str(self.out)
        shared["worlds"] = None if self.declared is None else self.declared.record()
        if self._worlds_file is not None:
            shared["worlds_file"] = dict(self._worlds_file)
        own = {"method": member.method, "seed": member.seed}
        settings = self.settings_of(member).flat()
        return {**shared, **own, "settings": settings, "population": self._population()}

    @classmethod
    def of_run(cls, described: Mapping[str, Any], out: Path) -> "TrainConfig":
        """The training that a run folder's config.yaml describes.

        Args:
            described: what `describe` gave for one of its members.
            out: where the run folders are now.

        Raises:
            InputError: it does not describe a training.
        """
        population = described.get("population")
        shared = ("methods", "seeds", "settings")
        if not isinstance(population, Mapping) or not set(shared) <= set(population):
            raise InputError(f"config.yaml has no population with {', '.join(shared)}")
        if not all(isinstance(population[name], list) for name in shared[:2]):
            raise InputError("config.yaml has a population whose methods or seeds are no list")
        own = {f.name for f in fields(cls)} - {"out", *shared}
        derived = {"out", "method", "seed", "settings", "population", "worlds_file"}
        if unknown := set(described) - own - derived:
            raise InputError(
                f"config.yaml has the unknown entries {brief(', '.join(map(str, unknown)))}"
            )
        if missing := {"env", "algorithm", "steps"} - set(described):
            raise InputError(f"config.yaml lacks {', '.join(sorted(missing))}")
        worlds = described.get("worlds")
        if worlds is not None and not isinstance(worlds, Mapping):
            raise InputError(
                f"config.yaml has the worlds {shown(worlds)}, where a run has the tolerances "
                "themselves; put its config.yaml right"
            )
        # Runs from before there were worlds are about transitions.
        given = {"uncertainty": "transitions"}
        given |= {name: described[name] for name in own & set(described)}
        noted = described.get("worlds_file")
        check_worlds_file(noted)
        found = cls(out=out, **given, **{name: population[name] for name in shared})
        return found.read_from(noted)

    def read_from(self, noted: Any) -> "TrainConfig":
        """The same, with a note of the file that its worlds were once read from."""
        kept = copy(self)
        if isinstance(noted, Mapping):
            object.__setattr__(kept, "_worlds_file", dict(noted))
        return kept

    def _population(self) -> dict[str, Any]:
        shared = {"methods": list(self.methods), "seeds": list(self.seeds)}
        return {**shared, "settings": dict(self.settings)}


def check_worlds_file(noted: Any) -> None:
    """Raise an `InputError` if the file that worlds were read from says something else by now."""
    if not isinstance(noted, Mapping) or not isinstance(noted.get("path"), str):
        return
    try:
        sha = read_declared(noted["path"])[1] if Path(noted["path"]).is_file() else None
    except InputError:
        sha = ""
    if sha is not None and sha != noted.get("sha256"):
        raise InputError(
            f"worlds file {noted['path']} has changed since the run began; put it back as it was, "
            "or train again into another folder"
        )


def _labels(methods: Any) -> tuple[str, ...]:
    """Methods as their labels, each known and given once."""
    given = (methods,) if isinstance(methods, str) else tuple(methods)
    for text in given:
        if not isinstance(text, str):
            raise InputError(f"method is {shown(text)}; choose among {', '.join(METHODS)}")
        maker_of(variants.parse_variant(text).method)
    return _several(
        "methods", [variants.variant_label(variants.parse_variant(text)) for text in given]
    )


def _check_method(config: TrainConfig, member: Member) -> None:
    method, settings = member.variant.method, config.settings_of(member)
    elsewhere = {"nominal": "transitions", "probes_only": "worlds"}.get(method, config.uncertainty)
    if elsewhere != config.uncertainty:
        instead = {"nominal": "probes_only", "probes_only": "nominal"}[method]
        raise InputError(
            f"method {method} is one of uncertainty={elsewhere}, and uncertainty is "
            f"{config.uncertainty}; use {instead}, which has ε = 0 there"
        )
    if method == "wr2l" and settings.wr2l is None:
        raise InputError(
            f"method wr2l trains with ppo, and algorithm is {shown(config.algorithm)}; use ppo, or "
            "physics_randomization, which goes with every algorithm"
        )
    config.perturbations_of(member)
    _check_leader(member, config.methods, settings.curriculum.yoked_to)


def _check_leader(member: Member, methods: tuple[str, ...], curve: str) -> None:
    if member.leader is not None and member.leader not in methods and not curve:
        raise InputError(
            f"method {shown(member.method)} replays the mean radius of {shown(member.leader)}, "
            "which is not among the methods; add it, or set yoked_to to a folder of earlier runs"
        )


def _several(name: str, values: Any) -> tuple:
    values = (values,) if isinstance(values, str | int) else tuple(values)
    if any(isinstance(value, list | dict) for value in values):
        raise InputError(f"{name} are {shown(list(values))}; give plain names or numbers")
    if not values:
        raise InputError(f"{name} is empty; give at least one")
    if len(set(values)) != len(values):
        raise InputError(f"{name} are {shown(list(values))}, with a repetition; give each once")
    return values


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(allowed)}")


def _env_name(env: Any) -> Any:
    """What a run folder calls the environment, also where it is a function or class."""
    if isinstance(env, str) or not callable(env):
        return env
    name = named.name_of(env)
    if name is None:
        raise InputError(
            f"env is {shown(env)}, to which no name leads, so that its runs could be neither "
            "resumed nor evaluated; define a function or class at the top of a file "
            "my_module.py, import it from there and give that, or 'my_module:its_name'"
        )
    return name


def _check_numbers(config: TrainConfig) -> None:
    if not isinstance(config.env, str) or not config.env.strip():
        raise InputError(f"env is {shown(config.env)}; give a task such as Hopper")
    whole = {"steps": 1, "threads": 0, "log_every": 1, "evaluate_every": 0, "evaluate_episodes": 1}
    whole["checkpoint_every"] = 0
    for name, least in whole.items():
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {shown(value)}; give a whole number of at least {least}")
        if value > _MOST.get(name, value):
            raise InputError(f"{name} is {shown(value)}; give at most {_MOST[name]:,}")
    for seed in config.seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise InputError(f"seed is {shown(seed)}; give a whole number from 0 to 2³² − 1")
