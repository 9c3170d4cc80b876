"""The numbers of curricula: each method reads its own."""

from dataclasses import dataclass
from typing import ClassVar

from drspcrl.config.field import Component, choice, flag, number, text, whole
from drspcrl.errors import InputError

RULES = ("coordinate", "radius", "lagrangian", "closed_form")
WORLD_RULES = ("price", "keep")
RATE_UNITS = ("run", "update")
SCHEDULES = ("constant", "offset", "percentage")
SCORES = ("beta", "epsilon_beta")


@dataclass(frozen=True)
class CurriculumSettings(Component):
    """Settings of all curricula."""

    title: ClassVar[str] = "curriculum"

    epsilon_budget: float = number(1.0, "ε_budget: the radius that is wanted in the end", above=0)
    epsilon_start: float = number(
        0.0, "ε_start: the radius of the first iteration, from 0 to the budget"
    )
    rule: str = choice(
        "coordinate",
        "self_paced: coordinate (in √ε, scale-free), radius (the paper's), lagrangian, closed_form",
        RULES,
    )
    pacing: float = number(
        1.0,
        "self_paced: α, the pull towards the budget; with percentage it is ζ",
        above=0,
    )
    rate: float = number(
        2.0,
        "self_paced: λ, the step size, summed over the run or of one update (rate_per)",
        above=0,
    )
    rate_per: str = choice(
        "run",
        "self_paced: run (λ_curr = rate/iterations, the same for every run length) or update",
        RATE_UNITS,
    )
    pacing_schedule: str = choice(
        "constant",
        "self_paced: α throughout (constant), after pacing_offset updates (offset), or "
        "ζ·J/distance² after them (percentage)",
        SCHEDULES,
    )
    pacing_offset: int = whole(
        0, "self_paced: updates with α = 0 at the start of the schedules offset and percentage"
    )
    warmup_updates: int = whole(0, "self_paced: updates during which ε stays at its start")
    trust_region: float = number(
        0.0, "self_paced: η, a step is at most √η long in the rule's own variable; 0 for no limit"
    )
    performance_bound: float | None = number(
        None,
        "self_paced: α = 0 until an iteration's mean episode return has reached this; null for off",
        least=-float("inf"),
    )
    performance_share: float = number(
        0.0,
        "self_paced: α = 0 while the moving average of episode returns is below this share of the "
        "highest that it has been; 0 for off",
        most=1,
    )
    epsilon_spread: float = number(
        0.0, "self_paced: standard deviation of the ε drawn around the point estimate; 0 for none"
    )
    end_share: float = number(
        1.0,
        "fixed, linear, linear_radius: the share of the budget that is held, or reached in the end",
        above=0,
        most=1,
    )
    linear_end: float = number(
        1.0,
        "linear, linear_radius: the fraction of the run after which that is reached",
        above=0,
        most=1,
    )
    space_threshold: float = number(
        0.1, "space: η, the relative change of the start value below which it counts as settled"
    )
    space_growth: float = number(
        1.0, "space: κ, hundredths of the budget that one settled iteration adds", above=0
    )
    space_patience: int = whole(1, "space: settled iterations in a row that it takes", least=1)
    space_smoothing: float = number(
        0.0,
        "space: weight of the past in a moving average of the start value; 0 for none",
        below=1,
    )
    accel_buffer: int = whole(128, "accel: entries of the buffer", least=1)
    accel_fill: float = number(
        0.5,
        "accel: fraction of the buffer that must be filled before entries are replayed",
        above=0,
        most=1,
    )
    accel_replay: float = number(
        0.8,
        "accel: probability of replaying an entry instead of drawing a new one",
        above=0,
        most=1,
    )
    accel_temperature: float = number(0.3, "accel: T in the weight rank^(−1/T)", above=0)
    accel_staleness: float = number(0.3, "accel: c, the share of staleness in the weights", most=1)
    accel_easy: float = number(
        0.1, "accel: new entries are uniform up to this fraction of the budget", above=0, most=1
    )
    accel_edit: float = number(
        0.05, "accel: an edit moves ε by this fraction of the budget, up or down", above=0, most=1
    )
    accel_duplicate: float = number(
        0.0001, "accel: radii nearer than this fraction of the budget are one entry", below=1
    )
    accel_score: str = choice(
        "beta",
        "accel: beta (the paper's, which favours the smallest ε) or epsilon_beta (the largest)",
        SCORES,
    )
    yoked_to: str = text(
        "",
        "yoked: folder of runs whose self_paced ones are replayed; none for the same population's",
    )

    def check(self) -> None:
        """See `Component`."""
        if self.epsilon_start > self.epsilon_budget:
            raise InputError(
                f"epsilon_start is {self.epsilon_start:g}, above epsilon_budget "
                f"{self.epsilon_budget:g}; start at the budget or below"
            )


@dataclass(frozen=True)
class WorldCurriculumSettings(CurriculumSettings):
    """What differs in worlds, where ε is their radius in units of what was declared."""

    title: ClassVar[str] = "curriculum, in worlds"

    rule: str = choice(
        "price",
        "self_paced: price (the critic's marginal cost) or keep (grow at an even pace while the "
        "premium is below premium_bound, whatever the budget is)",
        WORLD_RULES,
    )
    pace_limit: float = number(
        1.5,
        "self_paced: a step is at most so many times that of an even growth; 0 for no limit",
    )
    premium_bound: float = number(
        0.2,
        "self_paced: ρ does not grow while a larger share than this of the best return in the "
        "simulator as it is has been lost; 1 for off",
        above=0,
        most=1,
    )
    calibration_bound: float = number(
        0.5,
        "self_paced: ρ stays below calibration_radius until the critic's values of probes and "
        "anchors have had this rank correlation with their returns; 0 for off",
        below=1,
    )
    calibration_waiver: bool = flag(
        True,
        "self_paced: ρ may grow uncalibrated while probes keep all but half of premium_bound of "
        "the anchors' return, where there is nothing to rank",
    )
    calibration_radius: float = number(
        0.1,
        "self_paced: the share of the budget that an uncalibrated critic may reach",
        above=0,
        most=1,
    )
