"""The numbers of learning in worlds, beside the tolerances that the user declares."""

from dataclasses import dataclass
from typing import ClassVar

from drspcrl.config.field import Component, choice, flag, number, part, whole
from drspcrl.display import shown
from drspcrl.divergences.registry import DIVERGENCES
from drspcrl.errors import InputError

PRICE_STATES = ("visited", "starts")
TILT_FORMS = ("weighted", "sampled")


@dataclass(frozen=True)
class WorldSettings(Component):
    """Probes, anchors, price and tilt."""

    title: ClassVar[str] = "uncertainty: worlds"

    probe_every: int = whole(
        8, "one environment of a run in so many is a probe, in worlds at the full budget; 0: none"
    )
    anchor_every: int = whole(
        8, "one environment in so many is an anchor, in the simulator as it is; 0: none"
    )
    price_states: str = choice(
        "visited", "states that the price of a larger radius is taken at", PRICE_STATES, shared=True
    )
    bounded_targets: bool = flag(
        True, "clip critic targets to what the rewards seen would add up to for ever", shared=True
    )
    critic_sees_world: bool = flag(
        True,
        "the critic sees the world of the episode; false, a control, leaves no price to pace by",
        shared=True,
    )
    tilt: float = number(0.0, "τ: radius of the ball around the law of worlds; 0: their mean")
    tilt_form: str = choice(
        "weighted",
        "weighted: every world is drawn, the actor's loss carries the worst case's weights; "
        "sampled: worlds are drawn by them",
        TILT_FORMS,
        shared=True,
    )
    divergence: str = part("kl", "ball around the law of worlds", DIVERGENCES)

    def check(self) -> None:
        """See `Component`."""
        for name in ("probe_every", "anchor_every"):
            if getattr(self, name) == 1:
                raise InputError(
                    f"{name} is {shown(1)}; give a whole number of at least 2, or 0 for none"
                )
        if self.probe_every == self.anchor_every == 2:
            raise InputError(
                "probe_every and anchor_every are both 2, which leaves no episode to train on; "
                "make one of them larger"
            )
        if self.divergence == "wasserstein":
            allowed = [name for name in DIVERGENCES if name != self.divergence]
            raise InputError(
                "divergence is 'wasserstein', and in worlds it is the ball of a tilt, which weighs "
                f"worlds and moves none; choose one of {', '.join(allowed)}, or give "
                "--uncertainty transitions"
            )
