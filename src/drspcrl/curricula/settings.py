"""The numbers of a curriculum: flat names, one table, checked before anything starts."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from drspcrl.display import shown
from drspcrl.errors import InputError

RULES = ("coordinate", "radius", "lagrangian", "closed_form", "price", "keep")
WORLD_RULES = ("price", "keep")
RATE_UNITS = ("run", "update")
SCHEDULES = ("constant", "offset", "percentage")
SCORES = ("beta", "epsilon_beta")


@dataclass(frozen=True)
class CurriculumSettings:
    """Settings of all curricula; each method reads its own."""

    epsilon_budget: float = 1.0
    """ε_budget: the radius that is wanted in the end, above 0."""
    epsilon_start: float = 0.0
    """ε_start: the radius of the first iteration, from 0 to the budget."""

    rule: str = "coordinate"
    """self_paced: in transitions coordinate (in √ε, scale-free), radius (the paper's), lagrangian
    or closed_form; in worlds price (the critic's marginal cost) or keep (grow at an even pace while
    the premium is below premium_bound, whatever the budget is)."""
    pacing: float = 1.0
    """self_paced: α, the pull towards the budget, above 0; with `percentage` it is ζ."""
    rate: float = 2.0
    """self_paced: λ, the step size, above 0, summed over the run or of one update (`rate_per`)."""
    rate_per: str = "run"
    """self_paced: run (λ_curr = rate/iterations, the same for every run length) or update."""
    pacing_schedule: str = "constant"
    """self_paced: α throughout (constant), after `pacing_offset` updates (offset), or ζ·J/distance²
    after them (percentage)."""
    pacing_offset: int = 0
    """self_paced: updates with α = 0 at the start of the schedules offset and percentage."""
    warmup_updates: int = 0
    """self_paced: updates during which ε stays at its start."""
    pace_limit: float = 1.5
    """self_paced in worlds: a step is at most so many times that of an even growth; 0 for no
    limit."""
    premium_bound: float = 0.2
    """self_paced in worlds: ρ does not grow while a larger share than this of the best return in
    the simulator as it is has been lost; 1 for off."""
    calibration_bound: float = 0.5
    """self_paced in worlds: ρ stays below calibration_radius until the critic's values of probes
    and anchors have had this rank correlation with their returns (or while probes keep all but half
    of premium_bound of the anchors' return); 0 for off."""
    calibration_radius: float = 0.1
    """self_paced in worlds: the share of the budget that an uncalibrated critic may reach."""
    trust_region: float = 0.0
    """self_paced: η, a step is at most √η long in the rule's own variable; 0 for no limit."""
    performance_bound: float | None = None
    """self_paced: α = 0 until an iteration's mean episode return has reached this; null for off."""
    performance_share: float = 0.0
    """self_paced: α = 0 while the moving average of episode returns is below this share of the
    highest that it has been; 0 for off."""
    epsilon_spread: float = 0.0
    """self_paced: standard deviation of the ε drawn around the point estimate; 0 for none."""

    linear_end: float = 1.0
    """linear, linear_radius: the fraction of the run after which the budget is reached."""

    space_threshold: float = 0.1
    """space: η, the relative change of the start value below which it counts as settled."""
    space_growth: float = 1.0
    """space: κ, hundredths of the budget that one settled iteration adds."""
    space_patience: int = 1
    """space: settled iterations in a row that it takes."""
    space_smoothing: float = 0.0
    """space: weight of the past in a moving average of the start value, below 1; 0 for none."""

    accel_buffer: int = 128
    """accel: entries of the buffer."""
    accel_fill: float = 0.5
    """accel: fraction of the buffer that must be filled before entries are replayed."""
    accel_replay: float = 0.8
    """accel: probability of replaying an entry instead of drawing a new one."""
    accel_temperature: float = 0.3
    """accel: T in the weight rank^(−1/T)."""
    accel_staleness: float = 0.3
    """accel: c, the share of staleness in the weights."""
    accel_easy: float = 0.1
    """accel: new entries are uniform up to this fraction of the budget."""
    accel_edit: float = 0.05
    """accel: an edit moves ε by this fraction of the budget, up or down."""
    accel_duplicate: float = 0.0001
    """accel: radii nearer than this fraction of the budget are one entry."""
    accel_score: str = "beta"
    """accel: beta (the paper's, which favours the smallest ε) or epsilon_beta (the largest)."""

    yoked_to: str = ""
    """yoked: folder of run folders whose self_paced runs are replayed; none for the members of
    the same population."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            object.__setattr__(self, name, _checked(name, value))
        if self.epsilon_start > self.epsilon_budget:
            raise InputError(
                f"epsilon_start is {self.epsilon_start:g}, above epsilon_budget "
                f"{self.epsilon_budget:g}; start at the budget or below"
            )

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> "CurriculumSettings":
        """The defaults with some changes.

        Raises:
            InputError: an unknown name, or a value that does not fit.
        """
        for name in changes:
            if name not in DEFAULTS:
                raise InputError(
                    f"curricula have no setting {shown(name)}; they have "
                    f"{', '.join(sorted(DEFAULTS))}"
                )
        return cls(**changes)


DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(CurriculumSettings)}
"""Name → default of every curriculum setting."""

CHOICES: dict[str, tuple[str, ...]] = {
    "rule": RULES,
    "rate_per": RATE_UNITS,
    "pacing_schedule": SCHEDULES,
    "accel_score": SCORES,
}
"""Name → what is allowed, for settings that are words."""

# least, most, and whether each is allowed itself; every other number is at least 0
_RANGES: dict[str, tuple[float, float, bool, bool]] = {
    "epsilon_budget": (0, math.inf, False, False),
    "pacing": (0, math.inf, False, False),
    "rate": (0, math.inf, False, False),
    "performance_bound": (-math.inf, math.inf, False, False),
    "performance_share": (0, 1, True, True),
    "premium_bound": (0, 1, False, True),
    "calibration_bound": (0, 1, True, False),
    "calibration_radius": (0, 1, False, True),
    "linear_end": (0, 1, False, True),
    "space_growth": (0, math.inf, False, False),
    "space_patience": (1, math.inf, True, False),
    "space_smoothing": (0, 1, True, False),
    "accel_buffer": (1, math.inf, True, False),
    "accel_fill": (0, 1, False, True),
    "accel_replay": (0, 1, False, True),
    "accel_temperature": (0, math.inf, False, False),
    "accel_staleness": (0, 1, True, True),
    "accel_easy": (0, 1, False, True),
    "accel_edit": (0, 1, False, True),
    "accel_duplicate": (0, 1, True, False),
}


def _checked(name: str, value: Any) -> Any:
    default = DEFAULTS[name]
    if isinstance(default, str):
        return _checked_word(name, value)
    if default is None and value is None:
        return None
    return _checked_number(name, value, int if isinstance(default, int) else float)


def _checked_word(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in CHOICES.get(name, (value,)):
        allowed = ", ".join(CHOICES[name]) if name in CHOICES else "text"
        raise InputError(f"{name} is {shown(value)}; choose {allowed}")
    return value


def _checked_number(name: str, value: Any, kind: type) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or kind(value) != value:
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} is {shown(value)}; give {wanted}")
    low, high, with_low, with_high = _RANGES.get(name, (0, math.inf, True, False))
    above = value >= low if with_low else value > low
    below = value <= high if with_high else value < high
    if not (above and below):
        raise InputError(f"{name} is {shown(value)}; it must be {_interval(low, high, with_low)}")
    return kind(value)


def _interval(low: float, high: float, with_low: bool) -> str:
    start = f"at least {low:g}" if with_low else f"above {low:g}"
    return start if math.isinf(high) else f"{start} and at most {high:g}"
