"""The numbers of the paper's uncertainty: a ball around every transition."""

from dataclasses import dataclass
from typing import ClassVar

from drspcrl.config.field import Component, choice, number, part, whole
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError
from drspcrl.registry import Entry, Registry

NOMINAL_MODELS = Registry(
    "nominal",
    {
        "noise": Entry(
            "drspcrl.transitions.nominal:Noise", "noise", "the simulator with small Gaussian noise"
        ),
        "single": Entry(
            "drspcrl.transitions.nominal:Single",
            "single",
            "the one stored next state, read literally",
        ),
        "minibatch": Entry(
            "drspcrl.transitions.minibatch:Minibatch",
            "minibatch",
            "the next states of a minibatch, the paper's expectation read as a mean over it",
        ),
    },
)
RELATIVE = ("none", "process", "all", "step")
DUALS = ("exact", "network", "gaussian")
DRAWS_FOR_THE_ACTOR = ("one", "all")
PRECISIONS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class TransitionSettings(Component):
    """Nominal model, draws and dual; docs say how the scales were chosen."""

    title: ClassVar[str] = "uncertainty: transitions"

    nominal: str = part("noise", "nominal model", NOMINAL_MODELS)
    sensor: float = number(0.0, "nominal noise on what the policy sees")
    actuator: float = number(0.0, "nominal noise on actions in [−1, 1]")
    process: float = number(0.0, "nominal noise on the next state")
    relative: str = choice(
        "process", "which of these count in units of the readings' spread", RELATIVE, shared=True
    )
    rollout_gusts: float = number(0.0, "random forces in training, in bodies' weights")
    draws: int = whole(8, "noise draws per state", above=0, shared=True)
    divergence: str = part("kl", "ball around the nominal model", DIVERGENCES)
    dual: str = choice("exact", "how β is found", DUALS, shared=True)

    def check(self) -> None:
        """See `Component`."""
        if self.nominal in ("noise", "minibatch") and self.draws < 2:
            raise InputError(
                f"draws is {self.draws}; the worst case of one draw is that draw: give at least 2, "
                "or nominal=single for the paper read literally"
            )
        if self.dual != "exact" and self.divergence != "kl":
            raise InputError(
                f"dual is {self.dual!r}, which is about the KL ball, and divergence "
                f"{self.divergence!r}; use dual=exact for any other divergence"
            )


@dataclass(frozen=True)
class ReplayTransitionSettings(TransitionSettings):
    """What learners with a replay can do beside it."""

    title: ClassVar[str] = "uncertainty: transitions, off-policy"

    rollout_noise: float = number(1.0, "multiples of that noise under which experience is gathered")
    level_spread: float = number(
        0.0, "levels of that noise, from (1 − this) times its scale up to all of it", most=1
    )
    actor_draws: str = choice(
        "one", "draws that the actor learns from", DRAWS_FOR_THE_ACTOR, shared=True
    )
    draw_precision: str = choice(
        "auto",
        "float16 on a GPU, float32 elsewhere, or one of these",
        ("auto", *PRECISIONS),
        shared=True,
    )
