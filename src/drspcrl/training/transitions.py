"""From settings to what members are trained against in transitions, with a word where unwise."""

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from drspcrl.config.transitions import NOMINAL_MODELS, ReplayTransitionSettings, TransitionSettings
from drspcrl.display import shown
from drspcrl.divergences import Divergence
from drspcrl.errors import InputError
from drspcrl.training.loop import ball
from drspcrl.training.settings import Settings
from drspcrl.transitions.backup import Transitions
from drspcrl.transitions.dual import Dual, Exact, FirstOrderWasserstein, Gaussian, NetworkDual
from drspcrl.transitions.nominal import KINDS, NominalModel, Scales, Strength

# How β is found in a ball that tilts draws, from its divergence and the size of a network.
DUALS: dict[str, Callable[[Divergence, tuple[int, ...]], Dual]] = {
    "exact": lambda ball, hidden: Exact(ball),
    "network": lambda ball, hidden: NetworkDual(hidden),
    "gaussian": lambda ball, hidden: Gaussian(),
}


def member_uncertainty(
    settings: Settings | Sequence[Settings],
    epsilon: Sequence[float] | np.ndarray,
    plain: Sequence[bool] | None = None,
) -> Strength:
    """What the members of a population are trained against, [M] each.

    Args:
        settings: with the nominal scales: of all members, or of each.
        epsilon: the radius of each member.
        plain: which members take the simulator at its word, with scales and radius 0; none unless
            given.

    Raises:
        InputError: a radius that is negative or not finite, lengths that differ.
    """
    radius = np.asarray(epsilon, np.float32)
    off = np.zeros(radius.shape, bool) if plain is None else np.asarray(plain, bool)
    if radius.ndim != 1 or off.shape != radius.shape:
        raise InputError(f"epsilon is {epsilon!r}, plain {plain!r}; give one of each per member")
    if not (np.isfinite(radius) & (radius >= 0)).all():
        raise InputError(f"epsilon is {list(epsilon)}; it must be finite and at least 0")
    of_each = [settings] * len(radius) if isinstance(settings, Settings) else settings
    noise = [own.transitions for own in of_each]

    def number(name: str) -> np.ndarray:
        # PPO has no spread of levels.
        values = [getattr(own, name, 0.0) for own in noise]
        return np.where(off, 0.0, values).astype(np.float32)

    spread = number("level_spread")
    scales = Scales(*map(number, KINDS), level_spread=spread if spread.any() else None)
    return Strength(np.where(off, np.float32(0.0), radius), scales)


def nominal_model(transitions: TransitionSettings, uncertainty: Strength) -> NominalModel:
    """The nominal model that settings name, which draws only what some member uses."""
    used = tuple(kind for kind in KINDS if np.any(uncertainty.scales._asdict()[kind]))
    return nominal_class(transitions.nominal).of(transitions.relative, used)


def nominal_class(name: str) -> type[NominalModel]:
    """The class of a nominal model; an `InputError` where the name leads to something else."""
    found = NOMINAL_MODELS.load(name)
    if not (isinstance(found, type) and issubclass(found, NominalModel)):
        raise InputError(
            f"nominal {shown(name)} is no subclass of drspcrl.transitions.nominal.NominalModel; "
            f"write one (docs say how), or choose one of {', '.join(NOMINAL_MODELS)}"
        )
    return found


def transitions_of(each: Sequence[Settings], uncertainty: Strength, platform: str) -> Transitions:
    """The uncertainty object of a population that is trained against transitions.

    Args:
        each: settings of each member, which agree on what is shared.
        uncertainty: of all members.
        platform: JAX's name of where they learn, which decides what `draw_precision=auto` is.
    """
    settings, hidden = each[0].transitions, each[0].learner.hidden
    assert settings is not None
    nominal = nominal_model(settings, uncertainty)
    divergence = ball(each[0])
    if divergence.on_support:
        dual = DUALS[settings.dual](divergence, hidden)
    else:
        dual = FirstOrderWasserstein()
    if not isinstance(settings, ReplayTransitionSettings):
        # PPO's actor learns from advantages, not from draws, and its rollouts are noisy anyway.
        return Transitions(nominal, dual, settings.draws)
    noisy = any(getattr(own.transitions, "rollout_noise", 0.0) for own in each)
    precision = draw_precision(settings.draw_precision, platform)
    return Transitions(nominal, dual, settings.draws, settings.actor_draws, precision, noisy)


def draw_precision(setting: str, platform: str) -> str:
    """The number format in which draws are valued; `auto` is the fastest that costs no exactness.

    A GPU multiplies float32 in TF32, with no more bits than float16 has; a CPU gains nothing.
    """
    if setting != "auto":
        return setting
    return "float16" if platform in ("gpu", "cuda", "rocm") else "float32"


def warn_if_unwise(settings: TransitionSettings, largest_epsilon: float) -> None:
    """Warn where a radius or a nominal model cannot do what it seems to promise.

    Args:
        settings: of the population.
        largest_epsilon: the largest radius that the training may come to.
    """
    if settings.divergence == "wasserstein":
        return
    if settings.nominal == "single":
        warnings.warn(
            "nominal=single: a ball around the one stored next state holds nothing else, so no "
            "policy becomes robust; use nominal=noise (docs/concepts/nominal_models.md says why)",
            stacklevel=2,
        )
    elif settings.divergence == "kl" and largest_epsilon > math.log(settings.draws):
        warnings.warn(
            f"epsilon reaches {largest_epsilon:g}, and {settings.draws} draws saturate at their "
            f"minimum from log {settings.draws} = {math.log(settings.draws):.2f} on, where a "
            "larger ball changes nothing; use more draws or a smaller epsilon",
            stacklevel=2,
        )
