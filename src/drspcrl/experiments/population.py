"""One population: what a grid asks of one process, as plain data."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.training.config import TrainConfig

TRAINING = (
    *("uncertainty", "worlds", "log_every", "checkpoint_every", "evaluate_every"),
    *("evaluate_episodes", "deterministic", "replay_memory", "tensorboard"),
)
"""What a grid may say about training beside settings; the rest belongs to the machine."""

_UNSAFE = re.compile(r"[^\w.-]")
_RUN_LIKE = re.compile(r".*-s\d+")
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Population:
    """Every (method, seed) on one task with one learner, trained in one program.

    Attributes:
        env: task or Gymnasium id.
        algorithm: learner.
        methods: labels of methods.
        seeds: seeds of each method.
        steps: environment steps of each run.
        settings: hyper-parameters that all of its members share.
        training: its uncertainty, and how it is logged and saved, see `TRAINING`.
    """

    env: str
    algorithm: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    steps: int
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    training: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if len(str(self.env)) > _LONGEST_NAME:
            raise InputError(f"env has {len(self.env)} characters; give a task such as Hopper")
        # The configuration knows what fits; it also writes methods in their one way.
        config = self.config(Path())
        object.__setattr__(self, "methods", config.methods)
        training = {**self.training, "uncertainty": config.uncertainty}
        if self.training.get("worlds") is not None and config.declared is not None:
            training["worlds"] = config.declared.record()  # whatever becomes of a file
        object.__setattr__(self, "training", training)
        object.__setattr__(self, "seeds", tuple(self.seeds))

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Population":
        """The population that `plain` described; one from before there were worlds has none."""
        names = {"env", "algorithm", "methods", "seeds", "steps", "settings", "training"}
        if lacking := sorted(names - set(plain)):
            raise InputError(f"a population lacks {', '.join(lacking)}")
        if unknown := sorted(set(plain) - names):
            raise InputError(f"a population has {shown(unknown)}; it takes {sorted(names)} alone")
        lists = {name: tuple(plain[name]) for name in ("methods", "seeds")}
        training = {"uncertainty": "transitions", **plain["training"]}
        return cls(**{**plain, **lists, "training": training})

    def plain(self) -> dict[str, Any]:
        """As lists, dictionaries, texts and numbers."""
        return json.loads(json.dumps(asdict(self)))

    @property
    def base(self) -> str:
        """A digest of all but methods and seeds: what runs of one group share."""
        rest = self._told()
        del rest["methods"], rest["seeds"]
        return _digest(rest)

    @property
    def name(self) -> str:
        """A name for people and files, distinct for distinct populations."""
        return f"{self.group}.{_digest(self._told())}"

    @property
    def uncertainty(self) -> str:
        """`worlds` or `transitions`."""
        return self.training["uncertainty"]

    def _told(self) -> dict[str, Any]:
        """What digests are of: transitions go without saying, as they once did."""
        plain = self.plain()
        if self.uncertainty == "transitions":
            del plain["training"]["uncertainty"]
        return plain

    @property
    def group(self) -> str:
        """The folder of its runs: task, learner and settings in letters, digits and `_ . -`."""
        name = f"{_safe(self.env)}-{_safe(self.algorithm)}"
        if not self.settings:
            return name
        pairs = sorted(self.settings.items())
        words = "-".join(f"{key}_{value}" for key, value in pairs)
        safe = _safe(words)
        # A changed or cut text no longer tells settings apart, and one that looks like a run's
        # folder would be read as a run.
        if safe != words or len(safe) > 60 or _RUN_LIKE.fullmatch(safe):
            safe = f"{safe[:40]}_{_digest(dict(pairs))}"
        return f"{name}-{safe}"

    @property
    def size(self) -> int:
        """How many runs it has."""
        return len(self.methods) * len(self.seeds)

    def config(self, out: Path, **machine: Any) -> TrainConfig:
        """The training, whose runs go into a folder of their group.

        Args:
            out: the grid's folder.
            machine: device, threads, time_limit.
        """
        given = {"env": self.env, "algorithm": self.algorithm, "methods": self.methods}
        given |= {"seeds": self.seeds, "steps": self.steps, "settings": self.settings}
        return TrainConfig(out=out / self.group, **given, **self.training, **machine)

    def folders(self) -> list[str]:
        """The run folders, relative to the grid's folder."""
        config = self.config(Path())
        return [config.folder(member).as_posix() for member in config.members]

    def part(self, methods: Sequence[str], seeds: Sequence[int]) -> "Population | None":
        """The members with these methods and seeds; None where there are none."""
        chosen = tuple(method for method in self.methods if method in methods)
        drawn = tuple(seed for seed in self.seeds if seed in seeds)
        return replace(self, methods=chosen, seeds=drawn) if chosen and drawn else None

    def without(self, others: Iterable["Population"]) -> list["Population"]:
        """What is left of it when runs are taken out, as populations again."""
        gone = {
            (method, seed)
            for other in others
            if other.base == self.base
            for method in other.methods
            for seed in other.seeds
        }
        left: dict[tuple[str, ...], list[int]] = {}
        for seed in self.seeds:
            methods = tuple(method for method in self.methods if (method, seed) not in gone)
            if methods:
                left.setdefault(methods, []).append(seed)
        return [replace(self, methods=m, seeds=tuple(seeds)) for m, seeds in left.items()]

    def pieces(self, most: int) -> list["Population"]:
        """Itself, or parts of at most so many members: by seeds, if it must be by methods too."""
        methods = _even_parts(self.methods, most)
        longest = max(map(len, methods))
        seeds = _even_parts(self.seeds, max(1, most // longest))
        if len(methods) == len(seeds) == 1:
            return [self]
        return [replace(self, methods=m, seeds=s) for m in methods for s in seeds]


def _even_parts(values: tuple[Any, ...], most: int) -> list[tuple[Any, ...]]:
    """Cut into as few parts of nearly equal length as have at most so many values each."""
    count = -(-len(values) // most)
    size, longer = divmod(len(values), count)
    cuts = [k * size + min(k, longer) for k in range(count + 1)]
    return [values[begin:end] for begin, end in pairwise(cuts)]


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text).lstrip(".") or "_"


def _digest(plain: Any) -> str:
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
