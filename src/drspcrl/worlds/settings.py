"""How learning in worlds is done: the numbers beside what the user declares."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from drspcrl.errors import InputError

PRICE_STATES = ("visited", "starts")
TILT_FORMS = ("weighted", "sampled")


@dataclass(frozen=True)
class WorldSettings:
    """Numbers of learning in worlds; all may be given as `--set name=value`."""

    probe_every: int = 8
    """One environment of a run in so many is a probe, in worlds at the full budget; 0 for none."""
    anchor_every: int = 8
    """One environment in so many is an anchor, in the simulator as it is; 0 for none."""
    price_states: str = "visited"
    """Where the price of a larger radius is taken: at visited states, or at starts."""
    bounded_targets: bool = True
    """Clip the critic's targets to what the rewards seen would add up to for ever."""
    tilt: float = 0.0
    """τ: radius of the ball around the law of worlds; 0 for the mean over worlds."""
    tilt_form: str = "weighted"
    """weighted: every world is drawn, and the actor's loss is weighted by the worst case; sampled:
    worlds are drawn by it."""

    def __post_init__(self) -> None:
        for name, allowed in (("price_states", PRICE_STATES), ("tilt_form", TILT_FORMS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} is {getattr(self, name)!r}; choose one of {', '.join(allowed)}"
                )
        for name in ("probe_every", "anchor_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0 or value == 1:
                raise InputError(
                    f"{name} is {value!r}; give a whole number of at least 2, or 0 for none"
                )
        if self.probe_every == self.anchor_every == 2:
            raise InputError(
                "probe_every and anchor_every are both 2, which leaves no episode to train on; "
                "make one of them larger"
            )
        if not isinstance(self.bounded_targets, bool):
            raise InputError(f"bounded_targets is {self.bounded_targets!r}; give true or false")
        number = isinstance(self.tilt, int | float) and not isinstance(self.tilt, bool)
        if not number or not 0 <= self.tilt < math.inf:
            raise InputError(f"tilt is {self.tilt!r}; give a finite number of at least 0")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "WorldSettings":
        """Those among other settings."""
        return cls(**{name: settings[name] for name in WORLD_DEFAULTS if name in settings})


WORLD_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(WorldSettings)}
"""Name → default of every setting of learning in worlds."""


def resolved_worlds(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults with the changes among them, checked."""
    return asdict(WorldSettings.of(changes))
