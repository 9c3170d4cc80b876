"""A suite: the settings a policy is tried in, and the seed of every episode in them."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.perturbations import Perturbation, Setting, as_parts, label


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

    Raises:
        InputError: A name that cannot be a file name, no settings, or one that is there twice.
    """

    name: str
    settings: Sequence[Setting]
    description: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise InputError(
                f"suite name is {shown(self.name)}; use letters, digits, _ and -, as in 'my_suite'"
            )
        if not self.settings:
            raise InputError(
                f"suite {shown(self.name)} has no settings; give at least one, e.g. none"
            )
        seen: set[str] = set()
        for row in self.rows:
            if row.label in seen:
                raise InputError(
                    f"suite {shown(self.name)} has {row.label} twice; keep one of them"
                )
            seen.add(row.label)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The settings with the names they have in tables."""
        return tuple(_row(as_parts(setting)) for setting in self.settings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The settings in words; what makes two suites equal."""
        return tuple(row.label for row in self.rows)


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
