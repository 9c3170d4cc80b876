"""A suite: the settings a policy is tried in, and the seed of every episode in them."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation, Setting, as_parts, label

Statistic = Literal["mean", "worst"]
"""What sums a suite up: the mean over its perturbed settings, or the worst of their means."""


@dataclass(frozen=True)
class Row:
    """One setting of a suite.

    Attributes:
        perturbation: The table's column `perturbation`: `none`, `action`, `scale[mass]`, and for a
            combination all of it but the last level, `scale[mass]=2,scale[friction]`.
        level: The table's column `level`, the level of the last perturbation; 0 for `none`.
        parts: The perturbations, innermost first.
    """

    perturbation: str
    level: float
    parts: tuple[Perturbation, ...]

    @property
    def label(self) -> str:
        """The setting in words, e.g. `action=0.3`."""
        return label(self.parts)


@dataclass(frozen=True)
class Suite:
    """Settings to evaluate in.

    Args:
        name: Letters, digits, `_` and `-`; it becomes part of file names.
        settings: Each None (nominal), a `Perturbation`, or a tuple of them, innermost first.
        description: A line for people.
        statistic: What sums it up, `mean` or `worst`.
        tasks: Further settings of single tasks, of a suite that has others for each.

    Raises:
        InputError: A name that cannot be a file name, no settings, or one that is there twice.
    """

    name: str
    settings: Sequence[Setting]
    description: str = ""
    statistic: Statistic = "mean"
    tasks: Mapping[str, Sequence[Setting]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise InputError(
                f"suite name is {shown(self.name)}; use letters, digits, _ and -, as in 'my_suite'"
            )
        if self.statistic not in get_args(Statistic):
            raise InputError(
                f"suite {shown(self.name)} has the statistic {shown(self.statistic)}; choose one "
                f"of {', '.join(get_args(Statistic))}"
            )
        if not self.settings and not self.tasks:
            raise InputError(
                f"suite {shown(self.name)} has no settings; give at least one, e.g. none"
            )
        for own in self.tasks.values() or [()]:
            self._check_twice([*self.settings, *own])

    def _check_twice(self, settings: Sequence[Setting]) -> None:
        seen: set[str] = set()
        for setting in settings:
            name = label(as_parts(setting))
            if name in seen:
                raise InputError(f"suite {shown(self.name)} has {name} twice; keep one of them")
            seen.add(name)

    def for_task(self, env: str | Callable[[], Any]) -> "Suite":
        """The suite as it is for one task, without those of others.

        Raises:
            InputError: it has settings for other tasks alone.
        """
        if not self.tasks:
            return self
        task = env.removesuffix("-v5") if isinstance(env, str) else ""
        if task not in self.tasks:
            raise InputError(
                f"suite {self.name!r} is of {', '.join(self.tasks)} and has nothing for "
                f"{shown(env if isinstance(env, str) else type(env).__name__)}; take another suite"
            )
        return replace(self, settings=(*self.settings, *self.tasks[task]), tasks={})

    @property
    def rows(self) -> tuple[Row, ...]:
        """The settings with the names they have in tables."""
        return tuple(_row(as_parts(setting)) for setting in self.settings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The settings in words; what makes two suites of one task equal."""
        return tuple(row.label for row in self.rows)

    def same_as(self, other: "Suite") -> bool:
        """Whether both have the same settings for every task, whatever they are called."""
        mine, theirs = ((s.labels, s.statistic, s._labels_of_tasks()) for s in (self, other))
        return mine == theirs

    def _labels_of_tasks(self) -> dict[str, tuple[str, ...]]:
        return {
            task: tuple(label(as_parts(setting)) for setting in own)
            for task, own in self.tasks.items()
        }


def episode_seed(seed: int, setting: Setting, episode: int) -> int:
    """The seed of one episode, which depends on nothing but these three.

    It is an ordinary Gymnasium seed: `wrap(gymnasium.make("Hopper-v5"), setting)`, reset with it,
    plays the very episode that the table has.

    Args:
        seed: The evaluation's seed.
        setting: What the episode is perturbed by.
        episode: Its number, from 0.
    """
    digest = hashlib.sha256(f"{seed}/{label(setting)}/{episode}".encode()).digest()
    # 31 bits, for environments that hand their seed on to older generators
    return int.from_bytes(digest[:4], "little") >> 1


def _row(parts: tuple[Perturbation, ...]) -> Row:
    if not parts:
        return Row("none", 0.0, ())
    *inner, last = parts
    before = f"{label(inner)}," if inner else ""
    return Row(f"{before}{last.kind}", float(last.level), parts)
