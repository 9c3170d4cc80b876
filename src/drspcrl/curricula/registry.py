"""From a method's name to its curriculum; a user's own is named the same way."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from drspcrl.curricula.accel import accel
from drspcrl.curricula.base import Curriculum, Setup
from drspcrl.curricula.constant import fixed, nominal, probes_only, vanilla
from drspcrl.curricula.domain_randomization import domain_randomization
from drspcrl.curricula.linear import linear, linear_radius
from drspcrl.curricula.self_paced import self_paced
from drspcrl.curricula.settings import CurriculumSettings
from drspcrl.curricula.space import space
from drspcrl.curricula.yoked import yoked
from drspcrl.display import brief, shown
from drspcrl.errors import InputError

if TYPE_CHECKING:
    from drspcrl.divergences import Divergence

Maker = Callable[[Setup], Curriculum]

MAKERS: dict[str, Maker] = {
    "vanilla": vanilla,
    "nominal": nominal,
    "probes_only": probes_only,
    "fixed": fixed,
    "linear": linear,
    "domain_randomization": domain_randomization,
    "accel": accel,
    "space": space,
    "self_paced": self_paced,
    "linear_radius": linear_radius,
    "yoked": yoked,
}
CURRICULA = tuple(MAKERS)
"""The methods that differ in ε alone."""

# Baselines that change the simulator instead of the backup: radius 0, as vanilla.
MAKERS |= dict.fromkeys(("noise_training", "physics_randomization", "wr2l"), vanilla)
METHODS = tuple(MAKERS)
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
        settings = CurriculumSettings.of(settings)
    if not (isinstance(iterations, int) and iterations >= 1 and 0 <= discount < 1):
        raise InputError(
            f"a curriculum got iterations={shown(iterations)}, discount={shown(discount)}; it "
            "needs at least one iteration and a discount from 0 to below 1"
        )
    setup = Setup(settings, iterations, float(discount), divergence, worlds, gated)
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


def maker_of(method: str) -> Maker:
    """What makes the curriculum of a method.

    Raises:
        InputError: neither a known method nor an importable `module:Class`.
    """
    if method in MAKERS:
        return MAKERS[method]
    module, colon, name = method.partition(":")
    if not (colon and module and name):
        raise InputError(
            f"unknown method {shown(method)}; choose one of {', '.join(METHODS)}, or give your own "
            "curriculum as module:Class"
        )
    if not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"method {shown(method)}: {shown(module)} is no name of a module")
    try:
        imported = import_module(module)
    except ImportError as error:
        reason = f"{brief(error)}; is its folder on PYTHONPATH?"
        raise InputError(f"method {shown(method)}: {reason}") from error
    except Exception as error:  # whatever the user's own code raises
        reason = brief(f"importing it raised {type(error).__name__}: {error}")
        raise InputError(f"method {shown(method)}: {reason}") from error
    found: Any = getattr(imported, name, None)
    if found is None:
        raise InputError(f"method {shown(method)}: module {module} has no {brief(name, 100)}")
    if not callable(found):
        raise InputError(
            f"method {shown(method)}: {brief(name, 100)} is no class or function to call with "
            "a Setup"
        )
    return cast(Maker, found)
