"""The methods by name: each makes a curriculum; a user's own is named the same way."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from drspcrl.config.curricula import CurriculumSettings, WorldCurriculumSettings
from drspcrl.curricula.base import Curriculum, Setup
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.registry import Entry, Registry
from drspcrl.variants import parse_variant

if TYPE_CHECKING:
    from drspcrl.divergences import Divergence

Maker = Callable[[Setup], Curriculum]

_ROOM = "drspcrl.curricula"
METHODS = Registry(
    "method",
    {
        "vanilla": Entry(
            f"{_ROOM}.schedules:vanilla", "Vanilla", "the plain learner in the plain simulator"
        ),
        "nominal": Entry(
            f"{_ROOM}.schedules:nominal", "Nominal", "transitions: the noise, without an adversary"
        ),
        "probes_only": Entry(
            f"{_ROOM}.schedules:probes_only", "Probes only", "worlds: radius 0 but for the probes"
        ),
        "fixed": Entry(
            f"{_ROOM}.schedules:fixed",
            "Fixed",
            "the whole budget from the start; in worlds what practitioners call domain "
            "randomization",
        ),
        "linear": Entry(f"{_ROOM}.schedules:linear", "Linear", "ε grows evenly to the budget"),
        "domain_randomization": Entry(
            f"{_ROOM}.schedules:domain_randomization",
            "Dom. Rand.",
            "the paper's random ε, drawn again each iteration",
        ),
        "accel": Entry(f"{_ROOM}.accel:accel", "ACCEL", "replays and edits radii of high regret"),
        "space": Entry(f"{_ROOM}.space:space", "SPACE", "ε grows whenever values have settled"),
        "self_paced": Entry(
            f"{_ROOM}.self_paced:self_paced",
            "Self-Paced",
            "the agent's own marginal cost of robustness decides how fast ε grows",
        ),
        "linear_radius": Entry(
            f"{_ROOM}.schedules:linear_radius", "Linear √ε", "√ε grows evenly: a control"
        ),
        "yoked": Entry(
            f"{_ROOM}.schedules:yoked", "Yoked", "replays self_paced's mean ε: a control"
        ),
        # Baselines that change the simulator instead of the backup: radius 0, as vanilla.
        "noise_training": Entry(
            f"{_ROOM}.schedules:vanilla", "Noise training", "random actions and sensor noise"
        ),
        "physics_randomization": Entry(
            f"{_ROOM}.schedules:vanilla", "Physics rand.", "random physics parameters"
        ),
        "wr2l": Entry(
            f"{_ROOM}.schedules:vanilla", "WR2L", "an adversary in a Wasserstein ball (with ppo)"
        ),
    },
)
BASELINES = ("noise_training", "physics_randomization", "wr2l")
CURRICULA = tuple(name for name in METHODS if name not in BASELINES)
"""The methods that differ in ε alone."""
METHODS_IN_WORLDS = {"fixed": "fixed_radius", "domain_randomization": "random_radius"}
"""What two methods are in worlds: with a fixed radius, what practitioners call domain
randomization; with the paper's random ε, a random radius."""
_LABELS_IN_WORLDS = {"fixed": "Dom. Rand. (fixed radius)", "domain_randomization": "Random radius"}


def _labels() -> dict[str, str]:
    labels = {}
    for method, entry in METHODS.items():
        labels[method] = entry.label
        if method in METHODS_IN_WORLDS:
            labels[METHODS_IN_WORLDS[method]] = _LABELS_IN_WORLDS[method]
    return labels


LABELS = _labels()
"""Labels of all methods in results, those in worlds among them."""


def is_own_method(name: str) -> bool:
    """Whether a name is, or begins like, what a method of this library is called."""
    try:
        base = parse_variant(name).method
    except InputError:
        base = name
    taken = {*LABELS, *LABELS.values()}
    return base.casefold() in {known.casefold() for known in taken}


_PARTS = ("init", "epsilon", "update")


def curriculum(
    method: str | Maker | Curriculum,
    settings: Mapping[str, Any] | CurriculumSettings,
    iterations: int,
    discount: float,
    divergence: "Divergence",
    worlds: bool = False,
    gated: bool = True,
) -> Curriculum:
    """The curriculum of one member.

    Args:
        method: one of `METHODS`; a user's own as `module:Class`, as the class (anything that makes
            a curriculum from a `Setup`), or as a curriculum ready to use.
        settings: what differs from the defaults, by name.
        iterations: curriculum iterations in the whole run, at least 1.
        discount: γ in [0, 1).
        divergence: the ball that ε is the radius of.
        worlds: whether ε is the radius of worlds.
        gated: in worlds, whether a critic's calibration is known.

    Raises:
        InputError: an unknown method or setting, or a value that does not fit.
    """
    if not isinstance(settings, CurriculumSettings):
        kind = WorldCurriculumSettings if worlds else CurriculumSettings
        known = kind.specs()
        if unknown := [name for name in settings if name not in known]:
            raise InputError(
                f"curricula have no setting {shown(unknown[0])}; they have "
                f"{', '.join(sorted(known))}"
            )
        settings = kind.of(settings)
    if not (isinstance(iterations, int) and iterations >= 1 and 0 <= discount < 1):
        raise InputError(
            f"a curriculum got iterations={shown(iterations)}, discount={shown(discount)}; it "
            "needs at least one iteration and a discount from 0 to below 1"
        )
    setup = Setup(settings, iterations, float(discount), divergence, worlds, gated)
    if isinstance(method, str) and method not in METHODS:
        made = _of_ones_own(method, setup)
    else:
        made = _made(maker_of(method) if isinstance(method, str) else method, setup)
    missing = [name for name in _PARTS if not hasattr(made, name)]
    if missing:
        raise InputError(
            f"{shown(method)} makes a {type(made).__name__} without {', '.join(missing)}"
        )
    return made


def _made(method: Maker | Curriculum, setup: Setup) -> Curriculum:
    ready = not isinstance(method, type) and all(hasattr(method, name) for name in _PARTS)
    return method if ready else method(setup)  # type: ignore[operator,return-value]


def _of_ones_own(method: str, setup: Setup) -> Curriculum:
    """A user's own curriculum; an error in making it is told as one in that."""
    try:
        return _made(maker_of(method), setup)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"method {shown(method)} cannot be made from a Setup: {type(error).__name__}: "
            f"{brief(error)} (--debug shows where)"
        ) from error


def maker_of(method: str) -> Maker:
    """What makes the curriculum of a method.

    Raises:
        InputError: neither a known method nor an importable `module:Class`.
    """
    found = METHODS.load(method)
    if not callable(found):
        name = method.rpartition(":")[2]
        raise InputError(
            f"method {shown(method)}: {brief(name, 100)} is no class or function to call with "
            "a Setup"
        )
    return cast(Maker, found)
