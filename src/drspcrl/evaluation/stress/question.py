"""What is asked: when a world counts as failing, where to look, and how many episodes to spend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drspcrl.errors import InputError
from drspcrl.evaluation.stress.space import SHAPES


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
        if self.least is not None:
            return float(self.least)
        return nominal - (1 - self.limit) * abs(nominal)

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
